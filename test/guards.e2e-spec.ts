import { createHash } from 'node:crypto';
import { PriceRulesService } from '../src/pricing';
import { RatePermits } from '../src/provider/rate-permits';
import { outcomeOf } from './support/api-client';
import { eventually } from './support/built-service';
import { beforeClosing, forAllTests, forEachTest } from './support/fixtures';
import { holdPermits } from './support/hold-permits';
import { PriceLead } from './support/price-lead';
import { startTestService } from './support/test-service';

const BY = { by: 'anna', reason: 'test' };

// Prices rise, and our balance at the provider falls.
const service = forAllTests(startTestService);
const user = forEachTest(() => service.createUser({ balance: '1000.00' }));
const priceLead = forAllTests(() => new PriceLead(service));
beforeClosing(() => service.audit({ withProvider: true }));
beforeEach(() => service.control.setPrice('6', 30, '20.90'));

const prolong = (proxyId: string, maxPrice: string) =>
  user.api.POST('/proxies/{proxy_id}/prolong', {
    params: { path: { proxy_id: proxyId } },
    body: { period: 30, max_price: maxPrice },
  });

const orders = (): Promise<object[]> =>
  service.dataSource.query(
    'SELECT hold_amount, captured, max_price FROM orders WHERE user_id = $1 ORDER BY id',
    [user.id],
  );

describe('the header Order-Guards', () => {
  const guardsOf = ({ response }: { response: Response }) => response.headers.get('Order-Guards');

  it('states the guards that were read, also when one of them refuses', async () => {
    const bought = await user.buy({ max_price: '60', allow_partial: false });
    expect(guardsOf(bought)).toBe('max_price=60.00, allow_partial=false');
    expect(guardsOf(await user.buy({ dry_run: true }))).toBe('dry_run=true');
    const refused = await prolong(bought.data?.proxies[0]?.id ?? '', '0.01');
    expect([refused.response.status, guardsOf(refused)]).toEqual([409, 'max_price=0.01']);
    // The specified body contains no code.
    expect(refused.response.headers.get('Order-Refusal')).toBe('price-above-max');
    expect(refused.error).toEqual({ detail: 'The price is 25.08, above the max_price of 0.01' });
  });

  it('is absent for a misspelt guard, which the specified body ignores', async () => {
    const bought = await user.buy({ max_prise: '0.01', dryrun: true } as object);
    expect([bought.response.status, guardsOf(bought)]).toEqual([200, null]);
  });
});

