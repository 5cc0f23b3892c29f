import { outcomeOf } from './support/api-client';
import { eventually } from './support/built-service';
import { beforeClosing, forAllTests, forEachTest } from './support/fixtures';
import { checkNow, passSettlementDelay } from './support/settlement-delay';
import { startTestService, type TestUser } from './support/test-service';

describe('POST /proxies/buy', () => {
  // A thousand proxies would slow the audits of later files.
  const service = forAllTests(startTestService);
  const user = forEachTest(() => service.createUser({ balance: '1000.00' }));
  beforeClosing(() => service.audit({ withProvider: true }));
  afterEach(() => service.control.resetFaults());

  it('delivers the proxies and takes exactly the quoted price', async () => {
    const { data: quote } = await user.api.GET('/price', {
      params: { query: { count: 3, period: 30, version: '4' } },
    });
    const kind = { country: 'nl', version: '4', proxy_type: 'socks' } as const;
    const { data, response } = await user.buy({ ...kind, count: 3 });

    expect(response.status).toBe(200);
    expect(data).toMatchObject({
      order_id: expect.any(Number),
      price_charged: quote?.price_final,
      currency: 'RUB',
    });
    expect(data?.proxies).toHaveLength(3);
    for (const proxy of data?.proxies ?? []) {
      expect(proxy).toMatchObject({ ...kind, active: true, descr: null });
      expect(proxy.date_end).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    }
    const balance = await service.balanceOf(user);
    expect(Number(balance.available)).toBeCloseTo(1000 - Number(quote?.price_final), 2);
    expect([balance.held, (await user.api.GET('/proxies')).data]).toEqual(['0.00', data?.proxies]);
  });

  it('returns 1,000 proxies at once and stores them all', async () => {
    const rich = await service.createUser({ balance: '1000000.00' });
    await service.control.setStock('6', 'us', 1500);
    const { data } = await rich.buy({ country: 'us', period: 3, count: 1000 });
    expect(new Set(data?.proxies.map(({ id }) => id)).size).toBe(1000);
  });

  it('takes version 3 for IPv4 shared, and country codes in any case', async () => {
    const { data } = await user.buy({ country: 'RU', period: 7, version: '3' });
    expect(data?.proxies[0]).toMatchObject({ version: '4s', country: 'ru' });
  });

  it.each<[Parameters<TestUser['buy']>[0], string]>([
    [{ proxy_type: 'https' }, 'Unsupported proxy type'],
    [{ period: 2 }, 'Minimum rental period for IPv6 is 3 days'],
    [{ period: 6, version: '4' }, 'Minimum rental period for IPv4 is 7 days'],
    [{ period: 6, version: '4s' }, 'Minimum rental period for IPv4 shared is 7 days'],
    [{ period: 6, version: '3' }, 'Minimum rental period for IPv4 shared is 7 days'],
    [{ period: 4 }, 'Unsupported rental period'],
    [{ period: 3651 }, 'Unsupported rental period'],
    [{ country: 'xx' }, 'Country not available'],
    [{ period: 2, proxy_type: 'https' }, 'Unsupported proxy type'],
  ])('refuses %j with 400 and charges nothing', async (body, detail) => {
    expect(outcomeOf(await user.buy(body))).toEqual([400, { detail }]);
    expect(await service.balanceOf(user)).toEqual({ available: '1000.00', held: '0.00' });
  });

  it('refuses an order of more proxies than are in stock', async () => {
    await service.control.setStock('6', 'jp', 2);
    const { error } = await user.buy({ country: 'jp', count: 3 });
    expect(error).toEqual({ detail: 'Not enough proxies available' });
  });

  it('cancels the order when the provider has fewer in stock than its catalog said', async () => {
    await service.control.addFault({ method: 'buy', kind: 'error', errorId: 300 });
    expect(outcomeOf(await user.buy({ country: 'de' }))).toEqual([
      400,
      { detail: 'Not enough proxies available' },
    ]);
    expect(await service.balanceOf(user)).toEqual({ available: '1000.00', held: '0.00' });
  });

  it('refuses an order that the balance cannot pay, without a call to the provider', async () => {
    const poor = await service.createUser({ balance: '0.01' });
    await service.control.clearCalls();
    expect(outcomeOf(await poor.buy())).toEqual([400, { detail: 'Insufficient balance' }]);
    expect(await service.control.getCalls('buy')).toEqual([]);
  });

  it('delivers and charges what was listed when the provider lists fewer proxies than it sold', async () => {
    await service.control.addFault({ method: 'buy', kind: 'short-list', shortBy: 2 });
    const { data: quote } = await user.api.GET('/price', { params: { query: { count: 5, period: 30 } } });
    const { data } = await user.buy({ country: 'fr', count: 5 });
    expect(data?.proxies).toHaveLength(3);
    expect(Number(data?.price_charged)).toBeCloseTo(3 * Number(quote?.price_single), 2);
  });

  it('keeps a short delivery when the check that follows it is refused', async () => {
    await service.control.addFault({ method: 'buy', kind: 'short-list', shortBy: 1 });
    await service.control.addFault({ method: 'getproxy', kind: 'error', errorId: 100 });
    const { error } = await user.buy({ country: 'fr', count: 3 });
    expect(error).toEqual({ detail: expect.stringContaining('is being confirmed') });
    await passSettlementDelay(service);
    await eventually(async () => (await service.balanceOf(user)).held === '0.00');
    expect((await user.api.GET('/proxies')).data).toHaveLength(2);
  });

  it('keeps a short delivery when the first check gets a 429 and the next shows nothing', async () => {
    await service.control.addFault({ method: 'buy', kind: 'short-list', shortBy: 1, hiddenForMs: 60_000 });
    await service.control.addFault({ method: 'getproxy', kind: 'http-status', status: 429 });
    const { error } = await user.buy({ country: 'fr', count: 3 });
    expect(error).toEqual({ detail: expect.stringContaining('is being confirmed') });
    const hasShownNothing = async () => {
      const [order] = await service.dataSource.query<[{ since: Date | null }]>(
        'SELECT nothing_seen_since AS since FROM orders WHERE user_id = $1',
        [user.id],
      );
      return order.since !== null;
    };
    await eventually(hasShownNothing);
    await service.control.setClockOffset(60_000);
    await checkNow(service);
    await eventually(async () => !(await hasShownNothing()));
    await passSettlementDelay(service);
    await eventually(async () => (await service.balanceOf(user)).held === '0.00');
    expect((await user.api.GET('/proxies')).data).toHaveLength(2);
  });
});
