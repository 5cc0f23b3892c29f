import { Money } from '../src/common';
import { LedgerService } from '../src/ledger';
import { RenewalOrders } from '../src/orders';
import { RenewalCapacity } from '../src/orders/placing/renewal-orders';
import { ProviderClosed, ProxyProvider } from '../src/provider';
import { RenewalJob } from '../src/renewals';
import { ForecastService } from '../src/renewals/forecast.service';
import { RenewalReminders } from '../src/renewals/running/renewal-reminders';
import { beforeClosing, forAllTests } from './support/fixtures';
import { captureLog } from './support/log-capture';
import { lookAway } from './support/look-away';
import { runRenewals } from './support/renewals';
import { checkNow, passSettlementDelay } from './support/settlement-delay';
import { lockRow } from './support/table-lock';
import { startTestService, type TestUser } from './support/test-service';
import { withinOneDay } from './support/within-one-day';

/** Days. A rental of a week is due at once if renewed a week before its end. */
const PERIOD = 7;
const AHEAD_HOURS = 168;

describe('Renewals', () => {
  // A run renews all users' proxies.
  const service = forAllTests(startTestService);
  withinOneDay();
  beforeAll(() => service.control.setStock('6', 'ru', 1_000_000));
  afterEach(async () => {
    await service.control.resetFaults();
    await service.untilSettled();
    // Renewals that a test put off could fall due in the next one and take its faults.
    await service.owner.query(
      `INSERT INTO renewal_settings (user_id, paused_at, paused_reason)
       SELECT DISTINCT user_id, now(), 'test' FROM renewal_rules
       ON CONFLICT (user_id) DO UPDATE SET paused_at = now(), paused_reason = 'test'`,
    );
  });
  beforeClosing(() => service.audit({ withProvider: true }));

  const run = (cutOff?: AbortSignal) => runRenewals(service, cutOff);

  async function customerWith(count: number, balance = '10000.00') {
    const user = await service.createUser({ balance });
    return { user, ids: await buy(user, count) };
  }

  async function buy(user: TestUser, count: number): Promise<number[]> {
    const ids = ((await user.buy({ period: PERIOD, count })).data?.proxies ?? []).map(({ id }) => Number(id));
    expect(ids).toHaveLength(count);
    return ids;
  }

  const switchOn = (
    { id }: TestUser,
    { proxyId = null as number | null, maxPrice = null as string | null, hours = AHEAD_HOURS } = {},
  ) =>
    service.dataSource.query(
      `INSERT INTO renewal_rules (user_id, proxy_id, period, max_price, hours_before)
       VALUES ($1, $2, $3, $4, $5) RETURNING id`,
      [id, proxyId, PERIOD, maxPrice, hours],
    );

  const renewalsOf = ({ id }: TestUser) =>
    service.dataSource.query<{ state: string; reason: string; price: string; orderId: number }[]>(
      `SELECT state, reason, price, order_id AS "orderId" FROM renewals WHERE user_id = $1
        ORDER BY date_end_before, proxy_id`,
      [id],
    );

  /** Changes the end at the provider, without an order. */
  async function extend(proxyId: number | undefined, days: number): Promise<void> {
    const [{ end }] = await service.dataSource.query(
      'SELECT extract(epoch FROM date_end)::float8 AS end FROM proxies WHERE id = $1',
      [proxyId],
    );
    const unixtimeEnd = end + days * 86_400;
    await service.control.changeProxy(await service.providerIdOf(proxyId), { unixtimeEnd });
  }

  const wait = ({ id }: TestUser) =>
    service.dataSource.query(
      `UPDATE renewals SET next_try_at = now() WHERE user_id = $1 AND next_try_at > now()`,
      [id],
    );

  const moveEnds = ({ id }: TestUser, end: string) =>
    service.owner.query(
      `WITH moved AS (UPDATE proxies SET date_end = ${end} WHERE user_id = $1 RETURNING id, date_end)
       UPDATE renewals SET date_end_before = date_end FROM moved WHERE proxy_id = moved.id`,
      [id],
    );

  const eventsOf = async ({ id }: TestUser): Promise<string[]> => {
    const rows: { type: string; data: Record<string, unknown> }[] = await service.dataSource.query(
      `SELECT type, data FROM events WHERE user_id = $1 AND type LIKE 'renewal.%' ORDER BY id`,
      [id],
    );
    return rows.map(({ type, data }) => [type, data['reason']].filter(Boolean).join(' '));
  };

  it('order ordinary prolongations, each once, and report each', async () => {
    const { user, ids } = await customerWith(3);
    await switchOn(user);
    await run();
    await run();
    expect((await renewalsOf(user)).map(({ state }) => state)).toEqual(['done', 'done', 'done']);
    expect(await eventsOf(user)).toEqual([
      ...ids.map(() => 'renewal.planned'),
      ...ids.map(() => 'renewal.done'),
    ]);
    const orders = await service.dataSource.query(
      `SELECT state, captured, token_id FROM orders WHERE user_id = $1 AND kind = 'prolongation'`,
      [user.id],
    );
    expect(orders).toEqual(
      ids.map(() => ({ state: 'completed', captured: expect.any(String), token_id: null })),
    );
  });

  it('of others are executed while a session locks the account of one customer', async () => {
    const [{ user: held }, { user }] = [await customerWith(1), await customerWith(1)];
    for (const one of [held, user]) await switchOn(one);
    const account = await lockRow(
      service.owner,
      `SELECT FROM accounts WHERE user_id = ${held.id} FOR UPDATE`,
    );
    await run();
    expect(await renewalsOf(user)).toMatchObject([{ state: 'done' }]);
    expect(await renewalsOf(held)).toMatchObject([{ state: 'planned' }]);
    await account.release();
    await wait(held);
    await run();
    expect(await renewalsOf(held)).toMatchObject([{ state: 'done' }]);
  });

  describe('whose call was canceled, and had its effect afterwards,', () => {
    const sweepIsComplete = () =>
      service.dataSource.query('INSERT INTO completed_sweeps (began_at, listed) VALUES (now(), 1)');
    const prolongations = async (proxyId: number | undefined): Promise<number> => {
      const id = String(await service.providerIdOf(proxyId));
      const calls = await service.control.getCalls('prolong');
      return calls.filter(({ parameters }) => parameters['ids']?.split(',').includes(id)).length;
    };

    afterEach(() => service.dataSource.query('DELETE FROM completed_sweeps'));

    it('are charged for that call, and not sent again', async () => {
      const { user, ids } = await customerWith(1);
      await switchOn(user);
      const match = { ids: String(await service.providerIdOf(ids[0])) };
      await service.control.addFault({ method: 'prolong', kind: 'reset', match });
      await service.control.clearCalls();
      await run();
      await passSettlementDelay(service);
      await service.untilSettled();
      await sweepIsComplete();
      await extend(ids[0], PERIOD);
      await run();
      await wait(user);
      await run();
      await service.untilSettled();
      await run();
      expect(await renewalsOf(user)).toMatchObject([{ state: 'done' }]);
      expect(await prolongations(ids[0])).toBe(1);
      expect(await service.balanceOf(user)).toMatchObject({ held: '0.00' });
    });

    it('are not needed when the rental goes on for other reasons', async () => {
      const { user, ids } = await customerWith(1);
      await switchOn(user);
      await service.control.clearCalls();
      await extend(ids[0], 3);
      await run();
      expect(await renewalsOf(user)).toMatchObject([{ state: 'skipped' }]);
      expect(await prolongations(ids[0])).toBe(0);
      await extend(ids[0], 0);
    });
  });

  it('of everybody are executed when the forecast of one customer fails', async () => {
    const users = [(await customerWith(1)).user, (await customerWith(1)).user];
    for (const user of users) await switchOn(user);
    const log = captureLog();
    const forecast = service.app.get(ForecastService);
    jest.spyOn(forecast, 'obstaclesAhead').mockRejectedValueOnce(new Error('a fault'));
    await run();
    await run();
    expect(await Promise.all(users.map(renewalsOf))).toMatchObject([
      [{ state: 'done' }],
      [{ state: 'done' }],
    ]);
    log.stop();
    expect(log.lines.join()).toMatch(/user \d+: sending renewal reminders without a forecast/);
  });

  const priceOf = async (user: TestUser): Promise<string> => {
    const [order] = await service.dataSource.query<{ unit_price: string }[]>(
      'SELECT unit_price FROM orders WHERE user_id = $1',
      [user.id],
    );
    return order?.unit_price ?? '';
  };
  const availableOf = async (user: TestUser): Promise<Money> =>
    Money.parse((await service.balanceOf(user)).available);

  async function leave(user: TestUser, amount: string): Promise<void> {
    const surplus = (await availableOf(user)).minus(Money.parse(amount));
    await service.app.get(LedgerService).debit(user.id, surplus, 'test');
  }

  it('are skipped if they cost more than their rule allows, reported once, and tried again', async () => {
    const { user } = await customerWith(1);
    const [rule] = await switchOn(user, { maxPrice: '0.01' });
    await run();
    await wait(user);
    await run();
    expect(await renewalsOf(user)).toMatchObject([{ state: 'skipped', reason: 'price-above-max' }]);
    expect(await eventsOf(user)).toEqual([
      'renewal.planned price-above-max',
      'renewal.skipped price-above-max',
    ]);
    await service.dataSource.query('UPDATE renewal_rules SET max_price = NULL WHERE id = $1', [rule.id]);
    await wait(user);
    await run();
    expect(await renewalsOf(user)).toMatchObject([{ state: 'done', reason: null }]);
    expect((await eventsOf(user)).slice(2)).toEqual(['renewal.done']);
  });

  it('go in the order of ends and ids when money is short, and on at once after a credit', async () => {
    const { user } = await customerWith(3, '1000.00');
    const price = await priceOf(user);
    await switchOn(user);
    await leave(user, Money.parse(price).plus(Money.parse(price)).toString());
    await run();
    expect((await renewalsOf(user)).map(({ state, reason }) => [state, reason])).toEqual([
      ['done', null],
      ['done', null],
      ['skipped', 'balance-short'],
    ]);
    await service.app.get(LedgerService).credit(user.id, Money.parse(price), 'test');
    Reflect.set(service.app.get(RenewalJob), 'unblockedAtMs', -Infinity);
    await run();
    expect((await renewalsOf(user)).map(({ state }) => state)).toEqual(['done', 'done', 'done']);
    expect((await service.balanceOf(user)).available).toBe('0.00');
  });

  it('wait for the refund of their proxy, and go on at once after it was refused', async () => {
    const { user, ids } = await customerWith(1);
    await service.owner.query(
      'INSERT INTO proxy_refunds (proxy_id, user_id, last_order_id) VALUES ($1, $2, last_order_of($1))',
      [ids[0], user.id],
    );
    await switchOn(user);
    await run();
    await wait(user);
    await run();
    expect(await renewalsOf(user)).toMatchObject([
      { state: 'skipped', reason: 'refund-open', orderId: null },
    ]);
    await service.owner.query(
      `UPDATE proxy_refunds
          SET state = 'refused', reason = 'proxy-works', next_check_at = NULL, closed_at = now()
        WHERE proxy_id = $1`,
      [ids[0]],
    );
    Reflect.set(service.app.get(RenewalJob), 'unblockedAtMs', -Infinity);
    await run();
    expect(await renewalsOf(user)).toMatchObject([{ state: 'done', reason: null }]);
    expect(await eventsOf(user)).toEqual([
      'renewal.planned refund-open',
      'renewal.skipped refund-open',
      'renewal.done',
    ]);
  });

  it.each<[string, number, RenewalCapacity]>([
    ['capacity', 2, new RenewalCapacity(0, 1, null, new Set())],
    [
      'listings',
      1,
      new RenewalCapacity(0, 3, null, new Set(Array.from({ length: 10 }, (_, n) => `reference ${n}`))),
    ],
  ])('go in the announced order when %s run out in the middle', async (_, paid, capacity) => {
    const { user, ids } = await customerWith(3, '1000.00');
    // A sweep has confirmed all ends but the first one.
    await service.owner.query('UPDATE proxies SET absences = 1 WHERE id = $1', [ids[0]]);
    await service.dataSource.query('INSERT INTO completed_sweeps (began_at, listed) VALUES (now(), 1)');
    await switchOn(user);
    await leave(
      user,
      Money.parse(await priceOf(user))
        .times(paid)
        .toString(),
    );
    jest.spyOn(service.app.get(RenewalOrders), 'capacity').mockResolvedValueOnce(capacity);
    await run();
    await service.dataSource.query('DELETE FROM completed_sweeps');
    expect((await renewalsOf(user)).map(({ state, reason }) => [state, reason])).toEqual(
      ids.map((__, n) => (n < paid ? ['done', null] : ['skipped', 'balance-short'])),
    );
  });

  it('wait until the rule that applies now makes them due, also after they were skipped', async () => {
    const { user, ids } = await customerWith(1);
    await switchOn(user);
    const price = await priceOf(user);
    await leave(user, '0.00');
    await run();
    expect(await renewalsOf(user)).toMatchObject([{ state: 'skipped', reason: 'balance-short' }]);
    await switchOn(user, { proxyId: ids[0] ?? 0, hours: 2 });
    await service.app.get(LedgerService).credit(user.id, Money.parse(price), 'test');
    await wait(user);
    await run();
    await run();
    expect(await renewalsOf(user)).toMatchObject([{ state: 'planned', orderId: null }]);
    expect((await service.balanceOf(user)).available).toBe(price);
  });

  it('stay within the budget of the month, in which what is held counts', async () => {
    const { user } = await customerWith(2);
    const price = await priceOf(user);
    await service.dataSource.query(
      'INSERT INTO renewal_settings (user_id, monthly_budget) VALUES ($1, $2::numeric * 1.5)',
      [user.id, price],
    );
    await switchOn(user);
    await run();
    await wait(user);
    await run();
    expect((await renewalsOf(user)).map(({ state, reason }) => [state, reason])).toEqual([
      ['done', null],
      ['skipped', 'budget-used-up'],
    ]);
    await service.dataSource.query(
      `UPDATE renewals SET charged_at = date_trunc('month', now(), 'UTC') - interval '1 second'
        WHERE user_id = $1 AND state = 'done'`,
      [user.id],
    );
    await wait(user);
    await run();
    expect((await renewalsOf(user)).map(({ state }) => state)).toEqual(['done', 'done']);
  });

  const PLANNED = { state: 'planned', reason: null };
  const skippedAs = (reason: string) => ({ state: 'skipped', reason });

  it('place nothing that became impossible between decision and order', async () => {
    const cases: readonly [string, string, refused: object[], left: object[], announced: number][] = [
      [
        'its rule was disabled',
        `UPDATE renewal_rules SET disabled_at = now() WHERE user_id = $1`,
        [PLANNED],
        [],
        1,
      ],
      [
        'its proxy was excluded',
        `INSERT INTO renewal_rules (user_id, proxy_id) SELECT user_id, id FROM proxies WHERE user_id = $1`,
        [PLANNED],
        [],
        1,
      ],
      [
        'another rule came to hold for it',
        `INSERT INTO renewal_rules (user_id, proxy_id, period, max_price, hours_before)
       SELECT user_id, id, ${PERIOD}, 0.01, ${AHEAD_HOURS} FROM proxies WHERE user_id = $1`,
        [PLANNED],
        [skippedAs('price-above-max')],
        1,
      ],
      [
        'its end has moved',
        `UPDATE proxies SET date_end = date_end - interval '1 second' WHERE user_id = $1`,
        [],
        [{ state: 'done', reason: null }],
        2,
      ],
      [
        'its user was blocked',
        `UPDATE users SET blocked_at = now(), blocked_reason = 'test' WHERE id = $1`,
        [skippedAs('user-blocked')],
        [skippedAs('user-blocked')],
        1,
      ],
      [
        'staff have paused its user',
        `INSERT INTO renewal_settings (user_id, paused_at, paused_reason) VALUES ($1, now(), 'test')`,
        [skippedAs('paused')],
        [skippedAs('paused')],
        1,
      ],
      [
        'its budget is used up',
        `INSERT INTO renewal_settings (user_id, monthly_budget) VALUES ($1, 0)`,
        [skippedAs('budget-used-up')],
        [skippedAs('budget-used-up')],
        1,
      ],
      [
        'its proxy was withdrawn',
        `UPDATE proxies SET withdrawn_at = now(), absences = 2 WHERE user_id = $1`,
        [skippedAs('proxy-withdrawn')],
        [skippedAs('proxy-withdrawn')],
        1,
      ],
      [
        'a refund of its proxy has begun',
        `SELECT begin_refund(user_id, id, 10) FROM proxies WHERE user_id = $1`,
        [skippedAs('refund-open')],
        [skippedAs('refund-open')],
        1,
      ],
    ];
    const customers: TestUser[] = [];
    for (const _ of cases) {
      const { user } = await customerWith(1);
      await switchOn(user);
      customers.push(user);
    }
    const orders = service.app.get(RenewalOrders);
    const place = orders.place.bind(orders);
    jest.spyOn(orders, 'place').mockImplementationOnce(async (renewals) => {
      for (const [n, { id }] of customers.entries()) await service.owner.query(cases[n]?.[1] ?? '', [id]);
      return place(renewals);
    });
    const shown = async (user: TestUser) =>
      (await renewalsOf(user)).map(({ state, reason }) => ({ state, reason }));
    await run();
    for (const [n, [change, , refused]] of cases.entries()) {
      const user = customers[n]!;
      const placed = await service.dataSource.query(
        `SELECT FROM orders WHERE user_id = $1 AND kind = 'prolongation'`,
        [user.id],
      );
      expect([change, placed, await shown(user)]).toEqual([change, [], refused]);
      await wait(user);
    }
    await run();
    for (const [n, [change, , , left, announced]] of cases.entries()) {
      const user = customers[n]!;
      const planned = (await eventsOf(user)).filter((event) => event.startsWith('renewal.planned'));
      expect([change, await shown(user), planned.length]).toEqual([change, left, announced]);
    }
    await service.owner.query(
      `UPDATE proxies SET withdrawn_at = NULL, absences = 0 WHERE user_id = ANY ($1)
          AND withdrawn_at IS NOT NULL`,
      [customers.map(({ id }) => id)],
    );
  });

  it('are superfluous once the customer has prolonged the proxy', async () => {
    const { user, ids } = await customerWith(1);
    await switchOn(user);
    await service.dataSource.query(
      `INSERT INTO renewal_settings (user_id, paused_at, paused_reason) VALUES ($1, now(), 'test')`,
      [user.id],
    );
    await run();
    expect(await renewalsOf(user)).toMatchObject([{ state: 'skipped', reason: 'paused' }]);
    expect((await user.prolong(String(ids[0]))).response.status).toBe(200);
    await run();
    expect(await renewalsOf(user)).toEqual([]);
  });

  it('wait for an order that is being confirmed, and place no other one', async () => {
    const { user } = await customerWith(2);
    await switchOn(user);
    // Later tests need the present time: proxies rented with a faster clock may be due an hour late.
    await service.control.setClockOffset(-60_000);
    await service.control.addFault({
      method: 'prolong',
      kind: 'response-lost',
      hiddenForMs: 60_000,
      times: 1,
    });
    await run();
    const before = await renewalsOf(user);
    expect(before.map(({ state }) => state)).toEqual(['placed', 'placed']);
    await run();
    await service.control.setClockOffset(0);
    await checkNow(service);
    await service.untilSettled();
    await run();
    expect(await renewalsOf(user)).toEqual(before.map((one) => ({ ...one, state: 'done' })));
  });

  it('are tried again after a refund, when nothing was bought', async () => {
    const { user, ids } = await customerWith(1);
    await switchOn(user);
    const match = { ids: String(await service.providerIdOf(ids[0])) };
    await service.control.addFault({ method: 'prolong', kind: 'http-status', status: 429, times: 1, match });
    await run();
    await service.untilSettled();
    await run();
    expect(await renewalsOf(user)).toMatchObject([{ state: 'skipped', reason: 'provider-unavailable' }]);
    await wait(user);
    await run();
    expect(await renewalsOf(user)).toMatchObject([{ state: 'done' }]);
    expect(await eventsOf(user)).toEqual([
      'renewal.planned',
      'renewal.skipped provider-unavailable',
      'renewal.done',
    ]);
  });

  it('stand in the queue for ten purchases at a time when no sweep has confirmed their ends', async () => {
    const { user } = await customerWith(15);
    for (let n = 0; n < 10; n += 1) await buy(user, 1);
    await switchOn(user);
    const placed = jest.spyOn(service.app.get(RenewalOrders), 'place').mockClear();
    await service.control.clearCalls();
    await run();
    await service.untilSettled();
    await run();
    const [firstPlaced] = placed.mock.calls;
    placed.mockRestore();
    expect(firstPlaced?.[0]).toHaveLength(15 + 9);
    expect((await service.control.getCalls('getproxy')).length).toBeLessThan(20);
    const renewals = await renewalsOf(user);
    expect(renewals.map(({ state }) => state)).toEqual(Array.from({ length: 25 }, () => 'done'));
  });

  it('cause a reminder a week ahead, and three days and one day ahead if they will fail', async () => {
    const { user, ids } = await customerWith(2);
    const price = await priceOf(user);
    await switchOn(user, { hours: 2 });
    await leave(user, price);
    await run();
    await run();
    const planned = ['renewal.planned', 'renewal.planned balance-short'];
    expect(await eventsOf(user)).toEqual(planned);
    for (const hours of [71, 23]) {
      await moveEnds(user, `now() + interval '${hours} hours'`);
      const reminders = service.app.get(RenewalReminders);
      reminders.beginAnew();
      await Promise.all([reminders.remindNext(), reminders.remindNext()]);
      await run();
      planned.push('renewal.planned balance-short');
      expect(await eventsOf(user)).toEqual(planned);
    }
    expect((await renewalsOf(user)).map(({ state }) => state)).toEqual(ids.map(() => 'planned'));
    await moveEnds(user, `date_start + interval '7 days'`);
  });

  it('fail an hour before the end, with the reason of the last try', async () => {
    const { user } = await customerWith(1);
    await switchOn(user, { maxPrice: '0.01' });
    await run();
    await moveEnds(user, `now() + interval '59 minutes'`);
    await run();
    await run();
    expect(await renewalsOf(user)).toMatchObject([{ state: 'failed', reason: 'price-above-max' }]);
    expect((await eventsOf(user)).slice(2)).toEqual(['renewal.failed price-above-max']);
    await service.dataSource.query('UPDATE renewal_rules SET disabled_at = now() WHERE user_id = $1', [
      user.id,
    ]);
    await moveEnds(user, `date_start + interval '7 days'`);
  });

  it('are each placed once when two replicas decide in the same moment', async () => {
    const { user, ids } = await customerWith(5);
    await switchOn(user);
    const orders = service.app.get(RenewalOrders);
    const place = orders.place.bind(orders);
    // Earlier tests' renewals may fall due now, too.
    let wanted = 0;
    let refusals: (string | null | undefined)[] = [];
    jest.spyOn(orders, 'place').mockImplementationOnce(async (renewals) => {
      const [one, other] = await Promise.all([place(renewals), place(renewals)]);
      wanted = renewals.length;
      refusals = [...one, ...other].flatMap(({ id, obstacle }) => (id === null ? [obstacle] : []));
      return one.map((placement, n) => (placement.id === null ? (other[n] ?? placement) : placement));
    });
    await run();
    expect(wanted).toBeGreaterThanOrEqual(ids.length);
    expect(refusals).toHaveLength(wanted);
    // "not-now" after a wait for the lock of an account.
    expect(refusals.filter((reason) => reason !== 'superfluous' && reason !== 'not-now')).toEqual([]);
    expect((await renewalsOf(user)).map(({ state }) => state)).toEqual(ids.map(() => 'done'));
  });

  it('hold no money while the breaker is open: none is placed, queued ones are canceled', async () => {
    const [queued, due] = [await customerWith(2), await customerWith(1)];
    const provider = service.app.get(ProxyProvider);
    const lookAgain = lookAway(service);
    const running = new AbortController();
    const orders = service.app.get(RenewalOrders);
    const place = orders.place.bind(orders);
    const placed = jest.spyOn(orders, 'place').mockImplementationOnce((renewals) => {
      running.abort();
      return place(renewals);
    });
    await switchOn(queued.user);
    await run(running.signal);
    expect((await renewalsOf(queued.user)).map(({ state }) => state)).toEqual(['placed', 'placed']);
    const closed = jest.spyOn(provider, 'assertTakesOrders').mockImplementation(() => {
      throw new ProviderClosed('its breaker is open', 5);
    });
    placed.mockClear();
    await switchOn(due.user);
    await run();
    expect(placed).not.toHaveBeenCalled();
    for (const { user } of [queued, due]) {
      const unavailable = { state: 'skipped', reason: 'provider-unavailable' };
      expect(await renewalsOf(user)).toMatchObject(Array.from(await renewalsOf(user), () => unavailable));
      expect(await service.balanceOf(user)).toMatchObject({ held: '0.00' });
    }
    closed.mockRestore();
    lookAgain();
    for (const { user } of [queued, due]) await wait(user);
    await run();
    for (const { user } of [queued, due]) {
      for (const { state } of await renewalsOf(user)) expect(state).toBe('done');
    }
  });

  it('are not taken for an order whose key a restore of the database has forgotten', async () => {
    const { user, ids } = await customerWith(1);
    expect((await user.prolong(String(ids[0]), { period: PERIOD })).response.status).toBe(200);
    await service.owner.query(
      `UPDATE orders SET key_forgotten = true WHERE user_id = $1 AND kind = 'prolongation'`,
      [user.id],
    );
    await switchOn(user);
    // The end is two weeks ahead, so it is moved here and at the provider.
    await service.owner.query(
      `UPDATE proxies SET date_end = date_end - interval '7 days' WHERE user_id = $1`,
      [user.id],
    );
    await extend(ids[0], 0);
    await run();
    expect(await renewalsOf(user)).toMatchObject([{ state: 'done' }]);
  });
});