describe('max_price', () => {
  it('lets through what costs as much, and refuses with the present price what costs more', async () => {
    expect((await user.buy({ count: 3, max_price: '75.24' })).data).toMatchObject({ price_charged: '75.24' });
    expect(outcomeOf(await user.buy({ count: 3, max_price: '75.23' }))).toEqual([
      409,
      { detail: 'The price is 75.24, above the max_price of 75.23' },
    ]);
    expect(await orders()).toEqual([{ hold_amount: '75.24', captured: '75.24', max_price: '75.24' }]);
    expect(await service.balanceOf(user)).toEqual({ available: '924.76', held: '0.00' });
  });

  it('guards a prolongation', async () => {
    const proxyId = (await user.buy()).data?.proxies[0]?.id ?? '';
    expect(outcomeOf(await prolong(proxyId, '25.07'))).toEqual([
      409,
      { detail: 'The price is 25.08, above the max_price of 25.07' },
    ]);
    expect((await prolong(proxyId, '25.08')).data).toMatchObject({ price_charged: '25.08' });
  });

  it('is reported before a balance that is too small', async () => {
    const poor = await service.createUser({ balance: '10.00' });
    expect((await poor.buy({ max_price: '20' })).response.status).toBe(409);
    expect((await poor.buy({ max_price: '26' })).error).toEqual({ detail: 'Insufficient balance' });
  });

  it.each([
    ['0', 'greater_than'],
    ['-1', 'greater_than'],
    ['1.001', 'decimal_max_places'],
    ['1e3', 'decimal_parsing'],
    ['', 'decimal_parsing'],
    [true, 'decimal_type'],
  ])('refuses %j with 422', async (maxPrice, type) => {
    expect(outcomeOf(await user.buy({ max_price: maxPrice as string }))).toMatchObject([
      422,
      { detail: [{ type, loc: ['body', 'max_price'], input: maxPrice }] },
    ]);
  });

  it.each([25.08, '25.080', null])('reads %j', async (maxPrice) => {
    expect((await user.buy({ max_price: maxPrice as string })).response.status).toBe(200);
  });

  it('is no part of what a key stands for: with another one nothing is bought again', async () => {
    const first = await user.buy({}, 'k');
    for (const maxPrice of ['0.01', '100', '25.08']) {
      const replayed = await user.buy({ max_price: maxPrice }, 'k');
      expect(replayed.response.headers.get('Idempotency-Replayed')).toBe('true');
      expect(replayed.data).toEqual(first.data);
    }
    expect(await orders()).toEqual([{ hold_amount: '25.08', captured: '25.08', max_price: null }]);
  });

  it('leaves the keys of orders from before as they are: the hash knows no guard', async () => {
    await user.buy({}, 'plain');
    await user.buy({ max_price: '100', allow_partial: false }, 'guarded');
    const hashes = await service.dataSource.query<{ request_hash: Buffer }[]>(
      'SELECT request_hash FROM orders WHERE user_id = $1',
      [user.id],
    );
    const requested =
      '{"kind":"purchase","country":"ru","version":"6","period":30,"count":1,"proxyType":"http"}';
    const hash = createHash('sha256').update(requested).digest('hex');
    expect(hashes.map(({ request_hash: stored }) => stored.toString('hex'))).toEqual([hash, hash]);
  });

  it('leaves the key free when it refuses, so that a higher one can be tried with it', async () => {
    expect((await user.buy({ max_price: '25.07' }, 'k')).response.status).toBe(409);
    const bought = await user.buy({ max_price: '25.08' }, 'k');
    expect(bought.response.status).toBe(200);
    expect(bought.response.headers.get('Idempotency-Replayed')).toBeNull();
    expect((await user.buy({ max_price: '25.07' }, 'k')).data).toEqual(bought.data);
    expect(await orders()).toHaveLength(1);
  });

  it('is reported before an unavailable provider', async () => {
    await user.buy();
    await service.control.setBalance('10.00');
    try {
      // The first refusal for lack of funds comes from the provider.
      await user.buy();
      expect((await user.buy()).response.status).toBe(503);
      expect((await user.buy({ max_price: '25.07' })).response.status).toBe(409);
      expect((await user.buy({ max_price: '25.08' })).response.status).toBe(503);
    } finally {
      await service.control.setBalance('100000.00');
      await service.audit({ withProvider: true });
    }
  });

  it('holds the price of an order that waits in the queue while prices rise', async () => {
    // Without a rate limit, no order would wait.
    const permits = service.app.get(RatePermits);
    Object.assign(permits, { calls: 100 });
    const { order, raised } = await holdPermits(service.dataSource, async () => {
      const waiting = user.buy({ max_price: '25.08' });
      while ((await orders()).length === 0) await new Promise(setImmediate);
      const rule = await service.app.get(PriceRulesService).add({ userId: user.id, markupPercent: '50' }, BY);
      await priceLead.applyChanges();
      return { order: waiting, raised: rule };
    });
    Object.assign(permits, { calls: 0 });
    expect(raised.markupPercent).toBe('50.0000');
    expect((await order).data).toMatchObject({ price_charged: '25.08' });
    expect((await user.buy({ max_price: '25.08' })).error).toEqual({
      detail: 'The price is 31.35, above the max_price of 25.08',
    });
  });
});

