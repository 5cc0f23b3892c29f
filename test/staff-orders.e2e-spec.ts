import type * as dto from '../src/staff/orders/staff-orders.dto';
import { forAllTests } from './support/fixtures';
import { queueTogether } from './support/hold-permits';
import { knowCatalog } from './support/know-catalog';
import { lookAway } from './support/look-away';
import { readPages } from './support/pages';
import { createStaff, type Json } from './support/staff';
import { startTestService, type TestUser } from './support/test-service';

type StaffOrderOut = Json<dto.StaffOrderOut>;
type StaffOrdersPage = Json<dto.StaffOrdersPage>;
type StaffOrderDetails = Json<dto.StaffOrderDetails>;

const MOMENT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const ID = expect.any(Number);
const NAME = expect.any(String);

// The lists cover all orders, and inserted ones stay open.
const service = forAllTests(() => startTestService({ environment: { PROVIDER_RATE_PER_SECOND: '100' } }));
const staff = forAllTests(() => createStaff(service, ['staff:orders']));

const read = async (id: number): Promise<StaffOrderDetails> => {
  const { status, body } = await staff.get<StaffOrderDetails>(`/staff/orders/${id}`);
  expect(status).toBe(200);
  return body;
};
const search = async (query: Record<string, string>, cursor = ''): Promise<StaffOrdersPage> => {
  const { status, body } = await staff.get<StaffOrdersPage>(
    `/staff/orders?${new URLSearchParams(query).toString()}${cursor}`,
  );
  expect([query, status]).toEqual([query, 200]);
  return body;
};
const searchAll = (query: Record<string, string>, limit = 200): Promise<StaffOrderOut[]> =>
  readPages(async (cursor) => {
    const page = await search({ ...query, limit: String(limit) }, cursor);
    expect(page.items.length).toBeLessThanOrEqual(limit);
    return page;
  });

async function buy(user: TestUser, count = 1, key?: string) {
  const { data } = await user.buy({ count }, key);
  return { orderId: data?.order_id ?? 0, proxies: data?.proxies ?? [] };
}

const prolong = async (user: TestUser, proxyId: string): Promise<number> =>
  (await user.prolong(proxyId)).data?.order_id ?? 0;

async function buyTogether(users: readonly TestUser[]): Promise<number[]> {
  await knowCatalog((await service.createUser()).api);
  const orders = users.map((user) => () => buy(user));
  return (await queueTogether(service.dataSource, orders)).map(({ orderId }) => orderId);
}

