import { randomBytes } from 'node:crypto';
import { AppConfig } from '../src/config';
import { OrderCancellations } from '../src/orders';
import { OrderQueries } from '../src/orders/order-queries';
import type { NewOrder } from '../src/orders/placing/new-order';
import { OrderPlacement } from '../src/orders/placing/order-placement';
import { fetchAs } from './support/api-client';
import { forAllTests } from './support/fixtures';
import { lookAway } from './support/look-away';
import { newPurchase } from './support/new-order';
import { readPages } from './support/pages';
import { sharedTestService, type TestUser } from './support/test-service';

const WRITERS = 8;

type Query = Readonly<Record<string, string | number>>;
interface Page {
  readonly items: readonly { readonly id: number }[];
  readonly next_cursor: number | null;
}

describe("Pages of a customer's orders", () => {
  let user: TestUser;
  let order: NewOrder;
  const service = forAllTests(sharedTestService);
  beforeEach(async () => {
    lookAway(service);
    user = await service.createUser({ balance: '100000.00' });
    order = await newPurchase(service, user, '1.00');
  });
  afterEach(async () => {
    await service.app.get(OrderCancellations).cancelOrders(await idsInDatabase(), 'busy', ['reserved']);
    jest.restoreAllMocks();
    await service.audit();
  });

  async function page(query: Query, cursor = ''): Promise<Page> {
    const search = new URLSearchParams(query as never).toString();
    const response = await fetchAs(user, 'GET', `${service.baseUrl}/orders?${search}${cursor}`);
    expect(response.status).toBe(200);
    return (await response.json()) as Page;
  }
  const idsOf = (orders: Page['items']): number[] => orders.map(({ id }) => id);
  const idsOn = async (query: Query): Promise<number[]> => idsOf((await page(query)).items);
  const allPages = async (query: Query): Promise<number[]> =>
    idsOf(await readPages((cursor) => page(query, cursor)));

  const idsInDatabase = async (): Promise<number[]> =>
    idsOf(await service.dataSource.query('SELECT id FROM orders WHERE user_id = $1 ORDER BY id', [user.id]));

  async function write(ordersPerWriter: number): Promise<void> {
    await Promise.all(
      Array.from({ length: WRITERS }, async () => {
        const placement = new OrderPlacement(
          service.dataSource,
          service.app.get(OrderQueries),
          service.app.get<unknown, AppConfig>(AppConfig),
        );
        for (let n = 0; n < ordersPerWriter; n += 4) {
          const keyed = () => ({ key: randomBytes(8).toString('hex'), requestHash: randomBytes(32) });
          const orders = Array.from({ length: 4 }, () => ({ ...order, idempotency: keyed() }));
          await Promise.all(orders.map((one) => placement.place([one])));
        }
      }),
    );
  }

  it('skip none and repeat none while orders are placed: a reader sees each once', async () => {
    const state = { isWriting: true };
    const writing = write(20).finally(() => (state.isWriting = false));
    const followed: number[] = [];
    const walks: { known: number[]; walked: number[] }[] = [];
    const follow = async (): Promise<void> => {
      for (let isLast = false; !isLast;) {
        isLast = !state.isWriting;
        const cursor = followed.at(-1);
        const ids = await idsOn({ sort: 'oldest', limit: 7, ...(cursor !== undefined && { cursor }) });
        followed.push(...ids);
        if (ids.length > 0) isLast = false;
      }
    };
    const walk = async (): Promise<void> => {
      while (state.isWriting) {
        const known = await idsInDatabase();
        walks.push({ known, walked: await allPages({ limit: 13 }) });
      }
    };
    await Promise.all([writing, follow(), walk()]);
    const all = await idsInDatabase();
    expect(all).toHaveLength(WRITERS * 20);
    expect(followed).toEqual(all);
    expect(walks.length).toBeGreaterThan(0);
    for (const { known, walked } of walks) {
      expect(walked).toEqual([...new Set(walked)].sort((one, other) => other - one));
      // The walk misses no order that existed at its begin, and no order among the newest.
      const seen = new Set(walked);
      expect(known.filter((id) => !seen.has(id))).toEqual([]);
      const newest = walked[0] ?? 0;
      expect(walked).toEqual(all.filter((id) => id <= newest).toReversed());
    }
  });

  it('are as long as requested, and the last one says so', async () => {
    await write(28);
    const all = (await idsInDatabase()).toReversed();
    const first = await page({ limit: 3 });
    expect([idsOf(first.items), first.next_cursor]).toEqual([all.slice(0, 3), all[2]]);
    const last = await page({ limit: 3, cursor: all.at(-3) ?? 0 });
    expect([idsOf(last.items), last.next_cursor]).toEqual([all.slice(-2), null]);
    expect(await idsOn({})).toEqual(all.slice(0, 50));
    expect(await allPages({ limit: 200, kind: 'purchase' })).toEqual(all);
    expect(await allPages({ limit: 200, kind: 'prolongation' })).toEqual([]);
    expect(await allPages({ limit: 100, sort: 'oldest' })).toEqual(all.toReversed());
    const follow = (cursor = 0) => user.api.GET('/orders', { params: { query: { sort: 'oldest', cursor } } });
    expect((await follow(all[0])).data).toEqual({ items: [], next_cursor: null });
    // Such a cursor would skip all orders up to its id.
    expect((await follow(Number.MAX_SAFE_INTEGER)).error).toMatchObject({
      detail: [{ type: 'cursor_unknown', loc: ['query', 'cursor'] }],
    });
  });
});
