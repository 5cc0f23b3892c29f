import type { components } from '../clients/typescript/src/api-types';
import { eventually } from './support/built-service';
import { beforeClosing, forAllTests } from './support/fixtures';
import { checkNow, passQuietTime } from './support/quiet-time';
import { startTestService, type TestUser } from './support/test-service';

type PurchaseRequest = components['schemas']['PurchaseRequest'];

describe('POST /proxies/buy', () => {
  // The thousand proxies would make the audits of later files slow.
  const service = forAllTests(startTestService);
  beforeClosing(() => service.audit({ withProvider: true }));
  afterEach(() => service.control.resetFaults());

  const buy = (user: TestUser, body: PurchaseRequest) => user.buy(body);

  it('delivers the proxies and takes exactly the quoted price', async () => {
    const user = await service.createUser({ balance: '1000.00' });
    const { data: quote } = await user.api.GET('/price', {
      params: { query: { count: 3, period: 30, version: '4' } },
    });

    const { data, response } = await buy(user, {
      country: 'nl',
      period: 30,
      count: 3,
      version: '4',
      proxy_type: 'socks',
    });

    expect(response.status).toBe(200);
    expect(data).toMatchObject({
      order_id: expect.any(Number),
      price_charged: quote?.price_final,
      currency: 'RUB',
    });
    expect(data?.proxies).toHaveLength(3);
    for (const proxy of data?.proxies ?? []) {
      expect(proxy).toMatchObject({
        country: 'nl',
        version: '4',
        proxy_type: 'socks',
        active: true,
        descr: null,
      });
      expect(proxy.date_end).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    }
    const balance = await service.balanceOf(user);
    expect(Number(balance.available)).toBeCloseTo(1000 - Number(quote?.price_final), 2);
    expect(balance.held).toBe('0.00');
    const { data: listed } = await user.api.GET('/proxies');
    expect(listed).toEqual(data?.proxies);
  });

  it('returns 1,000 proxies at once and stores them all', async () => {
    const user = await service.createUser({ balance: '1000000.00' });
    await service.control.setStock('6', 'us', 1500);
    const { data } = await buy(user, { country: 'us', period: 3, count: 1000 });
    expect(new Set(data?.proxies.map(({ id }) => id)).size).toBe(1000);
  });

  it('takes version 3 for IPv4 shared, and country codes in any case', async () => {
    const user = await service.createUser();
    const { data } = await buy(user, { country: 'RU', period: 7, version: '3' });
    expect(data?.proxies[0]).toMatchObject({ version: '4s', country: 'ru' });
  });

  it.each<[Parameters<typeof buy>[1], string]>([
    [{ country: 'ru', period: 30, proxy_type: 'https' }, 'Unsupported proxy type'],
    [{ country: 'ru', period: 2 }, 'Minimum rental period for IPv6 is 3 days'],
    [{ country: 'ru', period: 6, version: '4' }, 'Minimum rental period for IPv4 is 7 days'],
    [{ country: 'ru', period: 6, version: '4s' }, 'Minimum rental period for IPv4 shared is 7 days'],
    [{ country: 'ru', period: 6, version: '3' }, 'Minimum rental period for IPv4 shared is 7 days'],
    [{ country: 'ru', period: 4 }, 'Unsupported rental period'],
    [{ country: 'ru', period: 3651 }, 'Unsupported rental period'],
    [{ country: 'xx', period: 30 }, 'Country not available'],
    [{ country: 'ru', period: 2, proxy_type: 'https' }, 'Unsupported proxy type'],
  ])('refuses %j with 400 and charges nothing', async (body, detail) => {
    const user = await service.createUser({ balance: '500.00' });
    const { error, response } = await buy(user, body);
    expect(response.status).toBe(400);
    expect(error).toEqual({ detail });
    expect(await service.balanceOf(user)).toEqual({ available: '500.00', held: '0.00' });
  });

  it('refuses an order of more proxies than are in stock', async () => {
    const user = await service.createUser();
    await service.control.setStock('6', 'jp', 2);
    const { error } = await buy(user, { country: 'jp', period: 30, count: 3 });
    expect(error).toEqual({ detail: 'Not enough proxies available' });
  });

  it('refunds the order when the provider has fewer in stock than its catalog said', async () => {
    const user = await service.createUser({ balance: '500.00' });
    await service.control.addFault({ method: 'buy', kind: 'error', errorId: 300 });
    const { error, response } = await buy(user, { country: 'de', period: 30 });
    expect(response.status).toBe(400);
    expect(error).toEqual({ detail: 'Not enough proxies available' });
    expect(await service.balanceOf(user)).toEqual({ available: '500.00', held: '0.00' });
  });

  it('refuses an order that the balance cannot pay, without a call to the provider', async () => {
    const user = await service.createUser({ balance: '0.01' });
    await service.control.clearCalls();
    const { error, response } = await buy(user, { country: 'ru', period: 30 });
    expect(response.status).toBe(400);
    expect(error).toEqual({ detail: 'Insufficient balance' });
    expect(await service.control.getCalls('buy')).toEqual([]);
  });

  it('delivers and charges what was listed when the provider lists fewer proxies than it sold', async () => {
    const user = await service.createUser({ balance: '1000.00' });
    await service.control.addFault({ method: 'buy', kind: 'short-list', shortBy: 2 });
    const { data: quote } = await user.api.GET('/price', { params: { query: { count: 5, period: 30 } } });
    const { data } = await buy(user, { country: 'fr', period: 30, count: 5 });
    expect(data?.proxies).toHaveLength(3);
    expect(Number(data?.price_charged)).toBeCloseTo(3 * Number(quote?.price_single), 2);
  });

  it('keeps a short delivery when the check that follows it is refused', async () => {
    const user = await service.createUser({ balance: '1000.00' });
    await service.control.addFault({ method: 'buy', kind: 'short-list', shortBy: 1 });
    await service.control.addFault({ method: 'getproxy', kind: 'error', errorId: 100 });
    const { error } = await buy(user, { country: 'fr', period: 30, count: 3 });
    expect(error).toEqual({ detail: expect.stringContaining('is being confirmed') });
    await passQuietTime(service);
    await eventually(async () => (await service.balanceOf(user)).held === '0.00');
    const { data: proxies } = await user.api.GET('/proxies');
    expect(proxies).toHaveLength(2);
  });

  it('keeps a short delivery when the first check gets a 429 and the next shows nothing', async () => {
    const user = await service.createUser({ balance: '1000.00' });
    await service.control.addFault({ method: 'buy', kind: 'short-list', shortBy: 1, hiddenForMs: 60_000 });
    await service.control.addFault({ method: 'getproxy', kind: 'http-status', status: 429 });
    const { error } = await buy(user, { country: 'fr', period: 30, count: 3 });
    expect(error).toEqual({ detail: expect.stringContaining('is being confirmed') });
    const hasShownNothing = async () => {
      const [order] = await service.dataSource.query<[{ since: Date | null }]>(
        'SELECT nothing_seen_since AS since FROM orders WHERE user_id = $1',
        [user.id],
      );
      return order.since !== null;
    };
    await eventually(hasShownNothing);
    // It is listed from now on.
    await service.control.setClockOffset(60_000);
    await checkNow(service);
    await eventually(async () => !(await hasShownNothing()));
    await passQuietTime(service);
    await eventually(async () => (await service.balanceOf(user)).held === '0.00');
    const { data: proxies } = await user.api.GET('/proxies');
    expect(proxies).toHaveLength(2);
  });
});
