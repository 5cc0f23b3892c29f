import { ALL_SCOPES, TokensService } from '../src/auth';
import { Money } from '../src/common';
import type { BalanceChangesPage } from '../src/ledger/balance-change.dto';
import type { UsageOut } from '../src/usage/usage.dto';
import { fetchAs } from './support/api-client';
import { forAllTests, forEachTest } from './support/fixtures';
import { insertProxies } from './support/proxy-rows';
import { createStaff, type Json } from './support/staff';
import { unauditedTestService, testUser } from './support/test-service';
import { withinOneDay } from './support/within-one-day';

type Usage = Json<UsageOut>;

const DAY_MS = 86_400_000;
const service = forAllTests(unauditedTestService);
const user = forEachTest(() => service.createUser({ balance: '1000.00' }));
withinOneDay();

async function readUsage(token = user.token): Promise<Usage> {
  const response = await fetchAs({ token }, 'GET', `${service.baseUrl}/usage`);
  expect(response.status).toBe(200);
  return (await response.json()) as Usage;
}

async function buy(period = 30, order: object = {}): Promise<{ id: number; price: Money; proxy: string }> {
  const { data, error } = await user.buy({ period, ...order });
  expect(error).toBeUndefined();
  return {
    id: data?.order_id ?? 0,
    price: Money.parse(data?.price_charged ?? ''),
    proxy: data?.proxies[0]?.id ?? '',
  };
}

async function refund(orderId: number, amount: string): Promise<void> {
  const staff = await createStaff(service);
  const response = await staff.post(
    `/staff/orders/${orderId}/refund`,
    { amount, reason: 'test' },
    { 'Idempotency-Key': `refund-${orderId}` },
  );
  expect(response.status).toBe(200);
}

async function quote(period: number, version = '6'): Promise<Money> {
  const { data } = await user.api.GET('/price', {
    params: { query: { count: 1, period, version } as never },
  });
  return Money.parse(data?.price_single ?? '');
}

const dayAfter = (days: number): string =>
  new Date(service.clock.now().getTime() + days * DAY_MS).toISOString().slice(0, 10);