describe('allow_partial: false', () => {
  const sold = async (): Promise<number> =>
    (await service.control.getState()).sales.filter(({ descr }) => descr.includes(`.u${user.id}.`)).length;

  const whole = (country: string, count: number) => user.buy({ country, count, allow_partial: false });

  afterEach(() => service.control.resetFaults());

  it('requests the stock itself, and refuses what is more before anything is ordered', async () => {
    await service.control.setStock('6', 'es', 10);
    // Makes the catalog's copy say 9.
    await user.buy({ country: 'es' });
    await service.control.setStock('6', 'es', 3);
    await service.control.clearCalls();
    expect(outcomeOf(await whole('es', 4))).toEqual([400, { detail: 'Not enough proxies available' }]);
    expect(await service.control.getCalls('buy')).toEqual([]);
    expect((await whole('es', 3)).data?.proxies).toHaveLength(3);
  });

  it('costs no call for a customer who cannot pay, and is refused in the usual order', async () => {
    const poor = await service.createUser({ balance: '0.00' });
    await service.control.setStock('6', 'fi', 10);
    await user.buy({ country: 'fi' });
    await service.control.clearCalls();
    const order = { country: 'fi', allow_partial: false };
    const detailOf = async (count: number) => outcomeOf(await poor.buy({ ...order, count }));
    expect(await detailOf(1)).toEqual([400, { detail: 'Insufficient balance' }]);
    expect(await detailOf(11)).toEqual([400, { detail: 'Not enough proxies available' }]);
    expect((await poor.buy({ ...order, count: 11, dry_run: true })).data).toMatchObject({
      refusals: [{ detail: 'Not enough proxies available' }, { detail: 'Insufficient balance' }],
    });
    expect(await service.control.getCalls('getcount')).toEqual([]);
  });

  it('is bought when the stock is larger again than its copy', async () => {
    await service.control.setStock('6', 'cz', 2);
    await user.buy({ country: 'cz' });
    await service.control.setStock('6', 'cz', 5);
    expect((await whole('cz', 4)).data?.proxies).toHaveLength(4);
  });

  it('reads one stock of a user at a time, after what is to be confirmed', async () => {
    const permits = service.app.get(RatePermits);
    const countries = ['ru', 'us', 'de'];
    for (const country of [...countries, 'nl']) await user.buy({ country });
    const other = await service.createUser();
    Object.assign(permits, { calls: 3 });
    const waiting = await holdPermits(service.dataSource, async () => {
      const placed = countries.map((country) => whole(country, 1));
      // Two requests for the stock of one country would share a call.
      placed.push(other.buy({ country: 'nl', allow_partial: false }));
      await eventually(() => permits.waitingCalls().price >= 2);
      return { placed, calls: permits.waitingCalls() };
    });
    Object.assign(permits, { calls: 0 });
    expect(waiting.calls).toMatchObject({ order: 0, confirmation: 0, price: 2 });
    const responses = await Promise.all(waiting.placed);
    expect(responses.map(({ response }) => response.status)).toEqual([200, 200, 200, 200]);
  });

  it('leaves to the orders that wait before it what they need', async () => {
    const other = await service.createUser();
    await service.control.setStock('6', 'pl', 5);
    const gate = await service.control.addGate({ method: 'buy', stage: 'received' });
    const before = other.buy({ country: 'pl', count: 4 });
    await service.control.untilGateReached(gate);
    expect((await whole('pl', 2)).error).toEqual({ detail: 'Not enough proxies available' });
    await service.control.openGate(gate);
    expect((await before).data?.proxies).toHaveLength(4);
    expect(await sold()).toBe(0);
  });

  it('is refused with 503 when the stock cannot be read', async () => {
    await user.buy();
    await service.control.addFault({ method: 'getcount', kind: 'http-status', status: 503, times: null });
    expect([(await whole('ru', 1)).response.status, await sold()]).toEqual([503, 1]);
  });

  it('leaves the customer what came of a short delivery, which the provider does not take back', async () => {
    await service.control.addFault({ method: 'buy', kind: 'short-list', shortBy: 1 });
    const { data } = await whole('ru', 3);
    expect(data?.proxies).toHaveLength(2);
    expect(data?.price_charged).toBe('50.16');
    expect(await service.balanceOf(user)).toEqual({ available: '949.84', held: '0.00' });
  });
});
