import { TokensService } from '../src/auth';
import { generateSecret, generateToken } from '../src/auth/token-text';
import { PriceRulesService } from '../src/pricing';
import type * as dto from '../src/staff/audit-log/audit-log.dto';
import { generateWebhookSecret } from '../src/webhooks/signing';
import { withFullDisk } from './support/audit-log';
import { eventually } from './support/built-service';
import { operationsOf, readDescription } from './support/description';
import { forAllTests } from './support/fixtures';
import { readPages } from './support/pages';
import { sendRaw } from './support/raw-http';
import { createStaff, type Json, type Staff } from './support/staff';
import { lockRow, untilWaiting } from './support/table-lock';
import { startTestService } from './support/test-service';

type Action = Json<dto.ActionOut>;
type ActionsPage = Json<dto.ActionsPage>;

// The tests execute every staff operation, including those that affect all customers.
const service = forAllTests(startTestService);
const staff = forAllTests(() => createStaff(service));
const customer = forAllTests(() => service.createUser());
const auditor = forAllTests(() => createStaff(service, ['staff:audit']));

const search = async (query: string): Promise<ActionsPage> =>
  (await auditor.get<ActionsPage>(`/staff/actions?${query}`)).body;

const REASON = { reason: 'test' };
const POSTING = { amount: '1.00', reason: 'test' };
const READS_BY_POST = ['prices.preview', 'users.erase'];
const RULE = { markup_percent: '20' };
const PERIOD = '?from=2026-01-01T00:00:00Z&to=2100-01-01T00:00:00Z';
const purchase = async (): Promise<number> => (await customer.buy()).data?.order_id ?? 0;
const insert = async (statement: string, ...parameters: unknown[]): Promise<number> =>
  (await service.dataSource.query<{ id: number }[]>(statement, parameters))[0]?.id ?? 0;

const orderInReview = async (): Promise<number> =>
  insert(
    `WITH reviewed AS (
       INSERT INTO orders (user_id, kind, state, order_reference, country, version, period, count, proxy_type,
                           unit_price, hold_amount, provider, provider_price, sent_before, next_search_at,
                           submitted_at)
       SELECT user_id, kind, 'review', gen_random_uuid(), country, version, period, count, proxy_type,
              unit_price, hold_amount, provider, provider_price, sent_before, next_search_at, submitted_at
         FROM orders WHERE id = $1
       RETURNING id, user_id, hold_amount
     )
     INSERT INTO ledger_entries (user_id, kind, order_id, available_delta, held_delta)
     SELECT user_id, 'hold', id, -hold_amount, hold_amount FROM reviewed
     RETURNING order_id AS id`,
    await purchase(),
  );

const unmatchedProxy = (orderReference = 'prs.test.u1.o1'): Promise<number> =>
  insert(
    `INSERT INTO unmatched_proxies (provider, provider_proxy_id, order_reference, host, port, login,
                          password, proxy_type, country, version, date_start, date_end)
     VALUES ('px6', gen_random_uuid(), $1, '127.0.0.1', '1', 'login', 'password', 'http', 'ru', '6', now(),
             now())
     RETURNING id`,
    orderReference,
  );
const foundProlongation = async (): Promise<number> =>
  insert(
    `INSERT INTO found_prolongations (proxy_id, date_end_before, date_end)
     SELECT id, date_end, date_end + interval '30 days' FROM proxies WHERE order_id = $1
     RETURNING id`,
    await purchase(),
  );
const webhook = (): Promise<number> =>
  insert(
    `INSERT INTO webhooks (user_id, url, secret) VALUES ($1, 'https://127.0.0.1/hooks', 'whsec_')
     RETURNING id`,
    customer.id,
  );
const refundForStaff = async (): Promise<number> =>
  insert(
    `INSERT INTO proxy_refunds (proxy_id, user_id, last_order_id, state, reason, next_check_at)
     SELECT id, user_id, order_id, 'staff', 'undecided', NULL FROM proxies WHERE order_id = $1 RETURNING id`,
    await purchase(),
  );