describe('An order', () => {
  it('is shown with everything that is known of it', async () => {
    const user = await service.createUser();
    const { orderId, proxies } = await buy(user, 2, 'once');
    const order = await read(orderId);
    const [account] = await service.dataSource.query<{ available: string }[]>(
      'SELECT available FROM accounts WHERE user_id = $1',
      [user.id],
    );
    expect(order).toEqual({
      id: orderId,
      user_id: user.id,
      username: 'test',
      links: {
        order: `/staff/orders/${orderId}`,
        user: `/staff/users/${user.id}`,
        ledger: `/staff/users/${user.id}/ledger`,
        refund: `/staff/orders/${orderId}/refund?amount=50.16`,
      },
      refundable: '50.16',
      review_reason: null,
      next_steps: [],
      kind: 'purchase',
      state: 'completed',
      order_reference: expect.stringMatching(new RegExp(`^prs\\.\\w+\\.u${user.id}\\.o${orderId}x$`)),
      country: 'ru',
      version: '6',
      period: 30,
      count: 2,
      proxy_type: 'http',
      proxy_id: null,
      unit_price: '25.08',
      hold_amount: '50.16',
      captured: '50.16',
      released: '0.00',
      refunded: '0.00',
      provider_order_id: NAME,
      failure: null,
      request_id: NAME,
      created_at: MOMENT,
      submitted_at: MOMENT,
      closed_at: MOMENT,
      batch_id: orderId,
      max_price: null,
      markup_percent: '20.0000',
      price_rule_id: null,
      provider: 'px6',
      provider_price: '41.8000',
      provider_charge: '41.8000',
      date_end_before: null,
      queued_until: null,
      sent_before: MOMENT,
      next_search_at: MOMENT,
      searches: 0,
      nothing_seen_since: null,
      token_id: ID,
      idempotency_key: 'once',
      history: ['reserved', 'submitting', 'completed'].map((state) => ({ state, at: MOMENT })),
      batch: { order_reference: order.order_reference, order_ids: [orderId] },
      entries: [
        expect.objectContaining({ kind: 'hold', available_after: account?.available, held_after: '50.16' }),
        expect.objectContaining({ kind: 'capture', available_after: account?.available, held_after: '0.00' }),
      ],
      provider_calls: [
        {
          id: ID,
          method: 'buy',
          request: {
            count: '2',
            period: '30',
            country: 'ru',
            version: '6',
            type: 'http',
            descr: order.order_reference,
          },
          outcome: 'done',
          http_status: 200,
          response: expect.objectContaining({ status: 'yes', count: 2 }),
          duration_ms: ID,
          created_at: MOMENT,
        },
      ],
      proxies: proxies.map(({ id, host, port }) => ({
        id: Number(id),
        provider_proxy_id: NAME,
        host,
        port,
        active: true,
        date_end: MOMENT,
        withdrawn_at: null,
        assigned_action_id: null,
      })),
      actions: [],
    });
    const times = order.history.map(({ at }) => at);
    expect(times).toEqual([...times].sort());
  });

  it('of a prolongation shows the proxy and the calls to the provider', async () => {
    const user = await service.createUser();
    const { proxies, orderId: purchaseId } = await buy(user);
    const [proxy] = proxies;
    const order = await read(await prolong(user, proxy?.id ?? ''));
    expect(order).toMatchObject({
      kind: 'prolongation',
      state: 'completed',
      proxy_id: Number(proxy?.id),
      date_end_before: MOMENT,
      batch: { order_reference: null, order_ids: [order.id] },
      proxies: [{ id: Number(proxy?.id), host: proxy?.host }],
    });
    const { order_reference: orderReference } = await read(purchaseId);
    expect(order.provider_calls).toMatchObject([
      { method: 'getproxy', request: { descr: orderReference }, outcome: 'done' },
      { method: 'prolong', request: { ids: order.proxies[0]?.provider_proxy_id }, outcome: 'done' },
    ]);
  });

  it('that the provider refused shows its response and the returned money', async () => {
    const user = await service.createUser();
    await service.control.addFault({ method: 'buy', kind: 'error', errorId: 300 });
    await buy(user);
    const [{ id } = { id: 0 }] = await searchAll({ user_id: String(user.id) });
    expect(await read(id)).toMatchObject({
      state: 'canceled',
      failure: 'out-of-stock',
      captured: '0.00',
      released: '25.08',
      provider_charge: null,
      history: [{ state: 'reserved' }, { state: 'submitting' }, { state: 'canceled' }],
      entries: [{ kind: 'hold' }, { kind: 'release', held_after: '0.00' }],
      provider_calls: [{ method: 'buy', outcome: 'refused', response: { status: 'no', error_id: 300 } }],
      proxies: [],
    });
  });

  it('that was sent in a batch names its members, and is found by the reference of the batch', async () => {
    const users = await Promise.all([service.createUser(), service.createUser(), service.createUser()]);
    const ids = (await buyTogether(users)).sort((a, b) => a - b);
    const [leader, member] = [await read(ids[0] ?? 0), await read(ids[2] ?? 0)];
    const batch = { order_reference: leader.order_reference, order_ids: ids };
    expect([leader.batch, member.batch]).toEqual([batch, batch]);
    expect(member.provider_calls).toMatchObject([
      { method: 'buy', request: { descr: leader.order_reference, count: '3' } },
    ]);
    expect(member.provider_calls).toEqual(leader.provider_calls);
    expect(member.proxies).toHaveLength(1);
    const idsFor = async (query: Record<string, string>) =>
      (await searchAll(query)).map(({ id }) => id).sort((a, b) => a - b);
    expect(await idsFor({ order_reference: leader.order_reference })).toEqual(ids);
    expect(await idsFor({ order_reference: member.order_reference })).toEqual([member.id]);
    expect(
      await idsFor({ order_reference: leader.order_reference, user_id: String(member.user_id) }),
    ).toEqual([member.id]);
  });

  it('shows what staff changed of it and the entries of that, but not who looked at it', async () => {
    const user = await service.createUser();
    const { orderId } = await buy(user);
    await read(orderId);
    const [action] = await service.dataSource.query<{ id: number }[]>(
      `INSERT INTO audit_log (via, user_id, token_id, action, target_type, target_id, reason, request,
                                  before, after)
       VALUES ('api', $1, $2, 'orders.test', 'order', $3, 'test', '{}', '{}', '{"refunded": "1.00"}')
       RETURNING id`,
      [staff.id, staff.tokenId, String(orderId)],
    );
    await service.dataSource.query(
      `INSERT INTO ledger_entries (user_id, kind, order_id, available_delta, held_delta, action_id)
       VALUES ($1, 'refund', $2, 1, 0, $3)`,
      [user.id, orderId, action?.id],
    );
    const order = await read(orderId);
    expect(order.actions).toMatchObject([
      {
        id: action?.id,
        action: 'orders.test',
        user_id: staff.id,
        reason: 'test',
        after: { refunded: '1.00' },
      },
    ]);
    expect(order.entries.at(-1)).toMatchObject({
      kind: 'refund',
      available_delta: '1.00',
      action: { id: action?.id, via: 'api', user_id: staff.id },
    });
  });

  it('never shows the key, a login or a password', async () => {
    const user = await service.createUser();
    await prolong(user, (await buy(user, 6)).proxies[0]?.id ?? '');
    const secrets = await service.dataSource.query<{ login: string; password: string }[]>(
      'SELECT DISTINCT login, password FROM proxies WHERE order_id IN (SELECT order_id FROM provider_calls)',
    );
    expect(secrets.length).toBeGreaterThan(5);
    // Other tests insert many orders without calls.
    const orders = await service.dataSource.query<{ id: number }[]>(
      'SELECT DISTINCT order_id AS id FROM provider_calls WHERE order_id IS NOT NULL',
    );
    const methods = new Set<string>();
    for (const { id } of orders) {
      const order = await read(id);
      const text = JSON.stringify(order);
      expect(text).not.toContain(service.sandbox.apiKey);
      for (const { login, password } of secrets) {
        expect(text).not.toContain(`"${login}"`);
        expect(text).not.toContain(password);
      }
      for (const { method } of order.provider_calls) methods.add(method);
    }
    expect([...methods].sort()).toEqual(['buy', 'getproxy', 'prolong']);
  });

  it('shows the latest calls only, and very long responses without their list', async () => {
    const { orderId } = await buy(await service.createUser());
    await service.dataSource.query(
      `INSERT INTO provider_calls (order_id, method, request, outcome, response, duration_ms, created_at)
       SELECT $1, 'getproxy', jsonb_build_object('n', n::text), 'done',
              CASE n WHEN 250 THEN format('{"list_count": 1000, "list": "%s"}', repeat('x', 30000)) END,
              1, now() + make_interval(secs => n)
         FROM generate_series(1, 250) AS n`,
      [orderId],
    );
    const { provider_calls: calls } = await read(orderId);
    expect(calls.map(({ request }) => request['n'])).toEqual(
      Array.from({ length: 200 }, (_, n) => String(n + 51)),
    );
    expect(calls.at(-1)?.response).toEqual({ list_count: 1000, list: 'omitted' });
  });

  it('shows also responses that jsonb refuses', async () => {
    const { orderId } = await buy(await service.createUser());
    const responses = [
      { note: 'a\0b' },
      { note: '\ud800', list: 'x'.repeat(30_000) },
      { n: 1, list: 'x'.repeat(30_000) },
    ];
    for (const response of responses) {
      await service.dataSource.query(
        `INSERT INTO provider_calls (order_id, method, request, outcome, response, duration_ms)
         VALUES ($1, 'getproxy', '{}', 'done', $2, 1)`,
        [orderId, JSON.stringify(response)],
      );
    }
    expect((await read(orderId)).provider_calls.slice(-3).map(({ response }) => response)).toEqual([
      { note: 'a\0b' },
      'omitted',
      { n: 1, list: 'omitted' },
    ]);
  });

  it('is not found by an unknown id', async () => {
    const { status, body } = await staff.get('/staff/orders/999999');
    expect([status, body]).toMatchObject([404, { detail: 'Order not found' }]);
    expect((await staff.get('/staff/orders/last')).status).toBe(422);
  });

  it('is shown only with the scope for orders', async () => {
    const clerk = await createStaff(service, ['staff:users', 'staff:balance', 'staff:audit']);
    const customer = await service.createUser();
    const { orderId } = await buy(customer);
    for (const path of ['/staff/orders', `/staff/orders/${orderId}`]) {
      expect((await clerk.get(path)).status).toBe(403);
      const own = await fetch(service.baseUrl + path, {
        headers: { Authorization: `Bearer ${customer.token}` },
      });
      expect(own.status).toBe(403);
    }
  });
});

