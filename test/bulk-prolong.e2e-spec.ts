import { PriceRulesService } from '../src/pricing';
import { RatePermits } from '../src/provider/rate-permits';
import { eventually } from './support/built-service';
import { beforeClosing, forAllTests, forEachTest } from './support/fixtures';
import { PriceLead } from './support/price-lead';
import { withPurchaseWait } from './support/purchase-wait';
import { passSettlementDelay } from './support/settlement-delay';
import { startTestService, type TestUser } from './support/test-service';

const DAY_MS = 24 * 3_600_000;

describe('POST /proxies/prolong', () => {
  // The provider loses a proxy.
  const service = forAllTests(startTestService);
  const user = forEachTest(() => service.createUser());
  beforeClosing(() => service.audit());
  afterEach(() => service.control.resetFaults());

  const prolong = (key: string | undefined, body: object) =>
    user.api.POST('/proxies/prolong', {
      params: { header: { ...(key !== undefined && { 'Idempotency-Key': key }) } as never },
      body: { period: 30, ...body } as never,
    });

  async function buy(order: { count?: number; version?: '4' | '6' } = {}, by: TestUser = user) {
    const { data, error } = await by.buy(order);
    if (!data) throw new Error(`nothing was bought: ${JSON.stringify(error)}`);
    return data.proxies;
  }
  const idsOf = (proxies: readonly { id: string }[]): string[] => proxies.map(({ id }) => id);

  async function price(): Promise<number> {
    const { data } = await user.api.GET('/price', { params: { query: { count: 1, period: 30 } } });
    return Number(data?.price_final);
  }

  async function setBalance(amount: number): Promise<void> {
    await service.dataSource.query(
      `INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta, reason)
       SELECT user_id, 'adjustment', $2::numeric - available, 0, 'test' FROM accounts WHERE user_id = $1`,
      [user.id, amount.toFixed(2)],
    );
  }

  async function executions(): Promise<Record<string, number>> {
    const rows = await service.dataSource.query<{ id: string; providerId: string }[]>(
      'SELECT id::text, provider_proxy_id AS "providerId" FROM proxies WHERE user_id = $1',
      [user.id],
    );
    const { prolongations } = await service.control.getState();
    const done = prolongations.flatMap(({ proxies }) => proxies.map(({ id }) => String(id)));
    return Object.fromEntries(
      rows.map(({ id, providerId }) => [id, done.filter((one) => one === providerId).length]),
    );
  }

  it('prolongs each proxy by an order of its own, listed by key, and replays the same body', async () => {
    const bought = await buy({ count: 3 });
    const [first, second, third] = idsOf(bought);
    const unit = await price();
    const before = await service.balanceOf(user);
    const body = { proxy_ids: [third, first, third, second, `0${first}`] };
    const { data, response } = await prolong('each', body);

    expect(response.status).toBe(200);
    expect(data?.proxies.map(({ proxy_id: id }) => id)).toEqual([third, first, second, `0${first}`]);
    for (const proxy of data?.proxies.slice(0, 3) ?? []) {
      const end = bought.find(({ id }) => id === proxy.proxy_id)?.date_end ?? '';
      expect(proxy).toMatchObject({ status: 'prolonged', order_id: expect.any(Number), detail: null });
      expect(Number(proxy.price_charged)).toBe(unit);
      expect(Date.parse(proxy.date_end ?? '')).toBe(Date.parse(end) + 30 * DAY_MS);
    }
    expect(data?.totals).toEqual({
      proxies: 4,
      prolonged: 3,
      being_confirmed: 0,
      refused: 0,
      unavailable: 0,
      not_found: 1,
      price_charged: (3 * unit).toFixed(2),
      currency: 'RUB',
    });
    const after = await service.balanceOf(user);
    expect(Number(before.available) - Number(after.available)).toBeCloseTo(3 * unit, 2);

    const listed = async (query: object) =>
      (await user.api.GET('/orders', { params: { query: query as never } })).data?.items;
    const orders = await listed({ key: 'each' });
    expect(orders?.map(({ proxy_id: id }) => id)).toEqual([second, first, third]);
    expect(await listed({ key: 'each', limit: 2 })).toEqual(orders?.slice(0, 2));
    expect(await listed({ key: 'each', kind: 'purchase' })).toEqual([]);

    expect((await prolong('again', { proxy_ids: [first] })).data?.totals.prolonged).toBe(1);
    expect(await listed({ key: 'each' })).toEqual(orders);
    const replay = await prolong('each', body);
    expect([replay.response.headers.get('Idempotency-Replayed'), replay.data]).toEqual(['true', data]);
    expect(await executions()).toEqual({ [first ?? '']: 2, [second ?? '']: 1, [third ?? '']: 1 });
  });

  it('prolongs the same proxies at each try, even if more match the filter', async () => {
    const bought = idsOf(await buy({ count: 2 }));
    const { data } = await prolong('filter', { filter: { version: '6' } });
    expect(data?.proxies.map(({ proxy_id: id }) => id)).toEqual(bought);
    const more = idsOf(await buy({ count: 2 }));
    expect((await prolong('filter', { filter: { version: '6' } })).data).toEqual(data);
    expect(await executions()).toEqual(
      Object.fromEntries([...bought.map((id) => [id, 1]), ...more.map((id) => [id, 0])]),
    );
  });

  it('reports for each proxy why it was not prolonged', async () => {
    const [shortest] = idsOf(await buy({ version: '4' }));
    const [good, withdrawn] = idsOf(await buy({ count: 2 }));
    const [foreign] = idsOf(await buy({}, await service.createUser()));
    await service.control.withdrawProxy(await service.providerIdOf(withdrawn));
    const { data } = await prolong('mixed', {
      proxy_ids: [foreign, shortest, 'abc', good, withdrawn],
      period: 3,
    });
    expect(data?.proxies.map(({ status, detail }) => [status, detail])).toEqual([
      ['not_found', 'Proxy not found'],
      ['refused', 'Minimum renewal period for IPv4 is 7 days'],
      ['not_found', 'Proxy not found'],
      ['prolonged', null],
      ['refused', 'Proxy can no longer be prolonged'],
    ]);
    expect(data?.totals).toMatchObject({ proxies: 5, prolonged: 1, refused: 2, not_found: 2 });
  });

  it('spends the balance on the first ones requested, and retries the others under the key', async () => {
    const ids = idsOf(await buy({ count: 4 })).toReversed();
    const unit = await price();
    await setBalance(2.5 * unit);
    const { data } = await prolong('funds', { proxy_ids: ids });
    expect(data?.proxies.map(({ proxy_id: id, status, detail }) => [id, status, detail])).toEqual([
      [ids[0], 'prolonged', null],
      [ids[1], 'prolonged', null],
      [ids[2], 'refused', 'Insufficient balance'],
      [ids[3], 'refused', 'Insufficient balance'],
    ]);
    await setBalance(10 * unit);
    const again = await prolong('funds', { proxy_ids: ids });
    expect(again.response.headers.get('Idempotency-Replayed')).toBeNull();
    expect(again.data?.totals).toMatchObject({ prolonged: 4, price_charged: (4 * unit).toFixed(2) });
    expect(again.data?.proxies.slice(0, 2)).toEqual(data?.proxies.slice(0, 2));
    expect(Object.values(await executions())).toEqual([1, 1, 1, 1]);
  });

  it('refuses what costs more than max_price with the present price, and leaves the key free', async () => {
    const ids = idsOf(await buy({ count: 2 }));
    const unit = await price();
    const [low, high] = [(2 * unit - 0.01).toFixed(2), (2 * unit).toFixed(2)];
    const before = await service.balanceOf(user);
    const { error, response } = await prolong('guard', { proxy_ids: ids, max_price: low });
    expect(response.status).toBe(409);
    expect(error).toMatchObject({ detail: `The price is ${high}, above the max_price of ${low}` });
    expect(await service.balanceOf(user)).toEqual(before);
    const { data } = await prolong('guard', { proxy_ids: ids, max_price: high });
    expect(data?.totals).toMatchObject({ prolonged: 2, price_charged: high });
  });

  it('never charges more than max_price in all, also when the price rises between the tries', async () => {
    const ids = idsOf(await buy({ count: 2 }));
    const unit = await price();
    await setBalance(unit);
    const body = { proxy_ids: ids, max_price: (2 * unit).toFixed(2) };
    expect((await prolong('rise', body)).data?.totals).toMatchObject({ prolonged: 1, refused: 1 });
    await setBalance(10 * unit);
    const lead = new PriceLead(service);
    await service.app
      .get(PriceRulesService)
      .add({ userId: user.id, markupPercent: '30' }, { by: 'anna', reason: 'test' }, undefined);
    await lead.applyChanges();
    const { data } = await prolong('rise', body);
    lead.restore();
    expect(data?.totals).toMatchObject({ prolonged: 1, refused: 1, price_charged: unit.toFixed(2) });
    expect(data?.proxies[1]?.detail).toMatch(/^The price is \S+, above the max_price of \S+$/);

    const [third, fourth] = ids;
    await prolong('room', { proxy_ids: [third, fourth], max_price: (4 * unit).toFixed(2) });
    const guards = await service.dataSource.query<{ guard: string }[]>(
      `SELECT max_price AS guard FROM orders WHERE user_id = $1 AND idempotency_key LIKE 'room %'`,
      [user.id],
    );
    expect(guards).toEqual([{ guard: (2 * unit).toFixed(2) }, { guard: (2 * unit).toFixed(2) }]);
  });

  it('refuses another request with the same key', async () => {
    const ids = idsOf(await buy({ count: 2 }));
    await prolong('reused', { proxy_ids: ids });
    for (const body of [
      { proxy_ids: ids.slice(1) },
      { proxy_ids: ids, period: 14 },
      { proxy_ids: ids, max_price: '1000.00' },
      { filter: {} },
    ]) {
      const { error, response } = await prolong('reused', body);
      expect(response.status).toBe(422);
      expect(error).toMatchObject({ detail: [{ type: 'idempotency_key_reused' }] });
    }
    await user.buy({}, 'bought');
    expect((await prolong('bought', { proxy_ids: ids })).response.status).toBe(422);
  });

  it('refuses a request without a valid key, or with a body that is none', async () => {
    for (const [key, body, type] of [
      [undefined, { proxy_ids: ['1'] }, 'missing'],
      ['a 1', { proxy_ids: ['1'] }, 'idempotency_key_invalid'],
      ['neither', {}, 'missing'],
      ['both', { proxy_ids: ['1'], filter: {} }, 'value_error'],
      ['unknown', { proxy_ids: ['1'], maxPrice: '1.00' }, 'extra_forbidden'],
      ['text', { proxy_ids: ['1'], period: '30' }, 'int_type'],
    ] as const) {
      const { error, response } = await prolong(key, body);
      expect([key, response.status, error]).toMatchObject([key, 422, { detail: [{ type }] }]);
    }
  });

  it('accepts a filter that matches nothing', async () => {
    const { data, response } = await prolong('nothing', { filter: {} });
    expect(response.status).toBe(200);
    expect(data).toMatchObject({ proxies: [], totals: { proxies: 0, price_charged: '0.00' } });
  });

  it('returns 409 while the first request is in progress, and goes on without its caller', async () => {
    const ids = idsOf(await buy({ count: 3 }));
    const gate = await service.control.addGate({ method: 'prolong', stage: 'received' });
    const caller = new AbortController();
    const first = user.api
      .POST('/proxies/prolong', {
        params: { header: { 'Idempotency-Key': 'twins' } },
        body: { proxy_ids: ids, period: 30 },
        signal: caller.signal,
      })
      .catch(() => 'hung up');
    await service.control.untilGateReached(gate);
    const second = await prolong('twins', { proxy_ids: ids });
    expect(second.response.status).toBe(409);
    expect(second.error).toMatchObject({ detail: 'A request with this Idempotency-Key is in progress' });
    caller.abort();
    expect(await first).toBe('hung up');
    await service.control.openGate(gate);
    const { data } = await eventually(async () => {
      const response = await prolong('twins', { proxy_ids: ids });
      return response.response.status === 200 && response;
    });
    expect([data?.totals.prolonged, Object.values(await executions())]).toEqual([3, [1, 1, 1]]);
  });

  it('charges each proxy once when many requests with the key come at once', async () => {
    const ids = idsOf(await buy({ count: 6 }));
    const twins = await Promise.all(Array.from({ length: 6 }, () => prolong('at-once', { proxy_ids: ids })));
    expect(twins.every(({ response }) => [200, 409].includes(response.status))).toBe(true);
    const { data } = await eventually(async () => {
      const response = await prolong('at-once', { proxy_ids: ids });
      return response.data?.totals.prolonged === 6 && response;
    });
    expect([data?.totals.prolonged, new Set(Object.values(await executions()))]).toEqual([6, new Set([1])]);
  });

  it('reports what is being confirmed, and the outcome to the next request', async () => {
    const ids = idsOf(await buy({ count: 2 }));
    await service.control.addFault({ method: 'prolong', kind: 'reset' });
    const { data } = await prolong('lost', { proxy_ids: ids });
    expect(data?.totals).toMatchObject({ being_confirmed: 2, price_charged: '0.00' });
    expect(data?.proxies[0]).toMatchObject({
      order_id: expect.any(Number),
      detail: `Service temporarily unavailable: order ${data?.proxies[0]?.order_id} is being confirmed`,
    });
    expect((await prolong('lost', { proxy_ids: ids })).data).toEqual(data);
    await passSettlementDelay(service);
    await service.untilSettled();
    expect((await prolong('lost', { proxy_ids: ids })).data?.totals).toMatchObject({ prolonged: 2 });
    expect(new Set(Object.values(await executions()))).toEqual(new Set([1]));
  });

  it('reports a proxy without a turn in PURCHASE_WAIT_MS, which the next request prolongs', async () => {
    // Each purchase is listed by its own call.
    for (let n = 0; n < 4; n += 1) await buy();
    const request = () => prolong('turns', { filter: {} });
    const permits = service.app.get(RatePermits);
    Object.assign(permits, { calls: 2 });
    const { data } = await withPurchaseWait(service, 300, request);
    Object.assign(permits, { calls: 0 });
    const late = data?.proxies.filter(({ status }) => status === 'unavailable') ?? [];
    expect(late.length).toBeGreaterThan(0);
    for (const { detail } of late) expect(detail).toBe('Service temporarily unavailable');
    await eventually(async () => (await request()).data?.totals.prolonged === 4);
    expect(Object.values(await executions())).toEqual([1, 1, 1, 1]);
  });
});