const addRule = async (): Promise<number> =>
  (
    await service.app
      .get(PriceRulesService)
      .add({ userId: customer.id, markupPercent: '20' }, { by: 'test', reason: 'test' })
  ).id;

interface Request {
  readonly path?: Readonly<Record<string, number>>;
  readonly body?: object;
  readonly query?: string;
}

/** Requests that need more than a reason to be valid. */
const REQUESTS: Readonly<Record<string, () => Request | Promise<Request>>> = {
  'POST /staff/users': () => ({ body: { username: 'walked' } }),
  'POST /staff/users/{user_id}/tokens': () => ({ body: { scopes: ['staff:users'] } }),
  'POST /staff/tokens/{token_id}/revoke': async () => {
    const { token } = await service.app.get(TokensService).issue({ userId: customer.id, scopes: [] });
    return { path: { token_id: token.id } };
  },
  'POST /staff/users/{user_id}/credit': () => ({ body: POSTING }),
  'POST /staff/users/{user_id}/debit': () => ({ body: POSTING }),
  'GET /staff/users/{user_id}/statement': () => ({ query: PERIOD }),
  'POST /staff/orders/{order_id}/decide': async () => ({
    path: { order_id: await orderInReview() },
    body: { decision: 'cancel', ...REASON },
  }),
  'POST /staff/orders/{order_id}/refund': async () => ({ path: { order_id: await purchase() } }),
  'POST /staff/webhooks/{webhook_id}/disable': async () => ({ path: { webhook_id: await webhook() } }),
  'POST /staff/webhooks/{webhook_id}/enable': async () => ({ path: { webhook_id: await webhook() } }),
  'PUT /staff/renewals': () => ({ body: { paused: false, ...REASON } }),
  'PUT /staff/users/{user_id}/renewals': () => ({ body: { paused: false, ...REASON } }),
  'POST /staff/missing-proxies/withdraw': async () => {
    await service.dataSource.query('UPDATE proxies SET absences = 2 WHERE order_id = $1', [await purchase()]);
    return { body: { proxies: 1, ...REASON } };
  },
  'POST /staff/unmatched-proxies/{unmatched_proxy_id}/deliver': async () => ({
    path: { unmatched_proxy_id: await unmatchedProxy(`prs.test.u${customer.id}.o999x`) },
    body: { user_id: customer.id, price: '1.00', period: 3, ...REASON },
  }),
  'POST /staff/found-prolongations/{prolongation_id}/charge': async () => ({
    path: { prolongation_id: await foundProlongation() },
    body: { price: '1.00', ...REASON },
  }),
  'POST /staff/found-prolongations/{prolongation_id}/write-off': async () => ({
    path: { prolongation_id: await foundProlongation() },
  }),
  'POST /staff/maintenance/end': async () => {
    // No open order is older, because all are settled.
    await service.dataSource.query(`INSERT INTO maintenance (begun_at) VALUES ('2020-01-01')`);
    await service.dataSource.query(
      `INSERT INTO completed_sweeps (began_at, listed) VALUES ('2020-01-02', 0), ('2020-01-03', 0)`,
    );
    return {};
  },
  'POST /staff/unmatched-proxies/{unmatched_proxy_id}/assign': async () => ({
    path: { unmatched_proxy_id: await unmatchedProxy() },
    body: { order_id: await purchase(), ...REASON },
  }),
  'POST /staff/unmatched-proxies/{unmatched_proxy_id}/mark': async () => ({
    path: { unmatched_proxy_id: await unmatchedProxy() },
    body: { state: 'written-off', ...REASON },
  }),
  'PUT /staff/refund-rule': async () => ({
    body: { ...(await staff.get<object>('/staff/refund-rule')).body, ...REASON },
  }),
  'GET /staff/refunds/file': () => ({ query: PERIOD }),
  'POST /staff/refunds/{refund_id}/decide': async () => ({
    path: { refund_id: await refundForStaff() },
    body: { decision: 'refund', ...REASON },
  }),
  'GET /staff/sales': () => ({ query: '?from=2026-01-01&to=2026-02-01' }),
  'GET /staff/price-rules/which': () => ({ query: '?period=30' }),
  'GET /staff/price-rules/{rule_id}': async () => ({ path: { rule_id: await addRule() } }),
  'POST /staff/price-rules': () => ({ body: { ...RULE, ...REASON } }),
  'POST /staff/price-rules/preview': async () => {
    await customer.api.GET('/price', { params: { query: { count: 1, period: 30 } } });
    return { body: { add: RULE } };
  },
  'POST /staff/price-rules/{rule_id}/end': async () => ({ path: { rule_id: await addRule() } }),
  'GET /staff/orders/{order_id}': async () => ({ path: { order_id: await purchase() } }),
};

