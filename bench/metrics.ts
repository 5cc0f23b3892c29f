import 'reflect-metadata';
import { type AddressInfo, createServer } from 'node:net';
import { Generator } from './generator/generator';
import { parseOptions, progress, readPositive, run } from './support/command';
import { markdownTable } from './support/markdown';
import { mean } from './support/statistics';
import { CustomerPool } from './workloads/customer-pool';
import { ComparisonSetup } from './workloads/setup';
import { httpSubject, type Server } from './workloads/subjects';

/**
 * `npm run bench:metrics`: what the metrics cost a `GET /me`, in CPU time. Three replicas of the same service
 * get the same requests in the same seconds, so that whatever else the machine does slows all of them: two
 * without METRICS_PORT, whose difference shows the noise, and one with it, which is scraped every few
 * seconds. Takes three minutes.
 */

const PLAIN = 'without metrics';
const PLAIN_AGAIN = 'without metrics, again';
const MEASURED = 'with metrics';
const SETTINGS = { SWEEP_INTERVAL_SECONDS: '86400' };
const WARMUP_SECONDS = 5;
/** Prometheus usually asks every 15 s. */
const SCRAPE_EVERY_MS = 5000;

interface Contestant {
  readonly name: string;
  readonly server: Server;
  readonly generator: Generator;
  /** CPU milliseconds for each request, in each round. */
  readonly cpuMs: number[];
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function main(): Promise<void> {
  const values = parseOptions({
    seconds: { type: 'string', default: '20' },
    rounds: { type: 'string', default: '7' },
  });
  const seconds = readPositive('seconds', values.seconds);
  const rounds = readPositive('rounds', values.rounds, { whole: true });
  const setup = await ComparisonSetup.open();
  const contestants: Contestant[] = [];
  try {
    const pool = new CustomerPool(setup.fixture);
    await pool.prepare();
    const requests = (await pool.buyers()).map(({ token }) => ({ path: '/me', token }));
    const port = String(await freePort());
    for (const [name, environment] of [
      [PLAIN, {}],
      [MEASURED, { METRICS_PORT: port }],
      [PLAIN_AGAIN, {}],
    ] as const) {
      const settings = { ...SETTINGS, ...environment };
      const { baseUrls, pids } = await setup.fixture.startReplicas(1, settings, setup.nodeOptions);
      const server = { baseUrl: baseUrls[0] ?? '', pid: pids[0] ?? 0 };
      contestants.push({ name, server, generator: new Generator(), cpuMs: [] });
    }
    const measure = async ({ name, server, generator }: Contestant, forSeconds: number): Promise<number> => {
      const subject = httpSubject(name, server, requests, { ...setup.instruments, generator });
      return (await subject.measure(forSeconds)).cpuSecondsPer1000;
    };
    const scraping = setInterval(() => {
      void fetch(`http://127.0.0.1:${port}/metrics`).then((answer) => answer.text());
    }, SCRAPE_EVERY_MS);
    try {
      await Promise.all(contestants.map((one) => measure(one, WARMUP_SECONDS)));
      for (let round = 1; round <= rounds; round += 1) {
        await Promise.all(contestants.map(async (one) => one.cpuMs.push(await measure(one, seconds))));
        progress(`round ${round} of ${rounds}`);
      }
    } finally {
      clearInterval(scraping);
    }
    const plainMs = mean(contestants[0]?.cpuMs ?? []);
    const rows = contestants.map(({ name, cpuMs }) => [
      name,
      mean(cpuMs).toFixed(4),
      `${((mean(cpuMs) / plainMs - 1) * 100).toFixed(1)} %`,
      cpuMs.map((ms) => ms.toFixed(3)).join(' '),
    ]);
    const head = ['GET /me', 'CPU ms', 'more than without', 'in each round'];
    process.stdout.write(`${await setup.describe()}\n\n${markdownTable(head, rows)}\n`);
  } finally {
    for (const { generator } of contestants) await generator.close();
    await setup.close();
  }
}

void run(main);
