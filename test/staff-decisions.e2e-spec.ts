import { ALL_STAFF_SCOPES } from '../src/auth';
import type { Page } from '../src/http';
import { ForgottenOrderRecords, REFERENCE_PREFIX_SQL } from '../src/orders';
import type { FaultSpec } from '../src/sandbox';
import type { StaffOrderOut } from '../src/staff/orders/staff-orders.dto';
import type { FoundProlongationOut, UnmatchedProxyOut } from '../src/sync';
import { refusalsOf, withFullDisk } from './support/audit-log';
import { eventually } from './support/built-service';
import { beforeClosing, forAllTests, forEachTest } from './support/fixtures';
import { queueTogether } from './support/hold-permits';
import { createStaff, type Json, type Staff } from './support/staff';
import { lockRow, untilWaiting } from './support/table-lock';
import { startTestService, type TestUser } from './support/test-service';
import { WireClient } from './support/wire-client';

type Order = Json<StaffOrderOut>;
type UnmatchedProxy = Json<UnmatchedProxyOut>;
type Discrepancy = Json<FoundProlongationOut>;

const ascending = (one: number, other: number): number => one - other;
const PRICE = '25.08';
const REASON = { reason: 'test' };

// All open orders go into review, and sweeps read all proxies.
// With a rate limit, orders form batches in the queue.
const service = forAllTests(() => startTestService({ environment: { PROVIDER_RATE_PER_SECOND: '100' } }));
const staff = forAllTests(() => createStaff(service));
const user = forEachTest(() => service.createUser({ balance: '1000.00' }));
afterEach(() => service.control.resetFaults());
beforeClosing(() => service.audit({ withProvider: true }));

const buy = async (buyer = user, count = 1): Promise<number> =>
  (await buyer.buy({ count })).data?.order_id ?? 0;
const proxiesOf = async (owner = user) => (await owner.api.GET('/proxies')).data ?? [];

const orderOf = async (id: number): Promise<Order> =>
  (await service.dataSource.query<Order[]>('SELECT * FROM orders WHERE id = $1', [id]))[0] as Order;

const linesOf = (action: string, id: number) =>
  service.dataSource.query<Record<string, unknown>[]>(
    `SELECT reason, before, after FROM audit_log WHERE action = $1 AND target_id = $2
       AND after IS NOT NULL ORDER BY id`,
    [action, String(id)],
  );

const openOrders = async (): Promise<Order[]> =>
  service.dataSource.query(
    `SELECT * FROM orders WHERE state IN ('submitting', 'confirming', 'review') ORDER BY id`,
  );

async function untilInReview(work: () => Promise<unknown>, fault: FaultSpec): Promise<Order[]> {
  await service.control.addFault(fault);
  const gate = await service.control.addGate({ method: fault.method ?? '', stage: 'received' });
  const done = work();
  await service.control.untilGateReached(gate);
  await service.control.addFault({ method: 'getproxy', kind: 'http-status', status: 500, times: null });
  await service.control.openGate(gate);
  await done;
  await service.dataSource.query(
    `UPDATE orders SET sent_before = now() - interval '1 day', next_search_at = now()
       WHERE state IN ('submitting', 'confirming')`,
  );
  await eventually(async () => (await openOrders()).every(({ state }) => state === 'review'));
  await service.control.resetFaults();
  return openOrders();
}

const BOUGHT_UNSEEN: FaultSpec = { method: 'buy', kind: 'response-lost' };
const NOT_BOUGHT: FaultSpec = { method: 'buy', kind: 'http-status', status: 502 };
const OWN_ACCOUNT = { detail: 'Staff cannot do this for their own account: ask a colleague' };

async function createBuyingStaff(): Promise<{ colleague: Staff; buyer: TestUser }> {
  const buyer = await service.createUser({ balance: '1000.00' });
  return { buyer, colleague: await createStaff(service, ALL_STAFF_SCOPES, buyer.id) };
}

const decide = (id: number, decision: string, who = staff) =>
  who.post<Order & { detail?: unknown }>(`/staff/orders/${id}/decide`, { decision, ...REASON });

const wire = () => new WireClient(service.sandbox.baseUrl, service.sandbox.apiKey);
const findUnmatchedProxies = async (query: string): Promise<readonly UnmatchedProxy[]> =>
  (await staff.get<Page<UnmatchedProxy>>(`/staff/unmatched-proxies?${query}`)).body.items;
