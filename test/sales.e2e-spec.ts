import { type Sales, type SalesSelection, SalesService } from '../src/ledger';
import { emptyDatabase } from './support/empty-database';
import { forAllTests } from './support/fixtures';
import { readPages } from './support/pages';
import { createStaff, type Staff } from './support/staff';
import { lockRow, untilWaiting } from './support/table-lock';
import { startTestService, type TestUser } from './support/test-service';

interface Page {
  readonly total: Record<string, unknown>;
  readonly items: readonly Record<string, unknown>[];
  readonly next_cursor: string | null;
}

const EVERYTHING = ['day', 'country', 'version'] as const;
let staff: Staff;
let user: TestUser;
/** The tests may end on the day after this one. */
let today: string;
const DAY_MS = 86_400_000;

// Sales cover all users, and the tests change orders' days.
const service = forAllTests(startTestService);

async function begin(): Promise<void> {
  await emptyDatabase(service);
  staff = await createStaff(service, ['staff:system']);
  user = await service.createUser({ balance: '1000000.00' });
  today = new Date().toISOString().slice(0, 10);
}

const dayOf = (offset: number): string =>
  new Date(Date.parse(today) + offset * DAY_MS).toISOString().slice(0, 10);

const daysRolledUp = async (count: number): Promise<number> => {
  const [{ days }] = await service.dataSource.query('SELECT rolled_to - $1::date AS days FROM sales_rollup', [
    dayOf(-count),
  ]);
  return days;
};

const unsettledDay = async (): Promise<string> => {
  const [{ day }] = await service.dataSource.query(
    `SELECT ((now() - interval '15 min') AT TIME ZONE 'UTC')::date::text AS day`,
  );
  return day;
};

async function buy(country: string, count: number) {
  const { data, error } = await user.buy({ country, count, version: '6', proxy_type: 'http' });
  if (!data) throw new Error(JSON.stringify(error));
  return data;
}

const moveBack = (orderId: number | null | undefined, days: number, time = '12:00') =>
  service.dataSource.query('UPDATE orders SET closed_at = $2 WHERE id = $1', [
    orderId,
    `${dayOf(-days)}T${time}Z`,
  ]);

async function refund(orderId: number | null | undefined, amount: string, daysAgo = 0): Promise<void> {
  await service.dataSource.query(
    `WITH action AS (
         INSERT INTO audit_log (via, action, request) VALUES ('cli', 'orders.refund', '{}') RETURNING id),
          refunded AS (UPDATE orders SET refunded = refunded + $2 WHERE id = $1)
     INSERT INTO ledger_entries (user_id, kind, order_id, available_delta, held_delta, action_id, created_at)
     SELECT $3, 'refund', $1, $2, 0, id, $4 FROM action`,
    [orderId, amount, user.id, `${dayOf(-daysAgo)}T00:00Z`],
  );
}

const request = async (query: string): Promise<Page> => {
  const { status, body } = await staff.get<Page>(`/staff/sales?${query}`);
  expect([status, body]).toEqual([200, expect.any(Object)]);
  return body;
};
const forgetRollUp = () => service.owner.query('TRUNCATE sales_days, sales_rollup');
const rollUp = () => service.runJob('sales-days');
const read = (question: SalesSelection): Promise<Sales> => service.app.get(SalesService).read(question);

async function trade(): Promise<void> {
  await service.control.setStock('6', 'us', 5000);
  const old = await buy('ru', 2);
  await moveBack(old.order_id, 40, '00:00');
  const lastWeek = await buy('us', 3);
  await moveBack(lastWeek.order_id, 7, '23:59:59.999');
  await moveBack((await user.prolong(old.proxies[0]?.id ?? '')).data?.order_id, 7, '00:00');
  await refund(lastWeek.order_id, '25.08', 2);
  await service.control.addFault({ method: 'buy', kind: 'error', errorId: 300 });
  await expect(buy('ru', 1)).rejects.toThrow();
  await service.control.addFault({ method: 'buy', kind: 'short-list', shortBy: 2 });
  const short = await buy('ru', 3);
  expect(short.proxies).toHaveLength(1);
  await moveBack(short.order_id, 0, '00:00');
}

describe('Sales', () => {
  beforeAll(begin);

  it('are what orders captured, less refunds and the charges of the provider, to the kopeck', async () => {
    const first = await buy('ru', 2);
    await buy('ru', 1);
    expect((await user.prolong(first.proxies[0]?.id ?? '')).data?.price_charged).toBe('25.08');
    await refund(first.order_id, '10.00');
    // The provider charges in ten-thousandths: rounded one by one, these would add up to 41.94.
    await service.dataSource.query('UPDATE orders SET provider_charge = 13.9849, closed_at = $1', [
      `${today}T00:00Z`,
    ]);

    const figures = {
      orders: 3,
      prolongations: 1,
      proxies: 3,
      sales: '100.32',
      refunds: '10.00',
      refunds_by_rule: '0.00',
      cost: '41.95',
      margin: '48.37',
    };
    expect(await request(`from=${today}&to=${dayOf(0)}`)).toEqual({
      total: figures,
      items: [{ day: today, country: null, version: null, ...figures }],
      next_cursor: null,
    });
    expect(await request('')).toEqual(await request(`from=${today}&to=${today}`));
    expect((await request(`from=${today}&to=${dayOf(0)}&by=version,country`)).items).toEqual([
      { day: null, country: 'ru', version: '6', ...figures },
    ]);
  });

  it('are zero when nothing was sold', async () => {
    const amounts = { sales: '0.00', refunds: '0.00', refunds_by_rule: '0.00', cost: '0.00', margin: '0.00' };
    expect(await request('from=2001-01-01&to=2001-02-01&by=day,country,version')).toEqual({
      total: { orders: 0, prolongations: 0, proxies: 0, ...amounts },
      items: [],
      next_cursor: null,
    });
  });

  it.each([
    ['from=2026-01-01&to=2027-01-02', 400],
    ['from=2026-01-02&to=2026-01-01', 400],
    ['from=2999-01-01', 400],
    ['from=2026-01-01&to=2026-02-01&cursor=ru/6', 400],
    ['from=2026-02-30&to=2026-03-01', 422],
    ['from=2026-01-01T00:00:00Z&to=2026-03-01', 422],
    ['from=2026-01-01&to=2026-02-01&by=', 422],
    ['from=2026-01-01&to=2026-02-01&by=user', 422],
    ['from=2026-01-01&to=2026-02-01&limit=201', 422],
  ])('are refused for the query %s', async (query, status) => {
    expect((await staff.get(`/staff/sales?${query}`)).status).toBe(status);
  });
});

