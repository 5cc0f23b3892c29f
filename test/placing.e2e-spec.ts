// A service of its own: its statements are counted, and orders are placed without the route's checks.
import { randomBytes } from 'node:crypto';
import { type Scope, TokensService } from '../src/auth';
import { Money } from '../src/common';
import type { NewOrder } from '../src/orders/placing/new-order';
import { OrderPlacement, type Placement } from '../src/orders/placing/order-placement';
import { forAllTests, forEachTest } from './support/fixtures';
import { newPurchase } from './support/new-order';
import { lockRow } from './support/table-lock';
import { startTestService, type TestUser } from './support/test-service';
import { withinOneDay } from './support/within-one-day';

const SCOPES: readonly Scope[] = ['proxies:write'];

describe('Orders that are requested together', () => {
  withinOneDay();

  const service = forAllTests(() => startTestService({ jobIntervalsMs: { 'dispatch-orders': 600_000 } }));
  const rich = forEachTest(() => service.createUser({ balance: '1000.00' }));
  const poor = forEachTest(() => service.createUser({ balance: '100.00' }));
  const statements = forEachTest(() => jest.fn());
  beforeEach(() => {
    jest.spyOn(service.dataSource.logger, 'logQuery').mockImplementation(statements);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await service.audit();
  });

  const orderOf = async (user: TestUser, roubles: string, more: Partial<NewOrder> = {}) => ({
    ...(await newPurchase(service, user, roubles)),
    ...more,
  });

  async function limitedTo(dailyLimit: string, { id: userId }: TestUser) {
    const limited = { userId, scopes: SCOPES, dailyLimit: Money.parse(dailyLimit) };
    return { tokenId: (await service.app.get(TokensService).issue(limited)).token.id, dailyLimit };
  }

  const keyed = (key: string) => ({ idempotency: { key, requestHash: randomBytes(32) } });
  const place = async (orders: readonly NewOrder[]): Promise<Placement[]> =>
    (await Promise.all(orders.map((order) => service.app.get(OrderPlacement).place([order])))).flat();

  const outcomeOf = (placement: Placement): string => {
    if (placement.outcome === 'failed') return (placement.error as Error).message;
    return placement.outcome === 'refused' ? placement.refusal : 'placed';
  };

  const outcomesOf = async (orders: readonly NewOrder[]): Promise<string[]> =>
    (await place(orders)).map(outcomeOf);

  const countPlacings = (): number =>
    statements.mock.calls.filter(([statement]) => statement.includes('place_orders')).length;

  it('are placed by one statement, and each is placed or refused by itself', async () => {
    const { data } = await rich.buy();
    const prolongation = { kind: 'prolongation', proxyId: Number(data?.proxies[0]?.id) } as const;
    statements.mockClear();
    const outcomes = await outcomesOf([
      await orderOf(rich, '10.00', keyed('a')),
      await orderOf(poor, '100.01'),
      await orderOf(rich, '11.00', keyed('a')),
      await orderOf(rich, '12.00', prolongation),
      await orderOf(rich, '12.00', prolongation),
      await orderOf(poor, '13.00', keyed('a')),
    ]);
    expect(outcomes).toEqual([
      'placed',
      'insufficient-balance',
      'key-in-use',
      'placed',
      'prolongation-open',
      'placed',
    ]);
    expect(countPlacings()).toBe(1);
    expect(await outcomesOf([await orderOf(rich, '10.00', keyed('a'))])).toEqual(['key-in-use']);
    expect(await outcomesOf([await orderOf(rich, '12.00', prolongation)])).toEqual(['prolongation-open']);
    expect(await service.balanceOf(poor)).toEqual({ available: '87.00', held: '13.00' });
  });

  it('are paid for in turn: an order that is too expensive does not prevent a cheaper one', async () => {
    const outcomes = await outcomesOf([
      await orderOf(poor, '80.00'),
      await orderOf(poor, '50.00'),
      await orderOf(poor, '20.00'),
      await orderOf(poor, '0.01'),
    ]);
    expect(outcomes).toEqual(['placed', 'insufficient-balance', 'placed', 'insufficient-balance']);
    const entries = await service.dataSource.query(
      `SELECT seq, kind, available_after, held_after FROM ledger_entries WHERE user_id = $1 ORDER BY seq`,
      [poor.id],
    );
    expect(entries).toEqual([
      { seq: 1, kind: 'topup', available_after: '100.00', held_after: '0.00' },
      { seq: 2, kind: 'hold', available_after: '20.00', held_after: '80.00' },
      { seq: 3, kind: 'hold', available_after: '0.00', held_after: '100.00' },
    ]);
  });

  it('are refused above the price that they allow, before the balance and the limit count', async () => {
    const limited = await limitedTo('5.00', poor);
    const at = (maxPrice: string) => ({ maxPrice: Money.parse(maxPrice) });
    const outcomes = await outcomesOf([
      await orderOf(poor, '10.00', at('9.99')),
      await orderOf(poor, '10.00', at('10.00')),
      await orderOf(poor, '1000.00', at('999.99')),
      await orderOf(poor, '1000.00', at('1000.00')),
      await orderOf(poor, '6.00', { ...limited, ...at('5.99') }),
      await orderOf(poor, '6.00', { ...limited, ...at('6.00') }),
      await orderOf(poor, '11.00', { ...keyed('a'), ...at('11.00') }),
      await orderOf(poor, '11.00', { ...keyed('a'), ...at('10.99') }),
    ]);
    expect(outcomes).toEqual([
      'above-max-price',
      'placed',
      'above-max-price',
      'insufficient-balance',
      'above-max-price',
      'daily-limit',
      'placed',
      'key-in-use',
    ]);
    expect(await service.balanceOf(poor)).toEqual({ available: '79.00', held: '21.00' });
  });

  it('count against the daily limits of their tokens one after the other', async () => {
    const limited = await limitedTo('30.00', rich);
    const outcomes = await outcomesOf([
      await orderOf(rich, '20.00', limited),
      await orderOf(rich, '10.01', limited),
      await orderOf(poor, '20.00'),
      await orderOf(rich, '10.00', limited),
    ]);
    expect(outcomes).toEqual(['placed', 'daily-limit', 'placed', 'placed']);
    expect(await outcomesOf([await orderOf(rich, '0.01', limited)])).toEqual(['daily-limit']);
  });

  it('are placed one by one when one of them cannot be stored: only that one fails', async () => {
    const outcomes = await outcomesOf([
      await orderOf(rich, '10.00'),
      await orderOf(rich, '10.00', { tokenId: 999_999_999 }),
      await orderOf(poor, '10.00'),
    ]);
    expect(outcomes).toEqual(['placed', expect.stringContaining('orders_token_id_fkey'), 'placed']);
    expect(await service.balanceOf(rich)).toEqual({ available: '990.00', held: '10.00' });
  });

  it('of one request are placed in their order, by one statement; a refusal stops none', async () => {
    const orders = await Promise.all(['60.00', '50.00', '40.00'].map((roubles) => orderOf(poor, roubles)));
    expect((await service.app.get(OrderPlacement).place(orders)).map(outcomeOf)).toEqual([
      'placed',
      'insufficient-balance',
      'placed',
    ]);
    expect(countPlacings()).toBe(1);
  });

  it('take only the fields that a caller may set; all others get their defaults from the table', async () => {
    const set = {
      state: 'completed',
      captured: '10.00',
      orderReference: 'mine',
      createdAt: '2020-01-01',
      searches: 9,
    };
    expect(await outcomesOf([await orderOf(poor, '10.00', set as Partial<NewOrder>)])).toEqual(['placed']);
    const [order] = await service.dataSource.query(
      `SELECT state, captured, released, refunded, searches, resent, key_forgotten, history,
              order_reference LIKE 'prs.%' AS "isOurs", created_at > now() - interval '1 minute' AS "isNew"
         FROM orders WHERE user_id = $1`,
      [poor.id],
    );
    expect(order).toMatchObject({
      state: 'reserved',
      captured: '0.00',
      released: '0.00',
      refunded: '0.00',
      searches: 0,
      resent: false,
      key_forgotten: false,
      isOurs: true,
      isNew: true,
    });
  });

  it('delay no orders of others when an account is locked', async () => {
    const lock = await lockRow(service.owner, `SELECT FROM accounts WHERE user_id = ${poor.id} FOR UPDATE`);
    const waiting = place([await orderOf(poor, '10.00')]);
    expect(await outcomesOf([await orderOf(rich, '10.00')])).toEqual(['placed']);
    await lock.release();
    expect(await waiting).toMatchObject([{ outcome: 'placed' }]);
  });

  it('share a statement with those that come while one is under way; a lone one has its own', async () => {
    const placement = service.app.get(OrderPlacement);
    const order = await orderOf(rich, '1.00');
    const first = placement.place([order]);
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    expect(countPlacings()).toBe(1);
    await Promise.all([first, ...Array.from({ length: 20 }, () => placement.place([order]))]);
    expect(countPlacings()).toBe(2);
  });
});