const mark = (unmatchedProxy: UnmatchedProxy | undefined, state: string) =>
  staff.post<UnmatchedProxy>(`/staff/unmatched-proxies/${unmatchedProxy?.id}/mark`, { state, ...REASON });

describe('An order in review', () => {
  it('is delivered with what the provider has of it, and charged, but not by who placed it', async () => {
    const { colleague, buyer } = await createBuyingStaff();
    const id = (await untilInReview(() => buy(buyer, 2), BOUGHT_UNSEEN))[0]?.id ?? 0;
    const { body: detail } = await staff.get<Order>(`/staff/orders/${id}`);
    expect(detail.review_reason).toMatch(/^It is unknown whether the provider executed the order: \w/);
    expect(detail.next_steps).toContainEqual(
      expect.stringContaining(`POST /staff/orders/${id}/decide with the decision "deliver"`),
    );
    for (const decision of ['deliver', 'cancel']) {
      const { status, body } = await decide(id, decision, colleague);
      expect([status, body]).toMatchObject([403, OWN_ACCOUNT]);
    }
    expect(await refusalsOf(service, 'orders.decide', id)).toEqual([OWN_ACCOUNT.detail, OWN_ACCOUNT.detail]);
    await service.control.addFault({ method: 'getproxy', kind: 'http-status', status: 500, times: null });
    const unavailable = await decide(id, 'deliver');
    const expected = [503, 'Service temporarily unavailable', 'review'];
    expect([unavailable.status, unavailable.body.detail, (await orderOf(id)).state]).toEqual(expected);
    await service.control.resetFaults();

    const { status, body } = await decide(id, 'deliver');
    expect([status, body.state, body.captured]).toEqual([200, 'completed', '50.16']);
    expect(await proxiesOf(buyer)).toHaveLength(2);
    expect(await service.balanceOf(buyer)).toEqual({ available: '949.84', held: '0.00' });
    expect(await linesOf('orders.decide', id)).toEqual([
      {
        reason: 'test',
        before: expect.objectContaining({ state: 'review', captured: '0.00' }),
        after: expect.objectContaining({ state: 'completed', captured: '50.16' }),
      },
    ]);
  });

  it('is not delivered when the provider has nothing of it, but canceled', async () => {
    const [order] = await untilInReview(() => buy(), NOT_BOUGHT);
    const refused = await decide(order?.id ?? 0, 'deliver');
    expect([refused.status, refused.body.detail]).toEqual([
      409,
      'The provider lists nothing that can be delivered for this order',
    ]);
    expect((await orderOf(order?.id ?? 0)).state).toBe('review');
    expect(await linesOf('orders.decide', order?.id ?? 0)).toEqual([]);
    const { status, body } = await decide(order?.id ?? 0, 'cancel');
    expect([status, body.state, body.released]).toEqual([200, 'canceled', PRICE]);
    expect(await service.balanceOf(user)).toEqual({ available: '1000.00', held: '0.00' });
  });

  it('is decided once, even by concurrent requests', async () => {
    const [order] = await untilInReview(() => buy(), BOUGHT_UNSEEN);
    const responses = await Promise.all(
      ['deliver', 'cancel', 'deliver', 'cancel', 'cancel', 'deliver'].map((decision) =>
        decide(order?.id ?? 0, decision),
      ),
    );
    expect(responses.map(({ status }) => status).sort(ascending)).toEqual([200, 409, 409, 409, 409, 409]);
    expect(await linesOf('orders.decide', order?.id ?? 0)).toHaveLength(1);
    // The proxies of a canceled order become unmatched.
    await service.runJob('sweep');
  });

  it('is decided alone when it was sent in a batch', async () => {
    const others = [user, await service.createUser(), await service.createUser()];
    await buy(await service.createUser());
    const orders = others.map((buyer, at) => () => buy(buyer, at + 1));
    const [first, second, third] = await untilInReview(
      () => queueTogether(service.dataSource, orders),
      BOUGHT_UNSEEN,
    );
    expect([first, second, third].map((order) => order?.state)).toEqual(['review', 'review', 'review']);

    expect((await decide(second?.id ?? 0, 'deliver')).body.state).toBe('completed');
    expect((await orderOf(first?.id ?? 0)).state).toBe('review');
    expect((await decide(first?.id ?? 0, 'cancel')).body.state).toBe('canceled');
    expect((await decide(third?.id ?? 0, 'deliver')).body.state).toBe('completed');
    const owned = await service.dataSource.query<{ order_id: number; size: number }[]>(
      `SELECT order_id, count(*) AS size FROM proxies WHERE order_id = ANY ($1) GROUP BY order_id
         ORDER BY order_id`,
      [[first, second, third].map((order) => order?.id)],
    );
    expect(owned.map(({ order_id: id, size }) => [id, size])).toEqual(
      [second, third].map((order) => [order?.id, order?.count]),
    );
    await service.runJob('sweep');
    // Proxies of a canceled order become unmatched.
    const unmatched = await findUnmatchedProxies(`state=open&order_reference=${first?.order_reference}`);
    expect(unmatched).toEqual([expect.objectContaining({ named_order_id: first?.id, order_id: null })]);
    await mark(unmatched[0], 'written-off');
  });

  it('that is a prolongation is delivered if the provider shows another end date', async () => {
    await buy();
    const [proxy] = await proxiesOf();
    const prolong = () => user.prolong(proxy?.id ?? '');
    const fault: FaultSpec = { method: 'prolong', kind: 'http-status', status: 502 };
    const [unchanged] = await untilInReview(prolong, fault);
    expect((await decide(unchanged?.id ?? 0, 'deliver')).status).toBe(409);
    expect((await decide(unchanged?.id ?? 0, 'cancel')).body.state).toBe('canceled');
    expect(await proxiesOf()).toEqual([proxy]);

    const [order] = await untilInReview(prolong, { method: 'prolong', kind: 'response-lost' });
    expect((await decide(order?.id ?? 0, 'deliver')).body.state).toBe('completed');
    const [prolonged] = await proxiesOf();
    expect(Date.parse(prolonged?.date_end ?? '') - Date.parse(proxy?.date_end ?? '')).toBe(30 * 86_400_000);
  });

  it('is the only kind of order that can be decided', async () => {
    const id = await buy();
    for (const decision of ['deliver', 'cancel']) {
      expect((await decide(id, decision)).body).toMatchObject({ detail: 'The order is not in review' });
      const unknown = await decide(999_999, decision);
      expect([unknown.status, unknown.body]).toMatchObject([404, { detail: 'Order not found' }]);
    }
  });

  it('requires the scope for orders and a known decision', async () => {
    const stranger = await createStaff(service, ['staff:balance']);
    expect((await decide(1, 'cancel', stranger)).status).toBe(403);
    const { status, body } = await decide(1, 'forget');
    expect([status, body.detail]).toEqual([
      422,
      [expect.objectContaining({ type: 'string_pattern_mismatch', loc: ['body', 'decision'] })],
    ]);
  });
});

