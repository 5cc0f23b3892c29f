import { setTimeout as pause } from 'node:timers/promises';
import { BUILD_TIMEOUT_MS, type BuiltService, eventually } from '../support/built-service';
import { forAllTests } from '../support/fixtures';
import { type Customer, type Order, prolongation, purchase, Replicas, send } from '../support/replicas';
import { startTcpRelay } from '../support/tcp-relay';

jest.setTimeout(5 * BUILD_TIMEOUT_MS);

const ORDERS = 6;
const SETTLEMENT_DELAY_SECONDS = '6';

interface Books {
  readonly proxies: number;
  readonly charged: string;
  readonly ends: readonly string[];
}

describe('A service whose provider is another one', () => {
  let reseller: Customer;
  let first: BuiltService;
  let second: BuiltService;

  const provider = forAllTests(() =>
    Replicas.open({ environment: { PX6_COMPATIBLE: 'on' }, tuning: { px6CallsPerSecond: 10_000 } }),
  );
  const between = forAllTests(startTcpRelay);
  const shop = forAllTests(async () => {
    reseller = await provider.createCustomer('1000000.00');
    await startFirst();
    return Replicas.open({
      environment: {
        PX6_API_KEY: reseller.token,
        PX6_BASE_URL: `http://127.0.0.1:${between.port}`,
        SETTLEMENT_DELAY_SECONDS,
      },
    });
  });
  beforeAll(async () => {
    second = await shop.start();
  });

  async function startFirst(): Promise<void> {
    first = await provider.start();
    between.target = Number(new URL(first.baseUrl).port);
  }

  async function retryUntilBought(order: Order): Promise<void> {
    for (;;) {
      const response = await send(second.baseUrl, order).catch(() => null);
      if (response?.status === 200) return;
      const mayRetry = !response || [409, 429].includes(response.status) || response.status >= 500;
      expect([mayRetry, response?.body]).toEqual([true, response?.body]);
      await pause(200);
    }
  }

  async function orderDuringFaults(orders: readonly Order[]): Promise<void> {
    const all = Promise.all(orders.map(retryUntilBought));
    for (let cuts = 0; cuts < 5; cuts += 1) {
      await pause(100);
      between.cut();
    }
    first.kill('SIGKILL');
    await first.ended();
    await startFirst();
    between.cut();
    second.kill('SIGKILL');
    await second.ended();
    second = await shop.start();
    await all;
  }

  const booksOf = async (replicas: Replicas, charge: string): Promise<Books> => {
    const [books] = await replicas.query<Books>(
      `SELECT (SELECT count(*)::int FROM proxies) AS proxies,
              (SELECT sum(${charge})::numeric(14,2)::text FROM orders WHERE captured > 0) AS charged,
              (SELECT array_agg(date_end::text ORDER BY date_end, id) FROM proxies) AS ends`,
    );
    if (!books) throw new Error('there are no books');
    return books;
  };

  async function expectAgreement(count: number): Promise<void> {
    await shop.untilSettled();
    await provider.untilSettled();
    const sold = await booksOf(provider, 'captured');
    expect(await booksOf(shop, 'provider_charge')).toEqual(sold);
    expect(sold.proxies).toBe(count);
    await eventually(async () => (await shop.findViolations()).length === 0);
    await provider.audit();
  }

  it('neither loses nor doubles an order while both are killed, and all between them is cut', async () => {
    const customers = await Promise.all([1, 2, 3].map(() => shop.createCustomer()));
    const purchasesOf = (what: string): Order[] =>
      Array.from({ length: ORDERS }, (_, n) => {
        const customer = customers[n % customers.length];
        if (!customer) throw new Error('there is no customer');
        return purchase(customer, `${what}-${n}`);
      });
    await Promise.all(purchasesOf('before').map(retryUntilBought));
    const rows = await shop.query<{ id: number; userId: number }>(
      'SELECT id, user_id AS "userId" FROM proxies',
    );
    const prolongations = rows.map(({ id, userId }) => {
      const customer = customers.find((one) => one.id === userId);
      if (!customer) throw new Error('there is no customer');
      return prolongation(customer, String(id), `prolong-${id}`);
    });
    expect(prolongations).toHaveLength(ORDERS);
    await orderDuringFaults([...purchasesOf('during'), ...prolongations]);
    await expectAgreement(2 * ORDERS);
  });
});