describe('Orders', () => {
  let users: readonly TestUser[];
  let lookAgain: () => void;

  // Sends nothing until the end, because the inserted open orders hold no money.
  beforeAll(async () => {
    users = await Promise.all([service.createUser(), service.createUser(), service.createUser()]);
    for (const user of users) await prolong(user, (await buy(user, 2)).proxies[0]?.id ?? '');
    lookAgain = lookAway(service);
    await service.dataSource.query(
      `INSERT INTO orders (user_id, kind, state, order_reference, country, version, period, count,
         proxy_type, proxy_id,
                           unit_price, hold_amount, captured, released, provider, provider_price, request_id,
                           created_at, closed_at, queued_until, sent_before, next_search_at)
       SELECT owner, CASE WHEN proxy IS NULL THEN 'purchase' ELSE 'prolongation' END, state,
              format('test.%s.%s.%s', owner, state, n), 'ru', '6', 30, 2, 'http', proxy,
              10, 20, captured, released, 'px6', 8, format('request-%s-%s', state, n),
              now() - make_interval(hours => n), CASE WHEN captured + released > 0 THEN now() END,
              CASE state WHEN 'reserved' THEN now() + interval '1 hour' END,
              CASE WHEN state <> 'reserved' THEN now() + interval '1 hour' END, now() + interval '1 hour'
         FROM unnest($1::bigint[]) AS owner, generate_series(1, 6) AS n,
              (VALUES ('reserved', 0, 0), ('submitting', 0, 0), ('confirming', 0, 0), ('review', 0, 0),
                      ('completed', 20, 0), ('partial', 10, 10), ('canceled', 0, 20))
                AS ends (state, captured, released),
              LATERAL (SELECT CASE WHEN captured + released > 0 AND n < 3
                                   THEN (SELECT min(id) FROM proxies WHERE user_id = owner) END AS proxy)
                AS prolonged`,
      [users.map(({ id }) => id)],
    );
    await service.dataSource.query(
      `UPDATE orders SET created_at = date_trunc('day', created_at) WHERE user_id = $1
      AND order_reference LIKE 'test.%'`,
      [users[1]?.id],
    );
  });
  afterAll(async () => {
    await service.owner.query(
      `UPDATE orders SET state = 'canceled', released = hold_amount, closed_at = now(),
              queued_until = NULL
        WHERE order_reference LIKE 'test.%' AND closed_at IS NULL`,
    );
    lookAgain();
  });

  it('are sorted from the newest to the oldest, and none is missing', async () => {
    const orders = await searchAll({});
    const rows = await service.dataSource.query<{ id: number }[]>(
      'SELECT id FROM orders ORDER BY created_at DESC, id DESC',
    );
    expect(orders.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
    expect(new Set(orders.map(({ state }) => state)).size).toBe(7);
  });

  it('are found by each filter and by each pair of filters', async () => {
    const orders = await searchAll({});
    const [proxy] = await service.dataSource.query<{ host: string; provider_proxy_id: string; id: number }[]>(
      'SELECT host, provider_proxy_id, id FROM proxies WHERE user_id = $1 ORDER BY id LIMIT 1',
      [users[0]?.id],
    );
    const handled = await service.dataSource.query<{ id: number; host: string; provider_proxy_id: string }[]>(
      `SELECT orders.id, host, provider_proxy_id
         FROM orders JOIN proxies ON proxies.order_id = orders.id OR proxies.id = orders.proxy_id`,
    );
    const handlers = (field: 'host' | 'provider_proxy_id', value: unknown): Set<number> =>
      new Set(handled.filter((one) => one[field] === value).map(({ id }) => id));
    const real = orders.find(({ provider_order_id: id, user_id: userId }) => id && userId === users[0]?.id);
    const [from, to] = [orders[60]?.created_at ?? '', orders[20]?.created_at ?? ''];
    const byHost = handlers('host', proxy?.host);
    const byProxy = handlers('provider_proxy_id', proxy?.provider_proxy_id);
    const filters: [string, string, (order: StaffOrderOut) => boolean][] = [
      ['user_id', String(users[0]?.id), (order) => order.user_id === users[0]?.id],
      ...['reserved', 'submitting', 'confirming', 'review', 'completed', 'partial', 'canceled'].map(
        (state): [string, string, (order: StaffOrderOut) => boolean] => [
          'state',
          state,
          (order) => order.state === state,
        ],
      ),
      ['kind', 'purchase', ({ kind }) => kind === 'purchase'],
      ['kind', 'prolongation', ({ kind }) => kind === 'prolongation'],
      ['from', from, (order) => order.created_at >= from],
      ['to', to, (order) => order.created_at < to],
      [
        'order_reference',
        real?.order_reference ?? '',
        ({ order_reference: orderReference }) => orderReference === real?.order_reference,
      ],
      [
        'provider_order_id',
        real?.provider_order_id ?? '',
        (order) => order.provider_order_id === real?.provider_order_id,
      ],
      ['provider_proxy_id', proxy?.provider_proxy_id ?? '', ({ id }) => byProxy.has(id)],
      ['host', proxy?.host ?? '', ({ id }) => byHost.has(id)],
      ['request_id', 'request-partial-2', (order) => order.request_id === 'request-partial-2'],
    ];
    for (const [at, [name, value, fits]] of filters.entries()) {
      const expected = orders.filter(fits).map(({ id }) => id);
      expect([name, expected.length > 0 && expected.length < orders.length]).toEqual([name, true]);
      for (const [otherName, otherValue, alsoFits] of filters.slice(at)) {
        if (otherName === name && otherValue !== value) continue;
        const found = await search({ [name]: value, [otherName]: otherValue, limit: '200' });
        const both = orders.filter((order) => fits(order) && alsoFits(order)).map(({ id }) => id);
        expect([name, otherName, found.items.map(({ id }) => id)]).toEqual([name, otherName, both]);
      }
    }
  });

  it.each([1, 3, 200])(
    'are paged by %d without gaps, even when many were placed at the same time',
    async (limit) => {
      const query = { user_id: String(users[1]?.id), ...(limit === 1 && { state: 'canceled' }) };
      const rows = await service.dataSource.query<{ id: number }[]>(
        `SELECT id FROM orders WHERE user_id = $1 AND ($2::text IS NULL OR state = $2)
           ORDER BY created_at DESC, id DESC`,
        [users[1]?.id, query.state ?? null],
      );
      expect((await searchAll(query, limit)).map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
    },
  );

  it('of a host with very many proxies are paged by their deliveries, with any filter', async () => {
    const user = users[2] as TestUser;
    const host = '198.51.100.99';
    await service.owner.query(
      `WITH proxy AS (
         INSERT INTO proxies (user_id, order_id, provider, provider_proxy_id, host, port, login, password,
                              proxy_type, country, version, period, date_start, date_end)
         SELECT orders.user_id, orders.id, 'px6', format('common.%s.%s', orders.id, n), $1, '8000', 'a login',
                'a password', 'http', 'ru', '6', 30, now(), now() + interval '30 days'
           FROM orders, generate_series(1, 1500) AS n
          WHERE kind = 'purchase' AND orders.id IN (
                SELECT id FROM orders WHERE user_id = $2 AND kind = 'purchase' ORDER BY id LIMIT 8)
         RETURNING id, order_id, provider_proxy_id
       )
       INSERT INTO orders (user_id, kind, order_reference, country, version, period, count, proxy_type,
         proxy_id,
                           unit_price, hold_amount, provider, provider_price, state, released, closed_at,
                           next_search_at)
       SELECT $2, 'prolongation', 'common.' || id, 'ru', '6', 30, 1, 'http', id, 10, 10, 'px6', 8,
              'canceled', 10, now(), now()
         FROM proxy WHERE provider_proxy_id ~ '[.]7$'`,
      [host, user.id],
    );
    const rows = await service.dataSource.query<{ id: number; kind: string }[]>(
      `SELECT orders.id, orders.kind
         FROM orders LEFT JOIN proxies ON proxies.id = orders.proxy_id
        WHERE proxies.host = $1 OR orders.id IN (SELECT order_id FROM proxies WHERE host = $1)
        ORDER BY coalesce(proxies.order_id, orders.id) DESC, orders.id DESC`,
      [host],
    );
    expect(rows.map(({ kind }) => kind).slice(0, 4)).toEqual([
      'prolongation',
      'purchase',
      'prolongation',
      'purchase',
    ]);
    const of = (kind: string): number[] => rows.filter((row) => row.kind === kind).map(({ id }) => id);
    for (const limit of [1, 3, 200]) {
      expect((await searchAll({ host }, limit)).map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
    }
    for (const kind of ['purchase', 'prolongation']) {
      const found = await searchAll({ host, kind, user_id: String(user.id) }, 3);
      expect(found.map(({ id }) => id)).toEqual(of(kind));
    }
    const nothing = await search({ host, order_reference: 'prs.none' });
    expect(nothing).toEqual({ items: [], next_cursor: expect.any(Number) });
    expect(await searchAll({ host, order_reference: 'prs.none' }, 200)).toEqual([]);
  });

  it('are an empty page when nothing matches', async () => {
    for (const query of [
      { order_reference: 'prs.none' },
      { host: '203.0.113.255' },
      { provider_proxy_id: '0' },
      { provider_order_id: '0' },
      { request_id: 'none' },
      { user_id: '999999' },
      { cursor: '999999' },
    ]) {
      expect([query, await search(query)]).toEqual([query, { items: [], next_cursor: null }]);
    }
  });

  it.each([
    ['limit=201', 'less_than_equal', 'limit'],
    ['limit=0', 'greater_than', 'limit'],
    ['cursor=x', 'int_parsing', 'cursor'],
    ['user_id=0', 'greater_than', 'user_id'],
    ['state=closed', 'string_pattern_mismatch', 'state'],
    ['kind=refund', 'string_pattern_mismatch', 'kind'],
    ['from=yesterday', 'datetime_parsing', 'from'],
    ['to=2026-11-21T12:00:00', 'timezone_aware', 'to'],
    ['order_reference=', 'string_pattern_mismatch', 'order_reference'],
    ['host=%00', 'string_pattern_mismatch', 'host'],
    [`request_id=${'a'.repeat(101)}`, 'string_too_long', 'request_id'],
  ])('are not searched by %s', async (query, type, field) => {
    const { status, body } = await staff.get(`/staff/orders?${query}`);
    expect([status, body['detail']]).toEqual([
      422,
      [expect.objectContaining({ type, loc: ['query', field] })],
    ]);
  });
});