describe('Sales of several days', () => {
  beforeAll(async () => {
    await begin();
    await trade();
  });
  beforeEach(forgetRollUp);

  it('count on the day when the order was closed, and refunds on the day when they were made', async () => {
    const { items } = await request(`from=${dayOf(-100)}&to=${dayOf(0)}`);
    const shown = items.map(({ day, orders, proxies, sales, refunds }) => ({
      day,
      orders,
      proxies,
      sales,
      refunds,
    }));
    expect(shown).toEqual([
      { day: today, orders: 1, proxies: 1, sales: '25.08', refunds: '0.00' },
      { day: dayOf(-2), orders: 0, proxies: 0, sales: '0.00', refunds: '25.08' },
      { day: dayOf(-7), orders: 2, proxies: 3, sales: '100.32', refunds: '0.00' },
      { day: dayOf(-40), orders: 1, proxies: 2, sales: '50.16', refunds: '0.00' },
    ]);
    expect((await request(`from=${dayOf(-7)}&to=${dayOf(-3)}`)).items.map(({ day }) => day)).toEqual([
      dayOf(-7),
    ]);
  });

  it.each(['day', 'country', 'version,day', 'day,country,version'])(
    'are paged by %s: each row appears once, and each page has the total of all rows',
    async (by) => {
      await rollUp();
      const period = `from=${dayOf(-100)}&to=${dayOf(0)}&by=${by}`;
      const whole = await request(period);
      const seen = await readPages(async (cursor) => {
        const page = await request(`${period}&limit=1${cursor}`);
        expect(page.items).toHaveLength(1);
        expect(page.total).toEqual(whole.total);
        return page;
      });
      expect(seen).toEqual(whole.items);
      expect(seen.length).toBeGreaterThan(0);
    },
  );

  describe('A day that is over', () => {
    it('is rolled up by the job, without a change of the figures, and is read from the roll-up', async () => {
      const question = { from: dayOf(-100), to: dayOf(0), by: EVERYTHING };
      const live = await read(question);
      expect(await rollUp()).toEqual({ days: await daysRolledUp(41) });
      expect(await read(question)).toEqual(live);
      await service.audit();

      const [rolled] = await service.dataSource.query(
        `SELECT to_char(min(day), 'YYYY-MM-DD') AS first, to_char(max(day), 'YYYY-MM-DD') AS last,
                count(*)::int AS rows
           FROM sales_days`,
      );
      expect(rolled).toEqual({ first: dayOf(-40), last: dayOf(-2), rows: 4 });
      await service.dataSource.query('UPDATE sales_days SET sales = sales + 1');
      expect(Number((await read(question)).total.sales)).toBe(Number(live.total.sales) + 4);
    });

    it('is rolled up once, even when another replica takes over from one that is delayed', async () => {
      const { dataSource } = service;
      const question = { from: dayOf(-100), to: dayOf(0), by: EVERYTHING };
      const live = await read(question);
      await dataSource.query('INSERT INTO sales_rollup VALUES (true, $1)', [dayOf(-41)]);
      const holdUp = await lockRow(dataSource, 'SELECT FROM sales_rollup FOR UPDATE');
      const first = rollUp();
      await untilWaiting(dataSource, 'UPDATE sales_rollup');
      expect(await rollUp()).toBeNull();
      await dataSource.query(`UPDATE job_runs SET leased_until = now() WHERE name = 'sales-days'`);
      const second = rollUp();
      await untilWaiting(dataSource, 'UPDATE sales_rollup', 2);
      await holdUp.release();
      // The replica that finds the work done gives up.
      expect((await Promise.allSettled([first, second])).map(({ status }) => status)).toContain('fulfilled');
      expect([await rollUp(), await read(question)]).toEqual([{ days: 0 }, live]);
      await service.audit();
    });

    it('is not rolled up until everything that happened on it is committed', async () => {
      const before = await unsettledDay();
      await rollUp();
      const [{ rolled }] = await service.dataSource.query(
        'SELECT rolled_to::text AS rolled FROM sales_rollup',
      );
      expect([before, await unsettledDay()]).toContain(rolled);
    });
  });
});

describe('A day before the first sale', () => {
  beforeAll(begin);

  it('is not rolled up before the first sale', async () => {
    expect(await rollUp()).toEqual({ days: 0 });
    await moveBack((await buy('ru', 1)).order_id, 3);
    // The day before the first sale counts too.
    expect(await rollUp()).toEqual({ days: await daysRolledUp(4) });
    expect(await rollUp()).toEqual({ days: 0 });
    await service.audit();
  });
});