it('records every operation of the description, with who made it and from where', async () => {
  const operations = operationsOf(await readDescription(`${service.baseUrl}/staff/openapi.json`));
  expect(operations.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(REQUESTS)));
  const usual = { user_id: customer.id, token_id: staff.tokenId };
  for (const { name, method, path, operation } of operations) {
    const { path: others, body = REASON, query = '' } = (await REQUESTS[name]?.()) ?? {};
    const ids: Readonly<Record<string, number>> = { ...usual, ...others };
    const address = path.replaceAll(/\{(\w+)\}/g, (_, id: string) => String(ids[id])) + query;
    const { operationId = '' } = operation;
    const response =
      method === 'GET'
        ? await staff.get(address)
        : await staff.change(method, address, body, { 'Idempotency-Key': `walked-${operationId}` });
    expect([name, response.status >= 200 && response.status < 300]).toEqual([name, true]);
    const [row] = await service.dataSource.query<Record<string, unknown>[]>(
      `SELECT user_id, token_id, via, action, host(ip) AS ip, request_id, after, refusal FROM audit_log
         ORDER BY id DESC LIMIT 1`,
    );
    expect([name, row]).toEqual([
      name,
      {
        user_id: staff.id,
        token_id: staff.tokenId,
        via: 'api',
        action: operationId,
        ip: '127.0.0.1',
        request_id: response.headers.get('X-Request-Id'),
        after: method === 'GET' || READS_BY_POST.includes(operationId) ? null : expect.any(Object),
        refusal: null,
      },
    ]);
  }
});

it('is paged from the newest to the oldest record, each once', async () => {
  for (let n = 0; n < 5; n += 1) await staff.get('/staff/scopes');
  const seen = await readPages<Action>(async (cursor) => {
    const page = await search(`user_id=${staff.id}&limit=2${cursor}`);
    expect(page.items.length).toBeLessThanOrEqual(2);
    return page;
  });
  const [count] = await service.dataSource.query<{ n: number }[]>(
    'SELECT count(*)::int AS n FROM audit_log WHERE user_id = $1',
    [staff.id],
  );
  expect(seen).toHaveLength(count?.n ?? -1);
  const ids = seen.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)].sort((a, b) => b - a));
});

it('can be searched by member of staff, action and time', async () => {
  await staff.get('/staff/scopes');
  const [found] = (await search(`user_id=${staff.id}&action=scopes.list&limit=1`)).items;
  expect(found).toMatchObject({ user_id: staff.id, action: 'scopes.list', target: null, before: null });
  const at = encodeURIComponent(found?.at ?? '');
  expect((await search(`action=scopes.list&to=${at}`)).items.map(({ id }) => id)).not.toContain(found?.id);
  expect((await search(`action=scopes.list&from=${at}`)).items.map(({ id }) => id)).toContain(found?.id);
  expect(await search('user_id=999999')).toEqual({ items: [], next_cursor: null });
});

