import { setTimeout as pause } from 'node:timers/promises';
import { BUILD_TIMEOUT_MS, type BuiltService, eventually } from '../support/built-service';
import { forAllTests } from '../support/fixtures';
import { inLongForm } from '../support/long-form';
import { type Customer, type Order, purchase, Replicas, send } from '../support/replicas';
import { SeededRandom } from '../support/seeded-random';

const ORDERS = inLongForm(100_000, 600);
const CUSTOMERS = inLongForm(12, 4);
const PROXIES_EACH = inLongForm(500, 40);
/** The orders that are placed until then are looked at, on a machine that is too slow for all of them. */
const LONGEST_MS = inLongForm(9 * 60_000, 60_000);
const BETWEEN_KILLS_MS = inLongForm(3000, 1000);

jest.setTimeout(LONGEST_MS + 240_000);

interface Read {
  readonly userId: number;
  readonly type: string;
  readonly orderId: number | null;
  readonly position: number;
}

describe(`${ORDERS} orders at three replicas that are killed again and again`, () => {
  let services: BuiltService[];

  const replicas = forAllTests(() =>
    Replicas.open({
      environment: {
        PURCHASE_WAIT_MS: '5000',
        PROVIDER_TIMEOUT_MS: '3000',
        AUDIT_TIME: 'off',
      },
      tuning: {
        // The provider has no limit, and a call carries many orders.
        ordersPerCall: 200,
      },
    }),
  );
  beforeAll(async () => {
    await replicas.control.setStock('6', 'ru', 1_000_000);
    await replicas.control.setBalance('100000000.00');
    services = await Promise.all([replicas.start(), replicas.start(), replicas.start()]);
  }, BUILD_TIMEOUT_MS);

  const countOf = async (what: string): Promise<number> =>
    (await replicas.query<{ count: number }>(`SELECT count(*)::integer AS count FROM ${what}`))[0]?.count ??
    0;

  it('each have their events, no event stands without its change, and a reader skips none', async () => {
    const random = new SeededRandom(20_261_122);
    const begunMs = performance.now();
    const done = new AbortController();
    const customers = await Promise.all(
      Array.from({ length: CUSTOMERS }, () => replicas.createCustomer('90000000.00')),
    );
    let kills = 0;
    const trouble = (async () => {
      while (!done.signal.aborted) {
        await pause(random.integer(BETWEEN_KILLS_MS / 2, BETWEEN_KILLS_MS * 1.5));
        const at = random.integer(0, services.length - 1);
        services[at]?.kill('SIGKILL');
        await services[at]?.ended();
        kills += 1;
        services[at] = await replicas.start();
      }
    })();

    const anyService = (): string => services[random.integer(0, services.length - 1)]?.baseUrl ?? '';
    /** Retries the order, as a script does, until its response is final or there are enough. */
    const place = async (order: Order): Promise<void> => {
      while (!done.signal.aborted) {
        const response = await send(anyService(), order).catch(() => null);
        if (response && response.status !== 409 && response.status !== 429 && response.status < 500) return;
        await pause(random.integer(20, 200));
      }
    };
    const client = async (customer: Customer): Promise<void> => {
      const body = { country: 'ru', period: 30, count: PROXIES_EACH };
      await place({ customer, key: 'first', path: '/proxies/buy', body });
      for (let n = 0; !done.signal.aborted; n += 1) {
        const bulk = { customer, key: `bulk-${n}`, path: '/proxies/prolong' };
        await Promise.all([
          place({ ...bulk, body: { filter: { version: '6' }, period: 3, max_price: '80000000.00' } }),
          ...['a', 'b'].map((each) => place(purchase(customer, `${each}-${n}`))),
        ]);
      }
    };

    /** Goes on from the last position, as the readers of customers do. */
    const seen: Read[] = [];
    const readOn = async (): Promise<number> => {
      const read = await replicas.query<Read>(
        `SELECT user_id AS "userId", type, (data->>'order_id')::bigint AS "orderId", position FROM events
          WHERE position > $1 AND user_id = ANY ($2) ORDER BY position LIMIT 5000`,
        [seen.at(-1)?.position ?? 0, customers.map(({ id }) => id)],
      );
      seen.push(...read);
      return read.length;
    };
    const reader = (async () => {
      while (!done.signal.aborted) if ((await readOn()) === 0) await pause(50);
    })();
    const enough = (async () => {
      const isLate = () => performance.now() - begunMs > LONGEST_MS;
      while ((await countOf('orders')) < ORDERS && !isLate()) await pause(250);
      done.abort();
    })();
    await Promise.all([enough, trouble, reader, ...customers.map(client)]);
    const placedMs = performance.now() - begunMs;

    for (let left = 1; left > 0; left = await countOf('orders WHERE closed_at IS NULL')) await pause(500);
    await eventually(async () => (await countOf('events WHERE position IS NULL')) === 0);
    while ((await readOn()) > 0);

    const orders = await replicas.query<{ id: number; userId: number; state: string }>(
      'SELECT id, user_id AS "userId", state FROM orders ORDER BY id',
    );
    const ends = seen.filter(({ type }) => /^order\.(?:completed|partial|refunded)$/.test(type));
    const logged = ends.map(({ userId, orderId, type }) => `${userId} ${orderId} ${type}`);
    expect(logged.toSorted()).toEqual(
      orders.map(({ id, userId, state }) => `${userId} ${id} order.${state}`).toSorted(),
    );
    expect(seen.length).toBe(
      await countOf(`events WHERE user_id IN (${customers.map(({ id }) => id).join()})`),
    );
    expect(await replicas.findViolations()).toEqual([]);
    const figures = {
      orders: orders.length,
      events: seen.length,
      kills,
      seconds: Math.round(placedMs / 1000),
    };
    process.stdout.write(`${JSON.stringify(figures)}\n`);
    expect(kills).toBeGreaterThan(0);
  });
});
