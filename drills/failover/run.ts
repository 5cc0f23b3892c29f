import { compareProxies, compareResponses, compareWithBook } from '../support/books';
import { Clients } from '../support/clients';
import { until } from '../support/until';
import type { Cluster } from './cluster';
import { type FaultName, FAULTS } from './faults';

const CUSTOMERS = 6;
const ORDERS_BETWEEN = 20;
const BACK_TIMEOUT_MS = 120_000;

export interface Round {
  readonly fault: FaultName;
  readonly secondsWithoutWrites: number;
  readonly seconds: number;
}

export interface FailoverReport {
  readonly rounds: readonly Round[];
  readonly seconds: number;
  readonly orders: number;
  readonly responses: Readonly<Record<string, number>>;
  readonly longestResponseSeconds: number;
  readonly timelines: number;
  readonly sales: number;
  readonly unmatched: number;
  readonly violations: readonly string[];
}

const ALLOWED = /^(200|200, replayed|(503|409) with Retry-After: .*)$/;

/** A round ends when orders are acknowledged again and the cluster is whole. */
export async function runFailover(
  cluster: Cluster,
  faults: readonly FaultName[],
  {
    pauseMs = 150,
    onProgress = () => undefined,
  }: { pauseMs?: number; onProgress?: (line: string) => void } = {},
): Promise<FailoverReport> {
  const startedAtMs = performance.now();
  const customers = await Promise.all(
    Array.from({ length: CUSTOMERS }, () => cluster.office.createCustomer('10000000.00')),
  );
  for (const country of ['ru', 'us', 'de', 'nl']) await cluster.control.setStock('6', country, 10_000_000);
  await cluster.control.setLatencies({
    buy: { minMs: 200, maxMs: 800 },
    prolong: { minMs: 200, maxMs: 800 },
  });
  const clients = new Clients(customers, [cluster.serviceUrl], {
    pauseMs,
    scriptsEach: 2,
    prolongAgain: true,
  });
  clients.start();
  const untilServed = (): Promise<unknown> => {
    const from = new Date();
    return until('orders that are acknowledged again', () => clients.countCompleted(from) >= ORDERS_BETWEEN, {
      timeoutMs: BACK_TIMEOUT_MS,
    });
  };
  await untilServed();

  const rounds: Round[] = [];
  for (const fault of faults) {
    const beganAtMs = Date.now();
    const setRight = await FAULTS[fault](cluster);
    await untilServed();
    await setRight();
    await cluster.database.untilWhole();
    await untilServed();
    const endedAtMs = Date.now();
    const round = {
      fault,
      secondsWithoutWrites: clients.longestGapMs(beganAtMs, endedAtMs) / 1000,
      seconds: (endedAtMs - beganAtMs) / 1000,
    };
    rounds.push(round);
    onProgress(
      `${rounds.length}/${faults.length} ${fault}: ${round.secondsWithoutWrites.toFixed(1)} s without ` +
        `writes, ${round.seconds.toFixed(0)} s in all`,
    );
  }
  await clients.stop();
  await cluster.untilSettled();

  const completed = clients.completed.map(({ intent, response }) => ({ order: intent, response }));
  const book = await cluster.control.getState();
  const [{ unmatched } = { unmatched: -1 }] = await cluster.query<{ unmatched: number }>(
    'SELECT count(*)::int AS unmatched FROM unmatched_proxies',
  );
  return {
    rounds,
    seconds: (performance.now() - startedAtMs) / 1000,
    orders: completed.length,
    responses: clients.counts,
    longestResponseSeconds: clients.longestResponseMs / 1000,
    timelines: Math.max(...(await cluster.database.readMembers()).map(({ timeline }) => timeline ?? 0)),
    sales: book.sales.length,
    unmatched,
    violations: [
      ...Object.entries(clients.counts)
        .filter(([response]) => !ALLOWED.test(response))
        .map(([response, times]) => `${times} times a client got: ${response}`),
      ...(await cluster.office.findViolations()),
      ...(await compareWithBook(cluster)),
      ...(await compareResponses(cluster, completed)),
      ...(await compareProxies(cluster, completed)),
    ],
  };
}