it('can be searched by days, the last one included, for changes alone', async () => {
  const subject = await createStaff(service);
  const { id } = await service.createUser();
  await subject.post(`/staff/users/${id}/block`, REASON);
  await subject.get(`/staff/users/${id}`);
  await subject.post('/staff/users/999999/block', REASON);
  const { items } = await search(`user_id=${subject.id}`);
  const actionsIn = async (query: string) =>
    (await search(`user_id=${subject.id}&${query}`)).items.map(({ action }) => action);
  const all = items.map(({ action }) => action);
  const dayOf = (at = '', daysBefore = 0) =>
    new Date(Date.parse(at) - daysBefore * 86_400_000).toJSON().slice(0, 10);
  const [first, last] = [dayOf(items.at(-1)?.at), dayOf(items[0]?.at)];
  const before = dayOf(items.at(-1)?.at, 1);
  expect(all).toEqual(['users.block', 'users.read', 'users.block']);
  expect(await actionsIn(`from=${first}&to=${last}`)).toEqual(all);
  expect(await actionsIn(`from=${before}&to=${before}`)).toEqual([]);
  expect(await actionsIn(`from=0001-01-01&to=9999-12-31`)).toEqual(all);
  expect(await actionsIn(`from=${first}&changes_only=true`)).toEqual(['users.block']);
  expect((await auditor.get(`/staff/actions?from=${first}&to=${before}`)).status).toBe(400);
});

it.each(['limit=201', 'limit=0', 'user_id=x', 'from=yesterday', 'target=42', 'target=rule:1', 'cursor=-1'])(
  'refuses a search by %s',
  async (query) => {
    const response = await auditor.get(`/staff/actions?${query}`);
    expect(response.status).toBe(422);
    expect(response.body['detail']).toHaveLength(1);
  },
);

it.each([
  ['token', 'prx_…', generateToken],
  ['secret of a link', 'prl_…', () => generateSecret('link')],
  ['secret of a webhook', 'whsec_…', generateWebhookSecret],
])('keeps no %s, even when the request contains one', async (_, kept, generate) => {
  expect((await staff.get(`/staff/users?query=${encodeURIComponent(generate())}`)).status).toBe(200);
  expect((await search(`user_id=${staff.id}&limit=1`)).items[0]?.request).toEqual({ query: kept });
});

const lastOf = async ({ id }: Staff): Promise<Action | undefined> =>
  (await search(`user_id=${id}&limit=1`)).items[0];

it('records the target, however its id was written', async () => {
  for (const written of [`${customer.id}`, `%20+0${customer.id}.0%20`, `%2B00${customer.id}`]) {
    expect((await staff.get('/staff/scopes')).status).toBe(200);
    expect([written, (await staff.get(`/staff/users/${written}`)).status]).toEqual([written, 200]);
    const target = { type: 'user', id: String(customer.id) };
    expect(await lastOf(staff)).toMatchObject({ action: 'users.read', target });
  }
});

it('records the whole request, however long its texts are', async () => {
  const query = 'ж'.repeat(100);
  expect((await staff.get(`/staff/users?query=${encodeURIComponent(query)}`)).status).toBe(200);
  expect((await lastOf(staff))?.request).toEqual({ query });
  const body = { username: 'ж'.repeat(500), web_username: 'x'.repeat(500) };
  expect((await staff.post('/staff/users', body)).status).toBe(201);
  expect((await lastOf(staff))?.request).toEqual(body);
});

it('records a search by HEAD, although its response has no body', async () => {
  const response = await sendRaw(service.baseUrl, {
    method: 'HEAD',
    path: '/staff/users?query=somebody',
    token: staff.token,
  });
  expect([response.status, response.text]).toEqual([200, '']);
  expect(await lastOf(staff)).toMatchObject({ action: 'users.search', request: { query: 'somebody' } });
});

it('records a retried request that was executed once', async () => {
  const key = { 'Idempotency-Key': 'logged' };
  for (const isDone of [true, false]) {
    const { status } = await staff.post(`/staff/users/${customer.id}/credit`, POSTING, key);
    expect([status, await lastOf(staff)]).toEqual([
      200,
      expect.objectContaining({ action: 'balance.credit', after: isDone ? expect.any(Object) : null }),
    ]);
  }
});

