import 'reflect-metadata';
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { startSandbox } from '../src/sandbox';
import { parseOptions, progress, reportProblems, run } from './support/command';
import { Fixture } from './support/fixture';
import { markdownTable } from './support/markdown';
import { sendOrder } from './support/order-client';

/**
 * `npm run bench:jobs -- [--proxies 1000000]`: measures the scheduled jobs with a million proxies. Takes
 * half an hour, on Linux (peak memory is read from /proc). Calls are not limited: at 3 per second they alone
 * would take 334 s.
 */

/** The service's limit for one purchase. */
const BATCH_SIZE = 1000;
const BUYERS = 4;
/** Number of proxies that the provider moves, withdraws or ends. */
const CHANGED = 1000;
/** A replica checks every tenth of it whether the job is due; the job must finish within it. */
const INTERVAL_SECONDS = 300;
const NEVER_SECONDS = 86_400;
const POLL_MS = 200;

const INTERVAL_OF = {
  sweep: 'SWEEP_INTERVAL_SECONDS',
  'active-flags': 'ACTIVE_FLAGS_INTERVAL_SECONDS',
} as const;
type Job = keyof typeof INTERVAL_OF;

const NO_JOBS = Object.fromEntries(Object.values(INTERVAL_OF).map((name) => [name, String(NEVER_SECONDS)]));

async function until<Answer>(ask: () => Promise<Answer | undefined>): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await pause(POLL_MS);
  }
}

/** Buys the proxies through the service, so that orders and ledger are genuine. */
async function rent(fixture: Fixture, proxies: number): Promise<void> {
  await fixture.control.setRateLimit(null);
  await fixture.control.setBalance('1000000000.00');
  await fixture.control.setStock('6', 'ru', 2 * proxies);
  // A customer's balance suffices for some twenty purchases.
  const customers = await fixture.createCustomers(Math.ceil(proxies / BATCH_SIZE / 20));
  const replicas = await fixture.startReplicas(1, NO_JOBS);
  let bought = 0;
  const buyer = async (): Promise<void> => {
    while (bought < proxies) {
      const upTo = bought + BATCH_SIZE;
      bought = upTo;
      const customer = customers[(upTo / BATCH_SIZE) % customers.length];
      if (!customer) return;
      const body = { country: 'ru', period: 30, count: BATCH_SIZE };
      const { status } = await sendOrder(replicas.chooseBaseUrl, { customer, path: '/proxies/buy', body });
      if (status !== 200) throw new Error(`A purchase got response ${status}`);
      if (upTo % 100_000 === 0) progress(`${upTo} of ${proxies} proxies`);
    }
  };
  await Promise.all(Array.from({ length: BUYERS }, buyer));
  await replicas.stop();
  await fixture.query('VACUUM ANALYZE');
}

/** Peak resident memory of the running replica, in MB. */
async function peakMemory(fixture: Fixture, since: Date): Promise<number> {
  const { pid } = await until(async () => {
    const [replica] = await fixture.query<{ pid: number }>(
      `SELECT (report->>'pid')::int AS pid FROM replica_reports WHERE reported_at > $1
         ORDER BY reported_at DESC LIMIT 1`,
      [since],
    );
    return replica;
  });
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Math.round(Number(kilobytes) / 1024);
}

