import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { METHODS } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { DEBIAN, missingPackages } from '../../drills/support/debian';
import { METRICS, MetricsServer, METRIC_PREFIX } from '../../src/metrics';
import { StatusFacts } from '../../src/status/status-facts';
import { eventually, runService } from '../support/built-service';
import { readDescription } from '../support/description';
import { forAllTests } from '../support/fixtures';
import { listen } from '../support/listen';
import { inLongForm } from '../support/long-form';
import { startOwnPostgres } from '../support/own-postgres';
import { describeWith } from '../support/programs';
import { exchangeRaw } from '../support/raw-http';
import { Replicas } from '../support/replicas';
import { metricsUrlOf, readMetrics, type Scrape } from '../support/scrape';
import { SeededRandom } from '../support/seeded-random';
import { connectStreamingStandby } from '../support/streaming-standby';
import { DESCRIBES_DEPOSITS, startTestService } from '../support/test-service';

/** `METRICS_REQUESTS=1000000 npx jest test/faults/metrics` takes a quarter of an hour. */
const REQUESTS = Number(process.env['METRICS_REQUESTS'] ?? inLongForm(10_000, 2000));
const CONNECTIONS = 16;
const REQUESTS_AT_ONCE = 25;
const REPEATS = 3;
const MALFORMED = 20;

const MARK = 'Zq7';

/** CONNECT gets no response: it requests a tunnel. */
const SENT_METHODS = METHODS.filter((method) => method !== 'CONNECT');
let random: SeededRandom;
const replicas = forAllTests(() => Replicas.open({ environment: { METRICS_PORT: '0', LOG_LEVEL: 'info' } }));
const customer = forAllTests(() => replicas.createCustomer());
const service = forAllTests(
  () => replicas.start(),
  (opened) => opened.stop(),
);

const scrape = async (of = service): Promise<Scrape> => readMetrics(await metricsUrlOf(of));
const madeUp = (): string => `${MARK}${random.integer(0, 2 ** 31).toString(36)}`;

/** Their text never selects one of our series. */
const PATHS: readonly (() => string)[] = [
  () => `/${madeUp()}`,
  () => `/${madeUp()}/${madeUp()}/${madeUp()}?${madeUp()}=${madeUp()}`,
  () => `/proxies/${madeUp()}/${madeUp()}`,
  () => `/proxies/${random.integer(10 ** 9, 10 ** 12)}`,
  () => `/proxies/${random.integer(10 ** 9, 10 ** 12)}/prolong`,
  () => `/countries/${madeUp()}/count`,
  () => `/staff/users/${random.integer(10 ** 9, 10 ** 12)}`,
  () => `/l/${madeUp()}`,
  () => `/%${random.integer(20, 99)}${madeUp()}`,
  () => `//${madeUp()}/../me`,
  () => '/me',
  () => '/metrics',
];
const TOKENS: readonly (() => string | undefined)[] = [() => undefined, () => madeUp(), () => customer.token];

const KINDS = SENT_METHODS.flatMap((method) =>
  PATHS.flatMap((path) => TOKENS.map((token) => ({ method, path, token }))),
);
type Kind = (typeof KINDS)[number];

function write({ method, path, token }: Kind): string {
  const text = token();
  const authorization = text === undefined ? '' : `Authorization: Bearer ${text}\r\n`;
  return `${method} ${path()} HTTP/1.1\r\nHost: 127.0.0.1\r\n${authorization}Content-Length: 0\r\n\r\n`;
}

async function exchange(socket: Socket, requests: readonly string[]): Promise<void> {
  let left = requests.length;
  let tail = '';
  socket.write(requests.join(''));
  while (left > 0) {
    const [bytes] = (await once(socket, 'data')) as [Buffer];
    const text = tail + bytes.toString('latin1');
    left -= [...text.matchAll(/HTTP\/1\.1 \d{3} /g)].length;
    // Shorter than a status line, so that none is counted twice.
    tail = text.slice(-12);
  }
}

async function sendAll(choose: (n: number) => Kind, count: number): Promise<void> {
  const { hostname, port } = new URL(service.baseUrl);
  let sent = 0;
  const sendSome = async (): Promise<void> => {
    const socket = connect(Number(port), hostname).setNoDelay(true);
    try {
      while (sent < count) {
        const some = Array.from({ length: Math.min(REQUESTS_AT_ONCE, count - sent) }, (_, n) => sent + n);
        sent += some.length;
        await exchange(
          socket,
          some.map((n) => write(choose(n))),
        );
      }
    } finally {
      socket.destroy();
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, sendSome));
}

const ours = ({ series }: Scrape): string[] =>
  series.filter((one) => one.startsWith(`${METRIC_PREFIX}http_`));

const countedRequests = ({ text }: Scrape): number =>
  [...text.matchAll(/^proxy_rental_http_requests_total\{.*\} (\d+)$/gm)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  );

/** A request may be counted after its caller has the response. */
const untilCounted = (requests: number): Promise<Scrape> =>
  eventually(async () => {
    const scraped = await scrape();
    return countedRequests(scraped) === requests && scraped;
  });

