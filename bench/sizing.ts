import 'reflect-metadata';
import {
  parseOptions,
  progress,
  readPositive,
  reportProblems,
  RESULTS,
  run,
  writeResult,
} from './support/command';
import type { Fixture } from './support/fixture';
import { markdownTable } from './support/markdown';
import { placeOrder, prolongation, purchase } from './workloads/requests';
import { ComparisonSetup } from './workloads/setup';
import type { BenchRequest } from './workloads/subjects';

/**
 * `npm run bench:sizing`: measures what orders cost the database: write-ahead log and growth for each order.
 * Takes a minute. The figures depend on the orders and on the settings of PostgreSQL, and hardly on the speed
 * of the machine.
 */

const CONNECTIONS = 32;
const SETTLE_TIMEOUT_MS = 60_000;
const PROXIES_PER_LARGE_ORDER = 100;
/** Fewer of the large ones, so that each kind adds about as much. */
const LARGE_ORDERS_SHARE = 0.1;

interface Cost {
  readonly kind: string;
  readonly orders: number;
  readonly walBytes: number;
  /** By table, with its indexes. */
  readonly growthBytes: ReadonlyMap<string, number>;
}

async function readSizes(fixture: Fixture): Promise<{ wal: number; tables: Map<string, number> }> {
  const [row] = await fixture.query<{ wal: string; tables: Record<string, number> }>(
    `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::text AS wal,
            (SELECT json_object_agg(relname, pg_total_relation_size(oid)) FROM pg_class
              WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace) AS tables`,
  );
  if (!row) throw new Error('The database told no sizes');
  return { wal: Number(row.wal), tables: new Map(Object.entries(row.tables)) };
}

async function measure(
  fixture: Fixture,
  baseUrl: string,
  kind: string,
  requests: readonly BenchRequest[],
): Promise<Cost> {
  progress(kind);
  await fixture.query('CHECKPOINT');
  const before = await readSizes(fixture);
  const waiting = requests.values();
  const send = async (): Promise<void> => {
    for (const request of waiting) await placeOrder(baseUrl, request);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, send));
  const open = await fixture.untilSettled(SETTLE_TIMEOUT_MS);
  if (open > 0) throw new Error(`${open} orders were still open at the end`);
  const after = await readSizes(fixture);
  const growthBytes = new Map(
    [...after.tables].map(([table, bytes]) => [table, bytes - (before.tables.get(table) ?? 0)] as const),
  );
  return { kind, orders: requests.length, walBytes: after.wal - before.wal, growthBytes };
}

const bytes = (count: number): string => `${(count / 1000).toFixed(2)} kB`;

function report(description: string, costs: readonly Cost[]): string {
  const total = ({ growthBytes }: Cost): number =>
    [...growthBytes.values()].reduce((sum, one) => sum + one, 0);
  const rows = costs.map((cost) => [
    cost.kind,
    String(cost.orders),
    bytes(cost.walBytes / cost.orders),
    bytes(total(cost) / cost.orders),
    [...cost.growthBytes]
      .toSorted(([, one], [, other]) => other - one)
      .slice(0, 4)
      .map(([table, growth]) => `${table} ${bytes(growth / cost.orders)}`)
      .join(', '),
  ]);
  const head = ['each order', 'orders', 'write-ahead log', 'database grows by', 'of that'];
  return `# What orders cost the database\n\n${description}\n\n${markdownTable(head, rows)}\n`;
}

async function main(): Promise<void> {
  const values = parseOptions({
    orders: { type: 'string', default: '10000' },
    results: { type: 'string', default: RESULTS },
  });
  const orders = readPositive('orders', values.orders, { whole: true });
  const setup = await ComparisonSetup.open();
  try {
    const { fixture, customerPool, service } = await setup.createContext({ withBaselines: false });
    const buyers = await customerPool.buyers();
    const tokenOf = (at: number): string => buyers[at % buyers.length]?.token ?? '';
    const bought = await Promise.all(
      buyers.map(async ({ token }) => ({
        token,
        order: await placeOrder(service.baseUrl, purchase(token, 1)),
      })),
    );
    const times = (count: number, request: (at: number) => BenchRequest): BenchRequest[] =>
      Array.from({ length: Math.ceil(count) }, (_, at) => request(at));
    const costs = [
      await measure(
        fixture,
        service.baseUrl,
        'a purchase of 1',
        times(orders, (at) => purchase(tokenOf(at), 1)),
      ),
      await measure(
        fixture,
        service.baseUrl,
        `a purchase of ${PROXIES_PER_LARGE_ORDER}`,
        times(orders * LARGE_ORDERS_SHARE, (at) => purchase(tokenOf(at), PROXIES_PER_LARGE_ORDER)),
      ),
      await measure(
        fixture,
        service.baseUrl,
        'a prolongation',
        times(orders, (at) => {
          const { token, order } = bought[at % bought.length] ?? { token: '' };
          return prolongation(token, order?.proxies?.[0]?.id ?? '');
        }),
      ),
    ];
    const problems = await fixture.audit({ withProvider: false });
    const text = report(await setup.describe(), costs);
    await writeResult(values.results, 'sizing.md', text);
    process.stdout.write(text);
    reportProblems(problems);
  } finally {
    await setup.close();
  }
}

void run(main);