/** Starts a service for one run of one job. Gives a row of the table. */
async function measure(
  fixture: Fixture,
  job: Job,
  what: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<string[]> {
  await fixture.query('DELETE FROM job_runs');
  const [started] = await fixture.query<{ xact: string; at: Date }>(
    'SELECT pg_current_xact_id()::text AS xact, clock_timestamp() AS at',
  );
  if (!started) throw new Error('The database did not respond');
  const replicas = await fixture.startReplicas(1, {
    ...NO_JOBS,
    [INTERVAL_OF[job]]: String(INTERVAL_SECONDS),
    ...environment,
  });
  const jobRun = await until(async () => {
    const [row] = await fixture.query<{ seconds: number; report: Record<string, number> }>(
      `SELECT extract(epoch FROM finished_at - started_at)::float8 AS seconds, report FROM job_runs
        WHERE name = $1 AND finished_at IS NOT NULL`,
      [job],
    );
    return row;
  });
  const [touched] = await fixture.query<{ rows: number }>(
    'SELECT count(*)::int AS rows FROM proxies WHERE xmin::text::bigint >= $1',
    [started.xact],
  );
  const memory = await peakMemory(fixture, started.at);
  await replicas.stop();
  const counts = Object.entries(jobRun.report).map(([name, count]) => `${count} ${name}`);
  const row = [
    what,
    `${jobRun.seconds.toFixed(1)} s`,
    String(touched?.rows),
    `${memory} MB`,
    counts.join(', '),
  ];
  progress(row.join(' | '));
  return row;
}

async function measureIdle(fixture: Fixture): Promise<string[]> {
  const [started] = await fixture.query<{ at: Date }>('SELECT clock_timestamp() AS at');
  if (!started) throw new Error('The database did not respond');
  const replicas = await fixture.startReplicas(1, NO_JOBS);
  const memory = await peakMemory(fixture, started.at);
  await replicas.stop();
  return ['idle service', '—', '—', `${memory} MB`, '—'];
}

async function main(): Promise<void> {
  const values = parseOptions({ proxies: { type: 'string', default: '1000000' } });
  const proxies = Number(values.proxies);
  const fixture = await Fixture.open(0);
  try {
    progress(`buying ${proxies} proxies`);
    await rent(fixture, proxies);
    const rows = [await measureIdle(fixture)];
    const ids = async (offset: number): Promise<number[]> => {
      const found = await fixture.query<{ id: number }>(
        `SELECT provider_proxy_id::bigint AS id FROM proxies ORDER BY id OFFSET $1 LIMIT ${CHANGED}`,
        [offset],
      );
      return found.map(({ id }) => id);
    };

    rows.push(await measure(fixture, 'sweep', 'sweep: nothing has changed'));
    for (const id of await ids(0)) await fixture.control.changeProxy(id, { host: '127.0.0.2' });
    for (const id of await ids(proxies / 2)) await fixture.control.withdrawProxy(id);
    rows.push(await measure(fixture, 'sweep', `sweep: ${CHANGED} moved, ${CHANGED} withdrawn`));
    rows.push(await measure(fixture, 'sweep', `sweep: the ${CHANGED} are believed`));
    const ended = Math.floor(Date.now() / 1000) - 60;
    for (const id of await ids(proxies - CHANGED)) {
      await fixture.control.changeProxy(id, { unixtimeEnd: ended });
    }
    rows.push(await measure(fixture, 'sweep', `sweep: ${CHANGED} ended early`));
    const problems = await fixture.audit();

    const empty = await startSandbox({ rateLimitPerSecond: null });
    try {
      const provider = { PX6_BASE_URL: empty.baseUrl, PX6_API_KEY: empty.apiKey };
      rows.push(await measure(fixture, 'sweep', 'sweep: nothing is listed', provider));
      rows.push(await measure(fixture, 'sweep', 'sweep: nothing is listed again', provider));
    } finally {
      await empty.close();
    }
    rows.push(await measure(fixture, 'sweep', 'sweep: everything is back'));

    rows.push(await measure(fixture, 'active-flags', 'active flags: nothing has ended'));
    await fixture.query(
      `UPDATE proxies SET date_end = now()
         WHERE id IN (SELECT id FROM proxies WHERE active LIMIT ${CHANGED})`,
    );
    rows.push(await measure(fixture, 'active-flags', `active flags: ${CHANGED} have ended`));
    await fixture.query('SET statement_timeout = 0; UPDATE proxies SET date_end = now() WHERE active');
    rows.push(await measure(fixture, 'active-flags', 'active flags: everything has ended'));
    rows.push(await measure(fixture, 'active-flags', 'active flags: nothing has ended since'));

    const head = [`of ${proxies} proxies`, 'time', 'rows written', 'peak memory', 'report'];
    process.stdout.write(`${await fixture.describe()}\n\n${markdownTable(head, rows)}\n`);
    reportProblems(problems);
  } finally {
    await fixture.close();
  }
}

void run(main);