it('records a request whose sender did not wait for the response', async () => {
  const lock = await lockRow(service.owner, 'LOCK TABLE audit_log IN EXCLUSIVE MODE');
  const hangUp = new AbortController();
  const headers = { Authorization: `Bearer ${staff.token}` };
  const requested = fetch(`${service.baseUrl}/staff/users?query=hasty`, { headers, signal: hangUp.signal });
  await untilWaiting(service.owner, 'audit_log');
  hangUp.abort();
  await expect(requested).rejects.toThrow();
  await lock.release();
  await eventually(async () => {
    const last = await lastOf(staff);
    return last?.action === 'users.search' && JSON.stringify(last.request) === '{"query":"hasty"}';
  });
});

it('records every refusal with its text, because it shows something', async () => {
  const orderId = await purchase();
  const refuse = async (path: string, body: object | null, target: object) => {
    const headers = { 'Idempotency-Key': `refused-${path}` };
    const { status, body: response } =
      body === null
        ? await staff.get<{ detail: string }>(path)
        : await staff.post<{ detail: string }>(path, body, headers);
    expect([path, [400, 403, 404, 409].includes(status)]).toEqual([path, true]);
    expect([path, await lastOf(staff)]).toEqual([
      path,
      expect.objectContaining({ target, refusal: response.detail, before: null, after: null }),
    ]);
    return response.detail;
  };
  const order = { type: 'order', id: String(orderId) };
  const tooMuch = { ...REASON, amount: '999.00' };
  expect(await refuse(`/staff/orders/${orderId}/refund`, tooMuch, order)).toMatch(
    /^At most .* can be refunded/,
  );
  await refuse(`/staff/orders/${orderId}/decide`, { decision: 'cancel', ...REASON }, order);
  await refuse('/staff/users/999999', null, { type: 'user', id: '999999' });
  await refuse('/staff/orders/999999', null, { type: 'order', id: '999999' });
  await refuse('/staff/tokens/999999/revoke', REASON, { type: 'token', id: '999999' });
  const debit = { ...POSTING, amount: '99999999.00' };
  await refuse(`/staff/users/${customer.id}/debit`, debit, { type: 'user', id: String(customer.id) });
});

it('says nothing in a refusal that could not be recorded', async () => {
  await withFullDisk(service, ['users.read'], async () => {
    const response = await staff.get('/staff/users/999999');
    expect([response.status, response.body]).toMatchObject([500, { detail: 'Internal Server Error' }]);
  });
});

it('does not record requests that were not let in or could not be read', async () => {
  const stranger = await createStaff(service, ['staff:users']);
  expect((await stranger.get('/staff/actions')).status).toBe(403);
  expect((await stranger.post('/staff/users', {})).status).toBe(422);
  expect((await search(`user_id=${stranger.id}`)).items).toEqual([]);
});

it('is append-only', async () => {
  await staff.post(`/staff/users/${customer.id}/credit`, POSTING, { 'Idempotency-Key': 'kept' });
  for (const statement of [
    `UPDATE audit_log SET reason = 'other'`,
    'DELETE FROM audit_log',
    'TRUNCATE audit_log CASCADE',
  ]) {
    await expect(service.owner.query(statement)).rejects.toThrow('append-only');
  }
});

it('returns nothing, not even the beginning of a file, when it cannot be written', async () => {
  await withFullDisk(service, ['scopes.list', 'ledger.statement'], async () => {
    for (const path of ['/staff/scopes', `/staff/users/${customer.id}/statement${PERIOD}`]) {
      const response = await staff.get<{ detail: string }>(path);
      expect([response.status, response.body]).toMatchObject([500, { detail: 'Internal Server Error' }]);
      expect(response.headers.get('Content-Disposition')).toBeNull();
    }
  });
});
