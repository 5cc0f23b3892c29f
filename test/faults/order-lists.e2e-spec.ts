import type { OrdersQuery } from '../../src/orders/reading/dto/orders.query';
import { toListStatement } from '../../src/orders/reading/order-list';
import { beforeClosing, forAllTests } from '../support/fixtures';
import { startTestService, type TestUser } from '../support/test-service';

/** `ORDERS=1000000 npx jest test/faults/order-lists` measures with a million. */
const ORDERS = Number(process.env['ORDERS'] ?? 30_000);
/** A measurement reads the same pages in several rounds. */
const ROUNDS = process.env['ORDERS'] === undefined ? 1 : 10;
/** Pages of 8 kB. A list looks up its index 14 times, and reads its 50 orders one by one. */
const MOST_PAGES = 400;
const ANY = { state: null, kind: null, from: null, to: null, key: null };

interface Plan {
  readonly Plan: { readonly 'Shared Hit Blocks': number; readonly 'Shared Read Blocks': number };
  readonly 'Execution Time': number;
}

jest.setTimeout(900_000);

describe('Lists of a customer with very many orders', () => {
  const report: string[] = [];
  const service = forAllTests(() => startTestService({ tuning: { reconcileIntervalMs: 60_000 } }));
  const buyer = forAllTests(() => service.createUser());
  const unlucky = forAllTests(() => service.createUser());
  beforeAll(async () => {
    const columns = `user_id, kind, state, order_reference, country, version, period, count, proxy_type,
      unit_price, hold_amount, captured, released, provider, provider_price, idempotency_key, request_hash,
      created_at, sent_before, next_search_at, closed_at, failure`;
    for (const [user, state, key] of [
      [buyer, 'completed', `'key-' || n`],
      [unlucky, 'canceled', `'key'`],
    ] as const) {
      await service.owner.query(
        `SET statement_timeout = 0;
         INSERT INTO orders (${columns})
         SELECT ${user.id}, 'purchase', '${state}', format('prs.seed.u%s.o%sx', ${user.id}, n), 'ru', '6',
                30, 1, 'http', 10, 10, ${state === 'completed' ? '10, 0' : '0, 10'}, 'px6', 8, ${key},
                '\\x00', placed, placed, placed, placed, ${state === 'completed' ? 'NULL' : `'staff'`}
           FROM generate_series(1, ${ORDERS}) AS n,
                LATERAL (SELECT timestamptz '2026-01-01' + n * interval '30 seconds' AS placed) AS times`,
      );
    }
  });
  beforeClosing(() =>
    process.stdout.write(`${[`${ORDERS} orders of each of two customers`, ...report].join('\n')}\n`),
  );

  async function readsFew(
    name: string,
    user: TestUser,
    filter: Partial<OrdersQuery>,
    sort: OrdersQuery['sort'],
  ) {
    const [last] = await service.dataSource.query<{ id: number }[]>(
      'SELECT id FROM orders WHERE user_id = $1 ORDER BY id OFFSET $2 LIMIT 1',
      [user.id, ORDERS / 2],
    );
    for (const cursor of [null, last?.id ?? 0]) {
      const page = { cursor, limit: 51 };
      const { statement, parameters } = toListStatement(user.id, { ...ANY, ...filter, sort }, page);
      const timesMs: number[] = [];
      let pages = 0;
      let lastPlan: Plan | undefined;
      for (let round = 0; round < ROUNDS; round += 1) {
        const [row] = await service.owner.query<{ 'QUERY PLAN': [Plan] }[]>(
          `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${statement}`,
          [...parameters],
        );
        const [plan] = row?.['QUERY PLAN'] ?? [];
        if (!plan) throw new Error('no plan');
        timesMs.push(plan['Execution Time']);
        lastPlan = plan;
        pages = plan.Plan['Shared Hit Blocks'] + plan.Plan['Shared Read Blocks'];
        expect(JSON.stringify(plan)).not.toContain('Seq Scan');
      }
      const slowestMs = timesMs.toSorted((one, other) => one - other)[Math.ceil(ROUNDS * 0.99) - 1] ?? 0;
      report.push(
        `${name}, ${sort}, ${cursor ? 'in the middle' : 'first page'}: ${pages} pages, ${slowestMs} ms`,
      );
      const isFew = pages <= MOST_PAGES || { pages, plan: lastPlan };
      expect([name, sort, cursor, isFew]).toEqual([name, sort, cursor, true]);
    }
  }

  const period = { from: new Date('2026-01-05T00:00:00Z'), to: new Date('2026-01-06T00:00:00Z') };
  const cases: [string, 'buyer' | 'unlucky', Partial<OrdersQuery>][] = [
    ['all', 'buyer', {}],
    ['a state that all have', 'buyer', { state: 'completed' }],
    ['a state that none has', 'buyer', { state: 'partial' }],
    ['an open state that none has', 'buyer', { state: 'being_confirmed' }],
    ['completed, of which there are none', 'unlucky', { state: 'completed' }],
    ['a kind that all have', 'buyer', { kind: 'purchase' }],
    ['a kind that none has', 'buyer', { kind: 'prolongation' }],
    ['a day', 'buyer', period],
    ['a day and a state that none has', 'buyer', { ...period, state: 'canceled' }],
    ['since long after the last', 'buyer', { from: new Date('2030-01-01T00:00:00Z') }],
    ['until long before the first', 'buyer', { to: new Date('2020-01-01T00:00:00Z') }],
    ['a key', 'buyer', { key: 'key-77' }],
    ['a key that none has', 'buyer', { key: 'nothing' }],
    ['a key of very many canceled orders', 'unlucky', { key: 'key' }],
    ['a key of canceled orders, completed', 'unlucky', { key: 'key', state: 'completed' }],
  ];

  /** The planner uses an index alone only for vacuumed rows, and recent orders are not vacuumed. */
  describe.each(['ANALYZE orders', 'VACUUM ANALYZE orders'])('after %s', (maintenance) => {
    beforeAll(() => service.owner.query(maintenance));

    it.each(cases)('read few pages of the database: %s', async (name, user, filter) => {
      const whose = user === 'buyer' ? buyer : unlucky;
      for (const sort of ['newest', 'oldest'] as const) await readsFew(name, whose, filter, sort);
    });
  });
});