describe('A refund', () => {
  let keys = 0;
  const refund = (id: number, body: object = {}, key: string | null = `refund-${(keys += 1)}`) =>
    staff.post<Record<string, unknown> & { detail?: unknown }>(
      `/staff/orders/${id}/refund`,
      { ...REASON, ...body },
      key === null ? {} : { 'Idempotency-Key': key },
    );

  it('returns all that was paid, and the proxies stay', async () => {
    const id = await buy(user, 2);
    const { status, body } = await refund(id, { reference: 'ticket 1' });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      kind: 'refund',
      amount: '50.16',
      balance: '1000.00',
      reference: 'ticket 1',
    });
    expect(await orderOf(id)).toMatchObject({ state: 'completed', captured: '50.16', refunded: '50.16' });
    expect(await proxiesOf()).toHaveLength(2);
    expect(await linesOf('orders.refund', id)).toMatchObject([
      { before: { refunded: '0.00' }, after: { refunded: '50.16' } },
    ]);
    const { items } = (await staff.get<Page<Record<string, unknown>>>(`/staff/users/${user.id}/ledger`)).body;
    expect(items[0]).toMatchObject({
      kind: 'refund',
      available_delta: '50.16',
      order: { id },
      action: { user_id: staff.id },
      reason: 'test',
    });
  });

  it('can be made in parts, and never exceeds what was paid', async () => {
    const id = await buy(user, 2);
    expect((await refund(id, { amount: '20.00' })).status).toBe(200);
    const { status, body } = await refund(id, { amount: '30.17' });
    expect([status, body.detail]).toEqual([409, 'At most 30.16 of this order can be refunded']);
    expect(await refusalsOf(service, 'orders.refund', id)).toEqual([
      'At most 30.16 of this order can be refunded',
    ]);
    expect((await refund(id, { amount: '0.16' })).status).toBe(200);
    expect((await refund(id)).body).toMatchObject({ amount: '30.00' });
    expect((await refund(id)).body).toMatchObject({ detail: 'This order has no refundable amount left' });
    expect((await refund(id, { amount: '0.01' })).status).toBe(409);
    expect(await service.balanceOf(user)).toEqual({ available: '1000.00', held: '0.00' });
  });

  it('never exceeds what was paid, even with concurrent requests', async () => {
    const id = await buy();
    const responses = await Promise.all(Array.from({ length: 5 }, () => refund(id, { amount: '10.00' })));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(2);
    expect(await orderOf(id)).toMatchObject({ refunded: '20.00' });
  });

  it('is made once for each key, even by concurrent requests', async () => {
    const id = await buy();
    for (const [key, body, refunded] of [
      [`part-${id}`, { amount: '5.00' }, '5.00'],
      [`rest-${id}`, {}, '25.08'],
    ] as const) {
      const responses = await Promise.all(Array.from({ length: 4 }, () => refund(id, body, key)));
      const entries = responses.map((response) => JSON.stringify({ ...response.body, replayed: null }));
      expect(new Set(entries).size).toBe(1);
      expect(responses.filter((response) => response.body['replayed'] === false)).toHaveLength(1);
      expect(responses.filter((response) => response.body['replayed'] === true)).toHaveLength(3);
      expect(await orderOf(id)).toMatchObject({ refunded });
      expect((await refund(id, { amount: '5.01' }, key)).body.detail).toEqual([
        expect.objectContaining({ type: 'idempotency_key_reused' }),
      ]);
    }
  });

  it('is not made by who placed the order, nor without a key or an audit log', async () => {
    const { colleague, buyer } = await createBuyingStaff();
    const id = await buy(buyer);
    const response = await colleague.post(`/staff/orders/${id}/refund`, REASON, { 'Idempotency-Key': 'own' });
    expect([response.status, response.body]).toMatchObject([403, OWN_ACCOUNT]);
    expect(await refusalsOf(service, 'orders.refund', id)).toEqual([OWN_ACCOUNT.detail]);
    const { status, body } = await refund(id, {}, null);
    expect([status, body.detail]).toEqual([
      422,
      [{ type: 'missing', loc: ['header', 'Idempotency-Key'], msg: 'Field required', input: null }],
    ]);
    await withFullDisk(service, ['orders.refund'], async () => {
      expect((await refund(id)).status).toBe(500);
    });
    expect(await orderOf(id)).toMatchObject({ refunded: '0.00' });
  });

  it('is refused for an order for which nothing was paid', async () => {
    await service.control.addFault({ method: 'buy', kind: 'error', errorId: 400 });
    await user.buy();
    const [order] = (await user.api.GET('/orders')).data?.items ?? [];
    expect([order?.state, (await refund(order?.id ?? 0)).status]).toEqual(['canceled', 409]);
    expect((await refund(999_999)).status).toBe(404);
  });
});

