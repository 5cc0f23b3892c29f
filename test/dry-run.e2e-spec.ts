import { TokensService } from '../src/auth';
import { Money } from '../src/common';
import { eventually } from './support/built-service';
import { type DryRun, findTraces, postOrder, readDryRun } from './support/dry-runs';
import { beforeClosing, forAllTests, forEachTest } from './support/fixtures';
import { checkNow } from './support/settlement-delay';
import { startTestService } from './support/test-service';

// The tests search whole tables for traces, and change the balance.
const service = forAllTests(startTestService);
const user = forEachTest(() => service.createUser({ balance: '100.00' }));
beforeClosing(() => service.audit({ withProvider: true }));
beforeEach(() => service.control.setPrice('6', 30, '20.90'));
afterEach(() => service.control.resetFaults());

const BUY = '/proxies/buy';
const ORDER = { country: 'ru', period: 30 };

const post = (path: string, body: object, key?: string, token = user.token) =>
  postOrder(service.baseUrl, token, path, body, key);
const dryRun = async (path: string, body: object, key?: string, token?: string): Promise<DryRun> =>
  readDryRun(await post(path, { ...body, dry_run: true }, key, token));
const traces = () => findTraces(service);

async function buyOne(key?: string): Promise<string> {
  const { body } = await post(BUY, ORDER, key);
  return (body['proxies'] as [{ id: string }])[0].id;
}

