import { beforeClosing, forAllTests, forEachTest } from './support/fixtures';
import { leaveOrderOpen } from './support/open-order';
import { passSettlementDelay } from './support/settlement-delay';
import { sharedTestService } from './support/test-service';

const SECRETS = ['px6', 'prs.', 'provider', 'markup', 'tag', 'login', 'password', 'host'];

describe("A customer's orders", () => {
  const service = forAllTests(sharedTestService);
  const user = forEachTest(() => service.createUser());
  afterEach(() => service.control.resetFaults());
  beforeClosing(() => service.audit({ withProvider: true }));

  const buy = (key?: string, count = 1) =>
    user.api.POST('/proxies/buy', {
      body: { country: 'ru', period: 30, count, max_price: `${30 * count}.00` },
      headers: { 'X-Request-Id': `request of ${key}`, ...(key !== undefined && { 'Idempotency-Key': key }) },
    });
  const list = async (query: Record<string, string | number> = {}) =>
    (await user.api.GET('/orders', { params: { query: query as never } })).data?.items ?? [];
  const read = async (orderId: string | number) =>
    (await user.api.GET('/orders/{order_id}', { params: { path: { order_id: String(orderId) } } })).data;
  const statusOf = (path: string, token = user.token) =>
    fetch(service.baseUrl + path, { headers: { Authorization: `Bearer ${token}` } }).then(
      async (response) => [response.status, (await response.json()) as { detail: unknown }] as const,
    );

  it('show the request, the cost and the delivery', async () => {
    const { data } = await buy('first', 2);
    const [order] = await list();
    expect(order).toEqual({
      id: data?.order_id,
      kind: 'purchase',
      state: 'completed',
      country: 'ru',
      version: '6',
      period: 30,
      count: 2,
      proxy_type: 'http',
      proxy_id: null,
      delivered: 2,
      unit_price: '25.08',
      price: '50.16',
      max_price: '60.00',
      held: '0.00',
      charged: '50.16',
      released: '0.00',
      refunded: '0.00',
      currency: 'RUB',
      reason: null,
      idempotency_key: 'first',
      request_id: 'request of first',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      closed_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
    const proxies = data?.proxies.map(({ id }) => id);
    expect(await read(data?.order_id ?? 0)).toEqual({ ...order, proxies });
  });

  it('show a prolongation with its proxy', async () => {
    const proxyId = (await buy()).data?.proxies[0]?.id ?? '';
    const { data } = await user.prolong(proxyId);
    expect(await read(data?.order_id ?? 0)).toMatchObject({
      kind: 'prolongation',
      state: 'completed',
      proxy_id: proxyId,
      delivered: 1,
      charged: data?.price_charged,
      proxies: [proxyId],
      idempotency_key: null,
    });
  });

  it('show a partial delivery, and why nothing was delivered', async () => {
    await service.control.addFault({ method: 'buy', kind: 'short-list' });
    expect(await read((await buy(undefined, 3)).data?.order_id ?? 0)).toMatchObject({
      state: 'partial',
      count: 3,
      delivered: 2,
      price: '75.24',
      held: '0.00',
      charged: '50.16',
      released: '25.08',
      reason: null,
    });
    await service.control.addFault({ method: 'buy', kind: 'error', errorId: 300 });
    const { error } = await buy();
    const [canceled] = await list({ state: 'canceled' });
    expect(canceled).toMatchObject({ state: 'canceled', charged: '0.00', reason: error?.detail });
    expect(await read(canceled?.id ?? 0)).toMatchObject({ delivered: 0, proxies: [] });
  });

  it('are open while they wait, and being confirmed while their outcome is unknown', async () => {
    const gate = await service.control.addGate({ method: 'buy', stage: 'received' });
    const response = buy('waits');
    await service.control.untilGateReached(gate);
    expect(await list({ state: 'open' })).toMatchObject([
      { state: 'open', held: '25.08', charged: '0.00', closed_at: null, idempotency_key: 'waits' },
    ]);
    await service.control.openGate(gate);
    await response;
    await leaveOrderOpen(service, user);
    const [unknown] = await list({ state: 'being_confirmed' });
    expect(unknown).toMatchObject({ state: 'being_confirmed', held: '25.08', released: '0.00' });
    await service.control.resetFaults();
    await passSettlementDelay(service);
    await service.untilSettled();
    expect(await read(unknown?.id ?? 0)).toMatchObject({ state: 'completed', held: '0.00' });
  });

  it('do not show where the proxies come from', async () => {
    const { data } = await buy();
    const text = JSON.stringify([await list(), await read(data?.order_id ?? 0)]);
    for (const secret of SECRETS) expect(text).not.toContain(secret);
    const [row] = await service.dataSource.query(
      'SELECT provider_order_id, provider_price FROM orders WHERE id = $1',
      [data?.order_id],
    );
    for (const value of Object.values(row)) expect(text).not.toContain(String(value));
  });

  it.each(['0', '-1', '1.0', 'last', '9007199254740993', '1'.repeat(400), '%00', '١'])(
    'are not found by an unknown id or no id: %s',
    async (id) => {
      expect(await statusOf(`/orders/${id}`)).toMatchObject([404, { detail: 'Order not found' }]);
    },
  );

  it('are not found by another customer', async () => {
    const { data } = await buy();
    const other = await service.createUser();
    const expected = [404, { detail: 'Order not found' }];
    expect(await statusOf(`/orders/${data?.order_id}`, other.token)).toMatchObject(expected);
    expect(await statusOf(`/orders/${data?.order_id}?wait=30`, other.token)).toMatchObject(expected);
    expect(await statusOf('/orders', other.token)).toEqual([200, { items: [], next_cursor: null }]);
  });

  it('need the scope proxies:read', async () => {
    const { token } = await service.createUser({ scopes: ['proxies:write', 'proxies:export'] });
    for (const path of ['/orders', '/orders/1']) expect((await statusOf(path, token))[0]).toBe(403);
  });

  it('are filtered by state, kind, time and key', async () => {
    await user.prolong((await buy('a')).data?.proxies[0]?.id ?? '');
    await service.control.addFault({ method: 'buy', kind: 'error', errorId: 300 });
    await buy('b');
    await buy('b');
    const all = await list();
    expect(all.map(({ state, kind }) => `${kind} ${state}`)).toEqual([
      'purchase completed',
      'purchase canceled',
      'prolongation completed',
      'purchase completed',
    ]);
    const ids = all.map(({ id }) => id);
    const idsOf = async (query: Record<string, string>) =>
      (await list(query)).map(({ id }) => ids.indexOf(id));
    expect([await idsOf({ state: 'completed' }), await idsOf({ state: 'partial' })]).toEqual([[0, 2, 3], []]);
    expect(await idsOf({ kind: 'prolongation' })).toEqual([2]);
    expect(await idsOf({ kind: 'purchase', state: 'completed' })).toEqual([0, 3]);
    expect([await idsOf({ key: 'b' }), await idsOf({ key: 'b', state: 'canceled' })]).toEqual([[0, 1], [1]]);
    expect([await idsOf({ key: 'b', kind: 'prolongation' }), await idsOf({ key: 'c' })]).toEqual([[], []]);
    const { created_at: time = '' } = all[2] ?? {};
    expect([await idsOf({ from: time }), await idsOf({ to: time })]).toEqual([[0, 1, 2], [3]]);
    expect(await idsOf({ from: time, to: all[0]?.created_at ?? '' })).toEqual([1, 2]);
    expect(await idsOf({ sort: 'oldest' })).toEqual([3, 2, 1, 0]);
    expect(await idsOf({ sort: 'oldest', key: 'b' })).toEqual([1, 0]);
    expect(await idsOf({ sort: 'oldest', cursor: String(ids[2]) })).toEqual([1, 0]);
  });

  it('are found by their times also when these do not follow their ids', async () => {
    for (const key of ['a', 'b', 'c']) await buy(key);
    const ids = (await list()).map(({ id }) => id);
    // The second order's statement began first, and waited for the account.
    const times = ['2026-03-01T12:00:30Z', '2026-03-01T12:00:01Z', '2026-03-01T12:00:40Z'];
    for (const [n, time] of times.entries()) {
      await service.owner.query('UPDATE orders SET created_at = $1 WHERE id = $2', [time, ids[2 - n]]);
    }
    const keysOf = async (query: Record<string, string>) =>
      (await list(query)).map(({ idempotency_key: key }) => key).join('');
    expect(await keysOf({ from: '2026-03-01T12:00:10Z' })).toBe('ca');
    expect(await keysOf({ to: '2026-03-01T12:00:10Z' })).toBe('b');
    expect(await keysOf({ from: '2026-03-01T12:00:01Z', to: '2026-03-01T12:00:40Z' })).toBe('ba');
  });

  it('are refused in the specified form when a parameter is wrong', async () => {
    for (const query of [
      'state=review',
      'kind=refund',
      'limit=201',
      'limit=0',
      'cursor=0',
      'key=%20',
      'page=2',
    ]) {
      const [status, body] = await statusOf(`/orders?${query}`);
      const [name] = query.split('=');
      expect([query, status]).toEqual([query, 422]);
      expect(body.detail).toEqual([expect.objectContaining({ loc: ['query', name] })]);
    }
    for (const wait of ['-1', '31', 'long', '1.5']) {
      expect([wait, (await statusOf(`/orders/1?wait=${wait}`))[0]]).toEqual([wait, 422]);
    }
    const period = 'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z';
    expect(await statusOf(`/orders?${period}`)).toMatchObject([
      400,
      { detail: 'The period must end after it begins' },
    ]);
  });
});