describe('An unmatched proxy', () => {
  async function unmatchedProxyOf(id: number): Promise<UnmatchedProxy> {
    const { order_reference: orderReference } = await orderOf(id);
    await wire().call(`buy/?count=1&period=30&country=ru&version=6&descr=${orderReference}`);
    await service.runJob('sweep');
    return (await findUnmatchedProxies(`state=open&order_reference=${orderReference}`))[0] as UnmatchedProxy;
  }

  const assign = (unmatchedProxy: UnmatchedProxy, orderId: number) =>
    staff.post<UnmatchedProxy & { detail?: unknown }>(
      `/staff/unmatched-proxies/${unmatchedProxy.id}/assign`,
      { order_id: orderId, ...REASON },
    );

  it('is given once, to the user of a closed purchase, who can use and prolong it', async () => {
    const { colleague, buyer } = await createBuyingStaff();
    const bought = await buy(buyer);
    const unmatchedProxy = await unmatchedProxyOf(bought);
    const { data } = await buyer.prolong((await proxiesOf(buyer))[0]?.id ?? '');
    expect((await assign(unmatchedProxy, data?.order_id ?? 0)).body.detail).toBe(
      'Unmatched proxies can be assigned only to closed purchases',
    );
    expect((await assign(unmatchedProxy, 999_999)).status).toBe(404);
    expect((await assign({ ...unmatchedProxy, id: 999_999 }, bought)).body).toMatchObject({
      detail: 'Unmatched proxy not found',
    });
    const request = { order_id: bought, ...REASON };
    const response = await colleague.post(`/staff/unmatched-proxies/${unmatchedProxy.id}/assign`, request);
    expect([response.status, response.body]).toMatchObject([403, OWN_ACCOUNT]);
    expect(await refusalsOf(service, 'unmatched-proxies.assign', unmatchedProxy.id)).toContain(
      OWN_ACCOUNT.detail,
    );
    expect(await linesOf('unmatched-proxies.assign', unmatchedProxy.id)).toEqual([]);
    expect(await proxiesOf(buyer)).toHaveLength(1);

    const other = await buy();
    const responses = await Promise.all(Array.from({ length: 4 }, () => assign(unmatchedProxy, other)));
    expect(responses.map(({ status }) => status).sort(ascending)).toEqual([200, 409, 409, 409]);
    expect(responses.find(({ status }) => status === 200)?.body).toMatchObject({
      state: 'assigned',
      order_id: other,
      named_order_id: bought,
    });
    expect(await linesOf('unmatched-proxies.assign', unmatchedProxy.id)).toHaveLength(1);
    const proxies = await proxiesOf();
    expect(proxies).toHaveLength(2);
    expect((await user.prolong(proxies.at(-1)?.id ?? '')).response.status).toBe(200);
    expect((await assign(unmatchedProxy, other)).body.detail).toBe(
      'The unmatched proxy is already assigned to an order',
    );
  });

  it('is listed without login and password, newest first, and by its state', async () => {
    const first = await unmatchedProxyOf(await buy());
    const second = await unmatchedProxyOf(await buy());
    const page = (await staff.get<Page<UnmatchedProxy>>('/staff/unmatched-proxies?limit=1')).body;
    expect(page.items.map(({ id }) => id)).toEqual([second.id]);
    const next = await findUnmatchedProxies(`limit=1&cursor=${page.next_cursor}`);
    expect(next.map(({ id }) => id)).toEqual([first.id]);
    expect(JSON.stringify(page)).not.toMatch(/login|password/);
    expect((await staff.get('/staff/unmatched-proxies?state=lost')).status).toBe(422);

    const listed = async (state: string) => (await findUnmatchedProxies(`state=${state}&limit=1`))[0]?.id;
    expect((await mark(second, 'written-off')).body.state).toBe('written-off');
    expect([await listed('open'), await listed('written-off')]).toEqual([first.id, second.id]);
    expect((await mark(second, 'open')).body.state).toBe('open');
    expect(await listed('open')).toBe(second.id);
    expect((await mark(second, 'assigned')).status).toBe(422);
    expect(await linesOf('unmatched-proxies.mark', second.id)).toHaveLength(2);
  });
});