describe('A dry run', () => {
  it('returns the price and what is left after it, and leaves no trace', async () => {
    const before = await traces();
    expect(await dryRun(BUY, { ...ORDER, count: 3 }, 'k')).toEqual({
      dry_run: true,
      order_id: null,
      price_single: '25.08',
      price_final: '75.24',
      currency: 'RUB',
      balance_available: '100.00',
      balance_after: '24.76',
      refusals: [],
    });
    expect(await traces()).toEqual(before);
    expect(await post(BUY, { ...ORDER, count: 3 }, 'k')).toMatchObject({
      status: 200,
      replayed: false,
      body: { price_charged: '75.24' },
    });
    expect(await service.balanceOf(user)).toEqual({ available: '24.76', held: '0.00' });
  });

  it('reports every refusal, in the order of the checks', async () => {
    const { text } = await service.app
      .get(TokensService)
      .issue({ userId: user.id, scopes: ['proxies:write'], dailyLimit: Money.parse('50.00') });
    await service.control.setStock('6', 'jp', 4);
    const order = { country: 'jp', period: 30, count: 5, max_price: '125.39' };
    expect(await dryRun(BUY, order, undefined, text)).toMatchObject({
      price_final: '125.40',
      balance_available: '100.00',
      balance_after: '100.00',
      refusals: [
        { status: 400, detail: 'Not enough proxies available' },
        { status: 409, detail: 'The price is 125.40, above the max_price of 125.39' },
        { status: 400, detail: 'Insufficient balance' },
        { status: 400, detail: 'Daily spending limit of the token exceeded' },
      ],
    });
  });

  it.each([
    [true, 'br'],
    [false, 'sg'],
  ])('and the order name the same first reason (allow_partial: %s)', async (partial, country) => {
    const { text } = await service.app
      .get(TokensService)
      .issue({ userId: user.id, scopes: ['proxies:write'], dailyLimit: Money.parse('50.00') });
    await service.control.setStock('6', country, 4);
    // Each request lacks the previous one's first reason.
    const faulty = { country: 'zz', period: 2, count: 5, proxy_type: 'ftp', max_price: '1' };
    const table: [string, object][] = [
      ['Unsupported proxy type', {}],
      ['Minimum rental period for IPv6 is 3 days', { proxy_type: 'http' }],
      ['Country not available', { period: 31 }],
      ['Not enough proxies available', { country }],
      ['Unsupported rental period', { count: 4 }],
      ['The price is 100.32, above the max_price of 1.00', { period: 30 }],
      ['Insufficient balance', { max_price: '100.32' }],
      ['Daily spending limit of the token exceeded', { count: 3 }],
    ];
    let body: object = { ...faulty, allow_partial: partial };
    for (const [at, [detail, cured]] of table.entries()) {
      body = { ...body, ...cured };
      const { refusals } = await dryRun(BUY, body, undefined, text);
      const order = await post(BUY, body, undefined, text);
      expect([at, refusals[0]?.detail, order.body['detail']]).toEqual([at, detail, detail]);
    }
    expect((await post(BUY, { ...body, count: 1 }, undefined, text)).status).toBe(200);
  });

  it.each<[object, number, string]>([
    [{ country: 'ru', period: 2 }, 400, 'Minimum rental period for IPv6 is 3 days'],
    [{ country: 'ru', period: 4 }, 400, 'Unsupported rental period'],
    [{ country: 'ru', period: 30, proxy_type: 'https' }, 400, 'Unsupported proxy type'],
  ])('of %j has no price, and says why', async (body, status, detail) => {
    expect(await dryRun(BUY, body)).toMatchObject({
      price_single: null,
      price_final: null,
      balance_available: '100.00',
      balance_after: '100.00',
      refusals: [{ status, detail }],
    });
  });

  it('of a prolongation reports whether it would be executed', async () => {
    const path = `/proxies/${await buyOne()}/prolong`;
    const before = await traces();
    expect(await dryRun(path, { period: 30 })).toMatchObject({
      price_final: '25.08',
      balance_available: '74.92',
      balance_after: '49.84',
      refusals: [],
    });
    expect((await dryRun('/proxies/999999/prolong', { period: 30 })).refusals).toEqual([
      { status: 404, detail: 'Proxy not found' },
    ]);
    const gate = await service.control.addGate({ method: 'prolong', stage: 'received' });
    const open = post(path, { period: 30 }, 'k');
    await service.control.untilGateReached(gate);
    expect((await dryRun(path, { period: 30, max_price: '1' })).refusals).toEqual([
      { status: 409, detail: 'A prolongation of this proxy is in progress' },
      { status: 409, detail: 'The price is 25.08, above the max_price of 1.00' },
    ]);
    expect((await dryRun(path, { period: 30 }, 'k')).refusals).toEqual([
      { status: 409, detail: 'A request with this Idempotency-Key is in progress' },
    ]);
    await service.control.openGate(gate);
    expect((await open).status).toBe(200);
    expect(await traces()).not.toEqual(before);
  });

  it('names the order that has the key, and that nothing would be charged', async () => {
    const { body } = await post(BUY, ORDER, 'k');
    expect(await dryRun(BUY, ORDER, 'k')).toEqual({
      dry_run: true,
      order_id: body['order_id'],
      price_single: null,
      price_final: null,
      currency: 'RUB',
      balance_available: '74.92',
      balance_after: '74.92',
      refusals: [],
    });
  });

  it('says that the order of its key is being confirmed', async () => {
    await service.control.addFault({ method: 'buy', kind: 'response-lost' });
    await service.control.addFault({ method: 'getproxy', kind: 'http-status', status: 500, times: null });
    const lost = await post(BUY, ORDER, 'k');
    expect(lost.status).toBe(503);
    const { refusals, order_id: orderId } = await dryRun(BUY, ORDER, 'k');
    expect(refusals).toEqual([{ status: 503, detail: lost.body['detail'] }]);
    expect(lost.body['detail']).toContain(`order ${orderId} `);
    await service.control.resetFaults();
    await checkNow(service);
    await service.untilSettled();
  });

  it.each<[object, string | undefined, unknown[]]>([
    [{ country: 'ru' }, undefined, ['body', 'period']],
    [{ ...ORDER, max_price: 'x' }, undefined, ['body', 'max_price']],
    [ORDER, 'two words', ['header', 'Idempotency-Key']],
    [{ ...ORDER, count: 2 }, 'used', ['header', 'Idempotency-Key']],
  ])('is refused with 422 as the order %j with the key %p would be', async (body, key, loc) => {
    await buyOne('used');
    const dry = await post(BUY, { ...body, dry_run: true }, key);
    expect(dry).toMatchObject({ status: 422, body: { detail: [{ loc }] } });
    const real = await post(BUY, body, key);
    expect(real.status).toBe(422);
    if (key !== undefined) expect(dry).toEqual(real);
  });

  it('needs the scope of an order', async () => {
    const { token } = await service.createUser({ scopes: ['proxies:read', 'price:read'] });
    expect((await post(BUY, { ...ORDER, dry_run: true }, undefined, token)).status).toBe(403);
  });

  it('says when our own balance at the provider does not cover the order', async () => {
    await service.control.setBalance('10.00');
    await eventually(async () => (await dryRun(BUY, ORDER)).refusals.length > 0 || buyOnce());
    const unavailable = { status: 503, detail: 'Service temporarily unavailable' };
    expect((await dryRun(BUY, ORDER)).refusals).toEqual([unavailable]);
    expect((await dryRun(BUY, { ...ORDER, max_price: '1' })).refusals).toEqual([
      { status: 409, detail: 'The price is 25.08, above the max_price of 1.00' },
      unavailable,
    ]);
    expect(await post(BUY, ORDER)).toMatchObject({ status: 503 });
    await service.control.setBalance('1000000.00');
    await service.audit({ withProvider: true });
  });

  /** Money calls return the provider's balance. */
  async function buyOnce(): Promise<boolean> {
    await post(BUY, ORDER);
    return false;
  }
});