describe('GET /usage', () => {
  it('is zero for a user who has bought nothing', async () => {
    const ending = { rentals: 0, renewal_cost: '0.00' };
    expect(await readUsage()).toEqual({
      as_of: expect.stringMatching(/Z$/),
      available: '1000.00',
      held: '0.00',
      spent: { today: '0.00', this_month: '0.00', by: [] },
      token: null,
      rentals: {
        active: 0,
        renewal_cost: '0.00',
        unpriced: 0,
        ending: { in_24_hours: ending, in_7_days: ending, in_30_days: ending },
        balance_lasts_until: null,
      },
    });
  });

  it('returns what was captured today and this month, less refunds, by country and version', async () => {
    const ru = await buy();
    const us = await buy(30, { country: 'us', version: '4' });
    const early = await buy(7);
    const past = await buy(3);
    await refund(ru.id, '1.50');
    // On the first of the month, no earlier day belongs to the month.
    const isFirst = new Date().getUTCDate() === 1;
    await service.owner.query(
      `UPDATE orders SET closed_at = CASE id WHEN $1 THEN date_trunc('month', now())
                                              ELSE date_trunc('month', now()) - interval '1 ms' END
        WHERE id IN ($1, $2)`,
      [early.id, past.id],
    );
    const { available, held, spent } = await readUsage();
    const net = ru.price.minus(Money.parse('1.50'));
    const today = isFirst ? net.plus(early.price) : net;
    expect(spent).toEqual({
      today: today.plus(us.price).toString(),
      this_month: net.plus(early.price).plus(us.price).toString(),
      by: [
        {
          country: 'ru',
          version: '6',
          today: today.toString(),
          this_month: net.plus(early.price).toString(),
        },
        { country: 'us', version: '4', today: us.price.toString(), this_month: us.price.toString() },
      ],
    });
    expect({ available, held }).toEqual(await service.balanceOf(user));
  });

  it('agrees with the ledger: what was captured there is what was spent', async () => {
    await buy();
    await service.control.addFault({ method: 'buy', kind: 'error', errorId: 300 });
    await user.buy();
    const { id, proxy } = await buy(7);
    await user.prolong(proxy, { period: 14 });
    await refund(id, '0.50');
    const response = await fetchAs(user, 'GET', `${service.baseUrl}/ledger`);
    const total = ((await response.json()) as Json<BalanceChangesPage>).items.reduce(
      (sum, { kind, held_delta: held, available_delta: available }) =>
        kind === 'capture' || kind === 'refund'
          ? sum.minus(Money.parse(kind === 'capture' ? held : available))
          : sum,
      Money.zero,
    );
    expect((await readUsage()).spent.this_month).toBe(total.toString());
  });

  it('returns what the token may still take today, with what the tokens that issued it leave', async () => {
    const issue = async (dailyLimit: string | null) =>
      service.app.get(TokensService).issue({
        userId: user.id,
        scopes: ALL_SCOPES,
        dailyLimit: dailyLimit === null ? null : Money.parse(dailyLimit),
      });
    const { text, token } = await issue('500.00');
    expect((await readUsage(text)).token).toEqual({
      daily_limit: '500.00',
      used_today: '0.00',
      left_today: '500.00',
    });
    await testUser(service.baseUrl, user.id, text).buy();
    const { spent, token: used } = await readUsage(text);
    const left = Money.parse('500').minus(Money.parse(spent.today));
    expect(used).toEqual({ daily_limit: '500.00', used_today: spent.today, left_today: left.toString() });
    const issued = await issue('499.00');
    await service.owner.query('UPDATE api_tokens SET limited_by = ARRAY[$1::bigint] WHERE id = $2', [
      token.id,
      issued.token.id,
    ]);
    expect((await readUsage(issued.text)).token).toEqual({
      daily_limit: '499.00',
      used_today: '0.00',
      left_today: left.toString(),
    });
    expect((await readUsage((await issue(null)).text)).token).toBeNull();
  });

  it('returns when rentals end, and what renewing them for their last period costs', async () => {
    await buy(30);
    const { proxy } = await buy(3);
    await buy(7);
    expect((await user.prolong(proxy, { period: 14 })).error).toBeUndefined();
    const [month, week, fortnight] = [await quote(30), await quote(7), await quote(14)];
    expect((await readUsage()).rentals).toMatchObject({
      active: 3,
      renewal_cost: month.plus(week).plus(fortnight).toString(),
      unpriced: 0,
      ending: {
        in_24_hours: { rentals: 0, renewal_cost: '0.00' },
        in_7_days: { rentals: 1, renewal_cost: week.toString() },
        in_30_days: { rentals: 3, renewal_cost: month.plus(week).plus(fortnight).toString() },
      },
    });
    const stored = await service.dataSource.query<{ period: number }[]>(
      'SELECT period FROM proxies WHERE user_id = $1 ORDER BY id',
      [user.id],
    );
    expect(stored.map(({ period }) => period)).toEqual([30, 14, 7]);
    await service.dataSource.query('UPDATE proxies SET withdrawn_at = now() WHERE id = $1', [proxy]);
    expect((await readUsage()).rentals).toMatchObject({ active: 2 });
  });

  it('returns until when the balance pays for the renewals', async () => {
    await buy(7);
    const week = await quote(7);
    const keep = async (amount: Money) => {
      const { available } = await service.balanceOf(user);
      await service.dataSource.query(
        `INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta, reason)
         VALUES ($1, 'adjustment', $2, 0, 'test')`,
        [user.id, amount.minus(Money.parse(available)).toString()],
      );
    };
    await keep(week.minus(Money.parse('0.01')));
    expect((await readUsage()).rentals.balance_lasts_until).toBe(dayAfter(7));
    await keep(week.times(3));
    expect((await readUsage()).rentals.balance_lasts_until).toBe(dayAfter(7 * 4));
    await keep(week.times(60));
    expect((await readUsage()).rentals.balance_lasts_until).toBeNull();
  });

  it('omits from the cost, and counts, proxies without a price', async () => {
    await buy(7);
    const { rentals: before } = await readUsage();
    await service.dataSource.query('UPDATE proxies SET period = 46 WHERE user_id = $1', [user.id]);
    await service.control.clearCalls();
    expect((await readUsage()).rentals).toEqual({
      ...before,
      unpriced: 1,
      renewal_cost: '0.00',
      ending: {
        ...before.ending,
        in_7_days: { rentals: 1, renewal_cost: '0.00' },
        in_30_days: { rentals: 1, renewal_cost: '0.00' },
      },
      balance_lasts_until: null,
    });
    const calls = await service.control.getCalls();
    expect(calls.filter((call) => /\b46\b/.test(JSON.stringify(call)))).toEqual([]);
  });

  it('shows no user what belongs to others', async () => {
    await buy();
    const other = await service.createUser({ balance: '7.00' });
    await insertProxies(service.dataSource, other.id, 3);
    const { available, spent, rentals } = await readUsage(other.token);
    expect({ available, spent, active: rentals.active }).toEqual({
      available: '7.00',
      spent: {
        today: '3.00',
        this_month: '3.00',
        by: [{ country: 'ru', version: '6', today: '3.00', this_month: '3.00' }],
      },
      active: 3,
    });
  });
});