describe('An order that a restore of the database has forgotten', () => {
  const DAY_MS = 86_400_000;
  const sold = async () => {
    const { sales, prolongations } = await service.control.getState();
    return sales.length + prolongations.length;
  };

  async function forgottenPurchases(...counts: readonly number[]): Promise<UnmatchedProxy[]> {
    const references: string[] = [];
    for (const count of counts) {
      const [{ orderReference }] = await service.owner.query(
        `SELECT order_reference_of(${REFERENCE_PREFIX_SQL}, $1,
                                   nextval(pg_get_serial_sequence('orders', 'id'))) AS "orderReference"`,
        [user.id],
      );
      await wire().call(`buy/?count=${count}&period=30&country=ru&version=6&descr=${orderReference}`);
      references.push(orderReference);
    }
    await service.runJob('sweep');
    const found = references.map(async (one) => (await findUnmatchedProxies(`order_reference=${one}`))[0]);
    return (await Promise.all(found)) as UnmatchedProxy[];
  }
  const forgottenPurchase = async (count: number) => (await forgottenPurchases(count))[0] as UnmatchedProxy;

  const deliver = (unmatchedProxy: UnmatchedProxy, count: number) =>
    staff.post<UnmatchedProxy>(`/staff/unmatched-proxies/${unmatchedProxy.id}/deliver`, {
      user_id: user.id,
      count,
      price: PRICE,
      ...REASON,
    });

  const openDiscrepancies = async (proxyId: string): Promise<Discrepancy[]> => {
    const { items } = (await staff.get<Page<Discrepancy>>('/staff/found-prolongations?state=open')).body;
    return items.filter(({ proxy_id: id }) => String(id) === proxyId);
  };

  async function forgottenProlongations(
    times: number,
  ): Promise<{ proxyId: string; discrepancy: Discrepancy }> {
    await buy();
    const proxyId = (await proxiesOf())[0]?.id ?? '';
    const id = await service.providerIdOf(proxyId);
    for (let time = 0; time < times; time += 1) await wire().call(`prolong/?period=30&ids=${id}`);
    await service.owner.query('INSERT INTO maintenance DEFAULT VALUES');
    await service.runJob('sweep');
    await service.owner.query('UPDATE maintenance SET ended_at = now() WHERE ended_at IS NULL');
    return { proxyId, discrepancy: (await openDiscrepancies(proxyId))[0] as Discrepancy };
  }

  const charge = (discrepancy: Discrepancy | undefined, terms: object = {}) =>
    staff.post<Discrepancy>(`/staff/found-prolongations/${discrepancy?.id}/charge`, {
      price: PRICE,
      ...terms,
      ...REASON,
    });

  const WRITTEN_OFF = {
    detail:
      'The order of this Idempotency-Key was lost and written off; nothing was charged. Order again ' +
      'under a new key',
  };

  it('is charged prolongation by prolongation, and each is found by the key that is retried', async () => {
    const { proxyId, discrepancy } = await forgottenProlongations(2);
    expect(discrepancy.days).toBe(60);
    const end = Date.parse(discrepancy.date_end);
    const { body: charged } = await charge(discrepancy, { period: 30 });
    expect(charged).toMatchObject({ id: discrepancy.id, state: 'charged', days: 30 });
    const [rest, ...others] = await openDiscrepancies(proxyId);
    expect(others).toEqual([]);
    expect(rest).toMatchObject({
      days: 30,
      date_end_before: charged.date_end,
      date_end: discrepancy.date_end,
    });
    expect(Date.parse(rest?.date_end_before ?? '')).toBe(end - 30 * DAY_MS);
    expect((await charge(rest)).body).toMatchObject({ state: 'charged', days: 30 });
    expect(await openDiscrepancies(proxyId)).toEqual([]);
    expect(await service.balanceOf(user)).toEqual({ available: '924.76', held: '0.00' });

    const before = await sold();
    for (const key of ['one', 'other', 'one']) {
      const { data, response } = await user.prolong(proxyId, { key });
      expect(response.headers.get('Idempotency-Replayed')).toBe('true');
      expect(Date.parse(data?.proxy.date_end ?? '')).toBe(end);
      expect([data?.proxy]).toEqual(await proxiesOf());
    }
    expect(await sold()).toBe(before);
    expect((await user.prolong(proxyId, { key: 'third' })).response.status).toBe(200);
    expect(await sold()).toBe(before + 1);
  });

  it('leaves the proxy the later end that it got before the charge', async () => {
    const { proxyId, discrepancy } = await forgottenProlongations(1);
    expect((await user.prolong(proxyId, { key: 'later' })).response.status).toBe(200);
    const later = await proxiesOf();
    expect(Date.parse(later[0]?.date_end ?? '')).toBe(Date.parse(discrepancy.date_end) + 30 * DAY_MS);
    expect((await charge(discrepancy)).body).toMatchObject({ state: 'charged', days: 30 });
    expect(await proxiesOf()).toEqual(later);
  });

  it('is shown as it was delivered, with logins and passwords, to retries of its count alone', async () => {
    const { order_id: order } = (await deliver(await forgottenPurchase(2), 2)).body;
    const delivered = await proxiesOf();
    expect(delivered.every(({ password }) => password !== '')).toBe(true);
    await user.prolong(delivered[0]?.id ?? '', { key: 'later' });
    const before = await sold();
    for (const count of [1, 3]) {
      const { data } = await user.buy({ count }, `never-sent-${count}`);
      expect(data?.order_id).not.toBe(order);
      expect(data?.proxies).toHaveLength(count);
    }
    const { data: found } = await user.buy({ count: 2 }, 'lost');
    expect([found?.order_id, found?.proxies, await sold()]).toEqual([order, delivered, before + 2]);

    // Earlier versions stored no response, so the present proxies are shown.
    await service.owner.query(`UPDATE orders SET delivered_proxies = NULL WHERE idempotency_key = 'lost'`);
    const present = (await proxiesOf()).slice(0, 2);
    expect((await user.buy({ count: 2 }, 'lost')).data?.proxies).toEqual(present);
  });

  it('is found by a retry of another count or type, by that of the same before others', async () => {
    const [three, pair] = (await forgottenPurchases(3, 2)) as [UnmatchedProxy, UnmatchedProxy];
    const one = (await deliver(three, 1)).body.order_id;
    const two = (await deliver(pair, 2)).body.order_id;
    const before = await sold();
    const exact = await user.buy({ count: 2, proxy_type: 'socks' }, 'exact');
    expect(exact.data).toMatchObject({ order_id: two, price_charged: '50.16' });
    const nearest = await user.buy({ count: 3 }, 'nearest');
    expect(nearest.data).toMatchObject({ order_id: one, price_charged: PRICE });
    expect(nearest.data?.proxies).toHaveLength(1);
    expect((await user.buy({ count: 3 }, 'nearest')).data).toEqual(nearest.data);
    expect(await sold()).toBe(before);
    expect((await user.buy({ count: 3 }, 'new')).data?.order_id).not.toBe(one);
    expect(await sold()).toBe(before + 1);
  });

  it('is found once by concurrent retries under one key', async () => {
    for (const unmatchedProxy of await forgottenPurchases(1, 1)) await deliver(unmatchedProxy, 1);
    const before = await sold();
    const retries = await Promise.all(Array.from({ length: 5 }, () => user.buy({}, 'lost')));
    const found = retries.flatMap(({ data }) => data?.order_id ?? []);
    expect(new Set(found).size).toBe(1);
    for (const { response } of retries) expect([200, 409]).toContain(response.status);
    expect((await user.buy({}, 'lost')).data?.order_id).toBe(found[0]);
    expect(await sold()).toBe(before);
  });

  it('is neither bought nor charged by a retry when staff wrote it off, until staff deliver it', async () => {
    const unmatchedProxy = await forgottenPurchase(2);
    await mark(unmatchedProxy, 'written-off');
    const before = [await sold(), await service.balanceOf(user)];
    for (let time = 0; time < 2; time += 1) {
      const { error, response } = await user.buy({ count: 2 }, 'lost');
      expect([response.status, response.headers.get('Retry-After'), error]).toEqual([409, null, WRITTEN_OFF]);
    }
    const { data: rehearsed } = await user.buy({ count: 2, dry_run: true }, 'lost');
    expect(rehearsed).toMatchObject({ order_id: null, refusals: [{ status: 409, ...WRITTEN_OFF }] });
    expect((await user.buy({ count: 2, period: 60 }, 'lost')).response.status).toBe(422);
    expect([await sold(), await service.balanceOf(user)]).toEqual(before);
    // A retry is expected for one key only.
    expect((await user.buy({ count: 2 }, 'next')).response.status).toBe(200);

    await mark(unmatchedProxy, 'open');
    expect((await user.buy({ count: 2 }, 'lost')).error).toEqual(WRITTEN_OFF);
    const { body } = await deliver(unmatchedProxy, 1);
    expect((await user.buy({ count: 2 }, 'lost')).data).toMatchObject({ order_id: body.order_id });
  });

  it('is not prolonged again by retries when staff wrote it off, of one proxy or of many', async () => {
    const { proxyId, discrepancy } = await forgottenProlongations(2);
    await staff.post(`/staff/found-prolongations/${discrepancy.id}/write-off`, REASON);
    const before = [await sold(), await service.balanceOf(user)];
    const bulk = () =>
      user.api.POST('/proxies/prolong', {
        params: { header: { 'Idempotency-Key': 'many' } },
        body: { proxy_ids: [proxyId], period: 30 },
      });
    for (let time = 0; time < 2; time += 1) {
      const { error, response } = await user.prolong(proxyId, { key: 'single' });
      expect([response.status, response.headers.get('Retry-After'), error]).toEqual([409, null, WRITTEN_OFF]);
      expect((await bulk()).data?.proxies).toEqual([
        expect.objectContaining({ order_id: null, status: 'refused', ...WRITTEN_OFF }),
      ]);
    }
    expect([await sold(), await service.balanceOf(user)]).toEqual(before);
    expect((await user.prolong(proxyId, { key: 'new' })).response.status).toBe(200);
  });

  it('is a guess for a week: new keys order anew then, and a taken key stays taken', async () => {
    const [pair, ...others] = (await forgottenPurchases(2, 1, 1)) as [UnmatchedProxy, ...UnmatchedProxy[]];
    const { body: putBack } = await deliver(pair, 2);
    for (const unmatchedProxy of others) await mark(unmatchedProxy, 'written-off');
    expect((await user.buy({}, 'taken')).error).toEqual(WRITTEN_OFF);
    const sixDays = `interval '6 days'`;
    const pass = (time: string) =>
      Promise.all([
        service.owner.query(`UPDATE maintenance SET ended_at = ended_at - ${time}`),
        service.owner.query(`UPDATE orders SET created_at = created_at - ${time} WHERE key_forgotten`),
        service.owner.query(`UPDATE written_off_requests SET written_off_at = written_off_at - ${time}`),
      ]);
    await pass(sixDays);
    expect((await user.buy({ count: 2 }, 'late')).data?.order_id).toBe(putBack.order_id);
    await deliver(await forgottenPurchase(3), 3);
    await pass(`interval '8 days'`);
    const before = await sold();
    for (const [order, key] of [
      [{}, 'new'],
      [{ count: 3 }, 'newer'],
    ] as const) {
      const { response } = await user.buy(order, key);
      expect([response.status, response.headers.get('Idempotency-Replayed')]).toEqual([200, null]);
    }
    expect(await sold()).toBe(before + 2);
    // Restoring another order must not bring them back.
    expect((await service.runJob('retention'))?.['expected_retries']).toBeGreaterThanOrEqual(2);
    await deliver(await forgottenPurchase(4), 4);
    expect((await user.buy({}, 'newest')).response.status).toBe(200);
    expect((await user.buy({}, 'taken')).error).toEqual(WRITTEN_OFF);
  });

  it('is no longer written off when it is open again, or its proxy belongs to another order', async () => {
    const unmatched = (await forgottenPurchases(1, 1)) as [UnmatchedProxy, UnmatchedProxy];
    for (const unmatchedProxy of unmatched) await mark(unmatchedProxy, 'written-off');
    await mark(unmatched[0], 'open');
    const other = await buy();
    await staff.post(`/staff/unmatched-proxies/${unmatched[1].id}/assign`, { order_id: other, ...REASON });
    expect((await user.buy({}, 'new')).response.status).toBe(200);

    // A reference with several proxies counts while one of them does.
    const unmatchedProxy = await forgottenPurchase(2);
    const [, second] = await findUnmatchedProxies(`order_reference=${unmatchedProxy.order_reference}`);
    for (const one of [unmatchedProxy, second as UnmatchedProxy]) await mark(one, 'written-off');
    await mark(unmatchedProxy, 'open');
    expect((await user.buy({ count: 2 }, 'lost')).error).toEqual(WRITTEN_OFF);
  });

  it('is put back or written off before a retry that comes meanwhile', async () => {
    const lockAccount = () =>
      lockRow(service.owner, `SELECT FROM accounts WHERE user_id = ${user.id} FOR UPDATE`);
    const lock = await lockAccount();
    const delivery = deliver(await forgottenPurchase(1), 1);
    await untilWaiting(service.owner, 'WITH placed');
    const retry = user.buy({}, 'lost');
    await untilWaiting(service.owner, 'place_orders');
    await lock.release();
    expect((await retry).data?.order_id).toBe((await delivery).body.order_id);

    const { order_reference: orderReference } = await forgottenPurchase(1);
    const records = service.app.get(ForgottenOrderRecords);
    const { response } = await service.owner.transaction(async (manager) => {
      const request = { userId: user.id, orderReference, country: 'ru', version: '6', days: 30 };
      await records.writeOff(request, manager);
      const later = user.buy({}, 'later');
      await Promise.race([later, untilWaiting(service.owner, 'place_orders')]);
      return { response: later };
    });
    expect((await response).error).toEqual(WRITTEN_OFF);
  });

  it('is written off during maintenance, and its retry says so afterwards', async () => {
    await mark(await forgottenPurchase(1), 'written-off');
    await service.owner.query('INSERT INTO maintenance DEFAULT VALUES');
    expect((await user.buy({}, 'early')).response.status).toBe(503);
    await service.owner.query('UPDATE maintenance SET ended_at = now() WHERE ended_at IS NULL');
    expect((await user.buy({}, 'early')).error).toEqual(WRITTEN_OFF);
  });
});