describe('the metrics of a replica', () => {
  it(`have as many series after ${REQUESTS} requests with random paths, methods and tokens`, async () => {
    const seed = Number(process.env['METRICS_SEED'] ?? Date.now() % 1_000_000);
    random = new SeededRandom(seed);
    process.stdout.write(`the seed of the random requests is ${seed} (METRICS_SEED)\n`);
    await sendAll((n) => KINDS[n % KINDS.length] as Kind, KINDS.length * REPEATS);
    await exchangeRaw(service.baseUrl, `${MARK} /${madeUp()} HTTP/1.1\r\n\r\n`);
    const before = await untilCounted(KINDS.length * REPEATS + 1);
    await sendAll(() => KINDS[random.integer(0, KINDS.length - 1)] as Kind, REQUESTS);
    for (let n = 0; n < MALFORMED; n += 1) {
      await exchangeRaw(service.baseUrl, `${madeUp()} /${madeUp()} HTTP/1.1\r\n\r\n`);
    }
    const after = await untilCounted(KINDS.length * REPEATS + 1 + REQUESTS + MALFORMED);
    expect(new Set(ours(after))).toEqual(new Set(ours(before)));
    // A job that had not run before has series now. A label of requests would have thousands.
    expect(after.series.length - before.series.length).toBeLessThan(500);
    expect(after.text).not.toContain(MARK);
    expect(after.text).not.toContain(customer.token);
  }, 3_600_000);

  it('name routes by the templates of the descriptions', async () => {
    const described = await Promise.all(
      ['/openapi.json', '/staff/openapi.json'].map((path) => readDescription(service.baseUrl + path)),
    );
    const templates = new Set(described.flatMap(({ paths }) => Object.keys(paths)));
    const { text } = await scrape();
    const routes = new Set([...text.matchAll(/route="([^"]+)"/g)].map(([, route]) => route ?? ''));
    for (const expected of ['unmatched', '/me', '/proxies/{proxy_id}', '/staff/users/{user_id}']) {
      expect(routes).toContain(expected);
    }
    const undescribed = [...routes].filter((route) => !templates.has(route));
    expect(undescribed.toSorted((a, b) => a.localeCompare(b))).toEqual([
      '/openapi.json',
      '/staff/openapi.json',
      'unmatched',
    ]);
  });

  it('are there when the database is not, without what is read from it', async () => {
    const behindRelay = await replicas.start({ throughRelay: true });
    expect((await scrape(behindRelay)).value('database_up')).toBe(1);
    await replicas.relay.close();
    const { value, series } = await scrape(behindRelay);
    expect(value('database_up')).toBe(0);
    expect(series).not.toContain(`${METRIC_PREFIX}orders_open{state="review"}`);
    expect(series).toContain(`${METRIC_PREFIX}breaker_open{breaker="money"}`);
    expect(series).toContain('nodejs_eventloop_lag_p99_seconds');
    behindRelay.kill('SIGKILL');
  });

  it('have a port of their own: a start on one that is taken says so', async () => {
    const taken = createServer();
    const port = String(await listen(taken));
    const environment = { ...replicas.environmentOf(), METRICS_PORT: port, PORT: '0' };
    const { code, stderr } = await runService(environment);
    taken.close();
    expect(stderr).toContain(
      `Port ${port} on 127.0.0.1 is already in use: choose another with METRICS_PORT.`,
    );
    expect(code).toBe(1);
  });
});

describe('the metrics of the copies of the database', () => {
  const database = forAllTests(() =>
    startOwnPostgres({}, { archive_mode: 'on', archive_command: 'test ! -e archive-is-full' }),
  );
  const standby = forAllTests(() => connectStreamingStandby(database.ownerUrl));
  const app = forAllTests(() =>
    startTestService({ database, environment: { METRICS_PORT: '0', ...DESCRIBES_DEPOSITS } }),
  );
  const readAll = () => readMetrics(app.app.get(MetricsServer).url ?? '');
  const read = async (name: string) => (await readAll()).value(`database_${name}`);

  describeWith(missingPackages('promtool'), 'with all others', () => {
    it("pass promtool's rules for names, units and help", async () => {
      expect((await (await app.createUser()).buy()).response.status).toBe(200);
      await app.runJob('sweep');
      await app.owner.query(
        `INSERT INTO audit_runs (scope, started_at, finished_at, ok, violations)
         VALUES ('all', now(), now(), false, '[{"name": "a", "violations": 3, "rows": []}]')`,
      );
      const names = Object.keys(METRICS).map((name) => `# TYPE ${METRIC_PREFIX}${name} `);
      const text = await eventually(async () => {
        const scraped = await readAll();
        return names.every((name) => scraped.text.includes(name)) && scraped.text;
      });
      const complaints = execFileSync(DEBIAN.promtool.path, ['check', 'metrics'], {
        input: text,
        encoding: 'utf8',
      });
      expect(complaints).toBe('');
    });
  });

  it('count the standbys for any role, and follow the archive', async () => {
    expect(await read('standbys')).toBe(1);
    // The service's role counts slots. A role that may read how standbys stream counts those.
    const facts = new StatusFacts((text) => app.owner.query(text), 'px6');
    expect(await facts.copiesOfTheDatabase()).toMatchObject({ standbys: 1, isArchived: true });
    await standby.leave();
    expect(await read('standbys')).toBe(0);
    const archiveNow = () =>
      app.owner.query(`SELECT pg_switch_wal() FROM pg_logical_emit_message(false, 'a', 'b')`);
    await archiveNow();
    await eventually(
      async () => (await app.owner.query('SELECT FROM pg_stat_archiver WHERE archived_count > 0')).length,
    );
    expect(await read('archive_failing')).toBe(0);
    expect(await read('archive_age_seconds')).toBeGreaterThan(0);
    await app.owner.query(`COPY (SELECT) TO PROGRAM 'touch archive-is-full'`);
    await archiveNow();
    await eventually(async () => (await read('archive_failing')) === 1);
  });
});
