import { OrderQueries } from '../src/orders/order-queries';
import { beforeClosing, forAllTests } from './support/fixtures';
import { passSettlementDelay } from './support/settlement-delay';
import { sharedTestService, type TestUser } from './support/test-service';

const DAY_MS = 24 * 3_600_000;

describe('POST /proxies/{proxy_id}/prolong', () => {
  const service = forAllTests(sharedTestService);
  beforeClosing(() => service.audit({ withProvider: true }));
  afterEach(() => service.control.resetFaults());

  async function buyOne(user: TestUser, order: { version?: '4' | '4s' | '6' } = {}) {
    const proxy = (await user.buy(order)).data?.proxies[0];
    if (!proxy) throw new Error('nothing was bought');
    return proxy;
  }

  it('moves the end as the provider says and takes the price of one proxy', async () => {
    const user = await service.createUser({ balance: '1000.00' });
    const bought = await buyOne(user);
    const before = await service.balanceOf(user);
    const { data: quote } = await user.api.GET('/price', { params: { query: { count: 1, period: 14 } } });
    const price_charged = quote?.price_final;
    const { data, response } = await user.prolong(bought.id, { period: 14 });

    expect(response.status).toBe(200);
    expect(data).toMatchObject({ order_id: expect.any(Number), price_charged, currency: 'RUB' });
    expect(Date.parse(data?.proxy.date_end ?? '')).toBe(Date.parse(bought.date_end ?? '') + 14 * DAY_MS);
    expect({ ...data?.proxy, date_end: null }).toEqual({ ...bought, date_end: null });
    const after = await service.balanceOf(user);
    expect(Number(before.available) - Number(after.available)).toBeCloseTo(Number(price_charged), 2);
    expect((await user.api.GET('/proxies')).data).toEqual([data?.proxy]);
  });

  it.each<['4' | '4s' | '6', number, string]>([
    ['6', 2, 'Minimum renewal period for IPv6 is 3 days'],
    ['4', 6, 'Minimum renewal period for IPv4 is 7 days'],
    ['4s', 6, 'Minimum renewal period for IPv4 shared is 7 days'],
    ['6', 4, 'Unsupported rental period'],
    ['6', 99_999, 'Unsupported rental period'],
  ])('refuses a proxy of version %s for %i days with: %s', async (version, period, detail) => {
    const user = await service.createUser();
    const { id } = await buyOne(user, { version });
    const before = await service.balanceOf(user);
    const { error, response } = await user.prolong(id, { period });
    expect([response.status, error]).toEqual([400, { detail }]);
    expect(await service.balanceOf(user)).toEqual(before);
  });

  it.each(['999999999', '0', '-1', 'abc', '1e3', '%20', '99999999999999999999'])(
    'does not know the proxy %s',
    async (proxyId) => {
      const user = await service.createUser();
      const { error, response } = await user.prolong(proxyId);
      expect([response.status, error]).toEqual([404, { detail: 'Proxy not found' }]);
    },
  );

  it("returns 404 for another user's proxy", async () => {
    const { id } = await buyOne(await service.createUser());
    expect((await (await service.createUser()).prolong(id)).response.status).toBe(404);
  });

  it('refuses an order that the balance cannot pay', async () => {
    const owner = await service.createUser({ balance: '30.00' });
    const { error, response } = await owner.prolong((await buyOne(owner)).id);
    expect([response.status, error]).toEqual([400, { detail: 'Insufficient balance' }]);
  });

  it('refuses a proxy that the provider no longer has', async () => {
    const user = await service.createUser();
    const { id } = await buyOne(user);
    const before = await service.balanceOf(user);
    await service.control.withdrawProxy(await service.providerIdOf(id));
    const { error, response } = await user.prolong(id);
    expect([response.status, error]).toEqual([400, { detail: 'Proxy can no longer be prolonged' }]);
    expect(await service.balanceOf(user)).toEqual(before);
    // As after two sweeps. Otherwise another file's audit would miss the proxy at the provider.
    await service.dataSource.query('UPDATE proxies SET withdrawn_at = now(), absences = 2 WHERE id = $1', [
      id,
    ]);
  });

  it('prolongs an expired proxy from the moment that the provider chooses', async () => {
    const user = await service.createUser();
    const { id } = await buyOne(user);
    const anHourAgo = Math.floor(Date.now() / 1000) - 3600;
    await service.control.changeProxy(await service.providerIdOf(id), { unixtimeEnd: anHourAgo });
    await service.dataSource.query('UPDATE proxies SET date_end = to_timestamp($2) WHERE id = $1', [
      id,
      anHourAgo,
    ]);
    const { data } = await user.prolong(id, { period: 3 });
    expect(Date.parse(data?.proxy.date_end ?? '')).toBeGreaterThan(Date.now() + 2 * DAY_MS);
    expect(data?.proxy.active).toBe(true);
  });

  it('charges once when a second prolongation is lost while the listing lags behind the first', async () => {
    const user = await service.createUser();
    const { id } = await buyOne(user);
    const before = await service.balanceOf(user);
    await service.control.addFault({ method: 'prolong', kind: 'late-listing', hiddenForMs: 800 });
    const first = await user.prolong(id);
    await service.control.addFault({ method: 'prolong', kind: 'reset' });
    expect([first.response.status, (await user.prolong(id)).response.status]).toEqual([200, 503]);
    await passSettlementDelay(service);
    await service.untilSettled();
    const orders = await service.dataSource.query(
      'SELECT state FROM orders WHERE proxy_id = $1 ORDER BY id',
      [id],
    );
    expect(orders).toEqual([{ state: 'completed' }, { state: 'canceled' }]);
    const after = await service.balanceOf(user);
    const price = Number(first.data?.price_charged);
    expect(Number(before.available) - Number(after.available)).toBeCloseTo(price, 2);
    expect((await user.api.GET('/proxies')).data).toMatchObject([{ date_end: first.data?.proxy.date_end }]);
  });

  it('charges for the late effect of a canceled order, and sends no other', async () => {
    const user = await service.createUser();
    const { id, date_end: end } = await buyOne(user);
    await service.control.clearCalls();
    await service.control.addFault({ method: 'prolong', kind: 'reset' });
    expect((await user.prolong(id)).response.status).toBe(503);
    await passSettlementDelay(service);
    await service.untilSettled();
    const unixtimeEnd = Math.floor(Date.parse(end ?? '') / 1000) + 30 * 86_400;
    await service.control.changeProxy(await service.providerIdOf(id), { unixtimeEnd });
    const beforeCall = await service.control.addGate({ method: 'getproxy', stage: 'received' });
    const prolonged = user.prolong(id);
    await service.control.untilGateReached(beforeCall);
    const search = await service.control.addGate({ method: 'getproxy', stage: 'received' });
    await service.control.openGate(beforeCall);
    await service.control.untilGateReached(search);
    // The response waits for the search even if the order is read first, as happens each second.
    const [order] = await service.owner.query(
      'SELECT max(id)::integer AS id FROM orders WHERE proxy_id = $1',
      [id],
    );
    await service.app.get(OrderQueries).awaited.look([order.id]);
    await service.control.openGate(search);
    expect(Date.parse((await prolonged).data?.proxy.date_end ?? '') / 1000).toBe(unixtimeEnd);
    expect(await service.control.getCalls('prolong')).toHaveLength(1);
    expect(await service.balanceOf(user)).toMatchObject({ held: '0.00' });
  });

  it('allows one prolongation of a proxy at a time', async () => {
    const user = await service.createUser();
    const { id } = await buyOne(user);
    const gate = await service.control.addGate({ method: 'prolong', stage: 'received' });
    const first = user.prolong(id);
    await service.control.untilGateReached(gate);
    const second = await user.prolong(id);
    await service.control.openGate(gate);
    expect(second.response.status).toBe(409);
    expect(second.error).toEqual({ detail: 'A prolongation of this proxy is in progress' });
    expect((await first).response.status).toBe(200);
  });
});
