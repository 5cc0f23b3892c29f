import { ALL_SCOPES, ALL_STAFF_SCOPES } from '../src/auth';
import type * as tokens from '../src/staff/tokens/staff-tokens.dto';
import type * as users from '../src/staff/users/staff-users.dto';
import { withFullDisk } from './support/audit-log';
import { forAllTests } from './support/fixtures';
import { readPages } from './support/pages';
import { sendRaw } from './support/raw-http';
import { startReplica } from './support/replica';
import { createStaff, type Json } from './support/staff';
import { startTestService } from './support/test-service';
import { withinOneDay } from './support/within-one-day';

type UserOut = Json<users.UserOut>;
type UsersPage = Json<users.UsersPage>;
type Token = Json<tokens.IssuedToken>;
type TokensPage = Json<tokens.TokensPage>;

const MOMENT = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);

// The tests insert open orders, and users with fixed names and numbers.
const service = forAllTests(startTestService);
const staff = forAllTests(() => createStaff(service, [...ALL_SCOPES, ...ALL_STAFF_SCOPES]));
withinOneDay();

const create = async (user: object): Promise<UserOut> => {
  const { status, body } = await staff.post<UserOut>('/staff/users', user);
  expect(status).toBe(201);
  return body;
};
const search = async (query: string): Promise<UsersPage> =>
  (await staff.get<UsersPage>(`/staff/users?${query}`)).body;
const logOf = (type: string, id: number) =>
  service.dataSource.query<Record<string, unknown>[]>(
    `SELECT action, reason, before, after FROM audit_log
       WHERE target_type = $1 AND target_id = $2 ORDER BY id`,
    [type, String(id)],
  );
const countUsers = async () =>
  (await service.dataSource.query<{ n: number }[]>('SELECT count(*)::int AS n FROM users'))[0]?.n;

describe('Users', () => {
  it('are created with what is known of them, and recorded', async () => {
    const { links, ...user } = await create({
      username: 'anna',
      tg_id: 9_007_199_254_740_991,
      web_username: 'anna@example.org',
    });
    expect(links).toEqual({
      user: `/staff/users/${user.id}`,
      orders: `/staff/orders?user_id=${user.id}`,
      ledger: `/staff/users/${user.id}/ledger`,
      tokens: `/staff/users/${user.id}/tokens`,
      deposits: `/staff/deposits?user_id=${user.id}`,
      credit: `/staff/users/${user.id}/credit?amount=`,
    });
    expect(user).toEqual({
      id: expect.any(Number),
      username: 'anna',
      telegram_username: null,
      tg_id: 9_007_199_254_740_991,
      web_username: 'anna@example.org',
      has_app: false,
      created_at: MOMENT,
      blocked_at: null,
      blocked_reason: null,
      deleted_at: null,
    });
    expect(await logOf('user', user.id)).toEqual([
      { action: 'users.create', reason: null, before: null, after: user },
    ]);
  });

  it('are unique by tg_id and web_username; a refused one is neither created nor recorded', async () => {
    await create({ username: 'once', tg_id: 77, web_username: 'seven' });
    const before = await countUsers();
    for (const [taken, field] of [
      [{ tg_id: 77 }, 'tg_id'],
      [{ web_username: 'seven' }, 'web_username'],
    ] as const) {
      const { status, body } = await staff.post('/staff/users', { username: 'twice', ...taken });
      expect([status, body]).toMatchObject([409, { detail: `A user with this ${field} already exists` }]);
    }
    expect(await countUsers()).toBe(before);
  });

  it('are not created when the audit log cannot be written', async () => {
    const before = await countUsers();
    await withFullDisk(service, ['users.create'], async () => {
      expect((await staff.post('/staff/users', { username: 'unlogged' })).status).toBe(500);
    });
    expect(await countUsers()).toBe(before);
  });

  it.each([
    [{}, 'missing', 'username'],
    [{ username: ' ' }, 'string_pattern_mismatch', 'username'],
    [{ username: 'a\u0000b' }, 'string_pattern_mismatch', 'username'],
    [{ username: 'a'.repeat(501) }, 'string_too_long', 'username'],
    [{ username: 'a', tg_id: 0 }, 'greater_than', 'tg_id'],
    [{ username: 'a', tg_id: 2 ** 53 }, 'less_than_equal', 'tg_id'],
  ])('are not created from %j', async (body, type, field) => {
    const response = await staff.post('/staff/users', body);
    expect(response.status).toBe(422);
    expect(response.body['detail']).toEqual([expect.objectContaining({ type, loc: ['body', field] })]);
  });

  it('are found by their id and by parts of their names and number', async () => {
    const user = await create({
      username: 'Grüße_100%',
      tg_id: 5_551_234_999,
      web_username: 'Mail@Example.net',
    });
    for (const query of [
      String(user.id),
      'grüße',
      '_100%',
      '51234',
      '5551234999',
      'mail@ex',
      'gr',
      'ma',
      'net',
    ]) {
      const { items } = await search(`query=${encodeURIComponent(query)}`);
      expect([query, items.map(({ id }) => id)]).toEqual([query, expect.arrayContaining([user.id])]);
    }
    for (const query of ['_200%', 'ü', 'et', '%', '_', '\\', '999999999999']) {
      const { items } = await search(`query=${encodeURIComponent(query)}`);
      expect([query, items.map(({ id }) => id)]).toEqual([query, expect.not.arrayContaining([user.id])]);
    }
  });

  it('are paged from the newest to the oldest', async () => {
    for (let n = 0; n < 5; n += 1) await create({ username: `paged ${n}` });
    const users = await readPages((cursor) => search(`query=paged&limit=2${cursor}`));
    expect(users.map(({ username }) => username)).toEqual([4, 3, 2, 1, 0].map((n) => `paged ${n}`));
  });

  it('are shown with their balance, held money and spending', async () => {
    const user = await service.createUser({ balance: '1000.00' });
    await user.buy();
    const { available } = await service.balanceOf(user);
    const { body } = await staff.get(`/staff/users/${user.id}`);
    const spent = (1000 - Number(available)).toFixed(2);
    expect(body).toMatchObject({
      id: user.id,
      balance: available,
      held: '0.00',
      spent_today: spent,
      spent_30_days: spent,
      spent_total: spent,
      open_orders: 0,
      last_order_at: MOMENT,
    });
    await service.dataSource.query(
      `WITH old AS (
         INSERT INTO orders (user_id, kind, order_reference, country, version, period, count, proxy_type,
                             unit_price, hold_amount, provider, provider_price, created_at, queued_until,
                             next_search_at)
         SELECT user_id, kind, order_reference || '-old', country, version, period, 1, proxy_type, 100, 100,
                provider, provider_price, created_at - interval '40 days', now() + interval '1 day',
                now() + interval '1 day'
           FROM orders WHERE user_id = $1
         RETURNING id)
       INSERT INTO ledger_entries (user_id, kind, order_id, available_delta, held_delta, created_at)
       SELECT $1, kind, old.id, available, held, now() - interval '40 days'
         FROM old, (VALUES ('hold', -100, 100), ('capture', 0, -100)) AS entry (kind, available, held)`,
      [user.id],
    );
    const refund = async (amount: number) =>
      service.dataSource.query(
        `WITH action AS (INSERT INTO audit_log (via, action, request) VALUES ('cli', 'test', '{}')
           RETURNING id)
         INSERT INTO ledger_entries (user_id, kind, order_id, available_delta, held_delta, action_id)
         SELECT $1, 'refund', (SELECT max(id) FROM orders WHERE user_id = $1), $2, 0, id FROM action`,
        [user.id, amount],
      );
    await refund(10);
    expect((await staff.get(`/staff/users/${user.id}`)).body).toMatchObject({
      spent_today: (Number(spent) - 10).toFixed(2),
      spent_30_days: (Number(spent) - 10).toFixed(2),
      spent_total: (Number(spent) + 90).toFixed(2),
      open_orders: 1,
      last_order_at: body['last_order_at'],
    });
    const fresh = await service.createUser({ balance: '0.00' });
    expect((await staff.get(`/staff/users/${fresh.id}`)).body).toMatchObject({
      spent_total: '0.00',
      last_order_at: null,
    });
  });

  it('that do not exist are a 404', async () => {
    for (const path of [
      '/staff/users/999999',
      '/staff/users/999999/tokens',
      `/staff/users/${'9'.repeat(30)}`,
    ]) {
      const { status, body } = await staff.get(path);
      expect([path, status, body]).toMatchObject([path, 404, { detail: 'User not found' }]);
    }
    for (const path of ['block', 'unblock']) {
      expect((await staff.post(`/staff/users/999999/${path}`, { reason: 'test' })).status).toBe(404);
    }
    expect((await staff.post('/staff/users/999999/tokens', { scopes: ['profile:read'] })).status).toBe(404);
    expect((await staff.get('/staff/users/boris')).body['detail']).toEqual([
      expect.objectContaining({ type: 'int_parsing', loc: ['path', 'user_id'] }),
    ]);
  });

  it('are blocked and unblocked with a reason, recorded with the state before and after', async () => {
    const user = await service.createUser();
    const status = async () => (await sendRaw(service.baseUrl, { path: '/me', token: user.token })).status;
    const { body: blocked } = await staff.post<UserOut>(`/staff/users/${user.id}/block`, { reason: 'fraud' });
    expect(blocked).toMatchObject({ blocked_at: MOMENT, blocked_reason: 'fraud' });
    expect(await status()).toBe(403);
    const { body: again } = await staff.post<UserOut>(`/staff/users/${user.id}/block`, { reason: 'theft' });
    expect(again).toMatchObject({ blocked_at: blocked.blocked_at, blocked_reason: 'theft' });
    await staff.post(`/staff/users/${user.id}/unblock`, { reason: 'settled' });
    expect(await status()).toBe(200);
    const reasons = (await logOf('user', user.id)).map(({ action, reason, before, after }) => [
      action,
      reason,
      (before as UserOut).blocked_reason,
      (after as UserOut).blocked_reason,
    ]);
    expect(reasons).toEqual([
      ['users.block', 'fraud', null, 'fraud'],
      ['users.block', 'theft', 'fraud', 'theft'],
      ['users.unblock', 'settled', 'theft', null],
    ]);
  });
});

describe('Colleagues', () => {
  it('are blocked, and their tokens revoked, with staff:grant or by themselves only', async () => {
    const [usersOnly, tokensOnly] = await Promise.all([
      createStaff(service, ['staff:users']),
      createStaff(service, ['staff:tokens']),
    ]);
    const { id, tokenId } = await createStaff(service);
    const refused = { status: 403, body: { code: 'staff-scopes-for-another' } };
    const end = { reason: 'test', descendants: true };
    for (const path of ['block', 'unblock']) {
      expect(await usersOnly.post(`/staff/users/${id}/${path}`, { reason: 'test' })).toMatchObject(refused);
    }
    expect(await tokensOnly.post(`/staff/tokens/${tokenId}/revoke`, end)).toMatchObject(refused);
    // The colleague's token was issued with this customer's token.
    const { body: customers } = await staff.post<Token>(`/staff/users/${id}/tokens`, {
      scopes: ['profile:read'],
    });
    await service.owner.query('UPDATE api_tokens SET issued_by = $1 WHERE id = $2', [customers.id, tokenId]);
    const path = `/staff/tokens/${customers.id}/revoke`;
    expect(await tokensOnly.post(path, end)).toMatchObject(refused);
    expect((await tokensOnly.post(path, { reason: 'lost' })).status).toBe(200);
    // A user who revokes their own last staff token is no longer staff.
    const own = await createStaff(service, ['staff:tokens'], id);
    for (const token of [tokenId, own.tokenId]) {
      expect((await own.post(`/staff/tokens/${token}/revoke`, { reason: 'left' })).status).toBe(200);
    }
    expect((await usersOnly.post(`/staff/users/${id}/block`, { reason: 'left' })).status).toBe(200);
  });
});

describe('Tokens', () => {
  const issue = async (userId: number, token: object): Promise<Token> => {
    const { status, body } = await staff.post<Token>(`/staff/users/${userId}/tokens`, token);
    expect(status).toBe(201);
    return body;
  };

  it('are issued with their limits and shown once; their text is kept nowhere', async () => {
    const user = await service.createUser();
    const issued = await issue(user.id, {
      scopes: ['profile:read', 'profile:read'],
      name: 'laptop',
      expires_at: '2100-11-21T00:00:00+03:00',
      allowed_ips: ['127.0.0.1', '10.1.2.3/8'],
      daily_limit: '500',
    });
    const { token, ...rest } = issued;
    expect(rest).toEqual({
      id: expect.any(Number),
      user_id: user.id,
      name: 'laptop',
      scopes: ['profile:read'],
      created_at: MOMENT,
      expires_at: '2100-11-20T21:00:00.000Z',
      revoked_at: null,
      last_used_at: null,
      allowed_ips: ['127.0.0.1/32', '10.0.0.0/8'],
      daily_limit: '500.00',
      issued_by: staff.tokenId,
      origin: 'staff',
    });
    expect((await sendRaw(service.baseUrl, { path: '/me', token })).status).toBe(200);
    const { body: listed } = await staff.get<TokensPage>(`/staff/users/${user.id}/tokens`);
    expect(listed.items).toContainEqual({ ...rest, last_used_at: MOMENT });
    const log = await service.dataSource.query<{ line: string }[]>(
      'SELECT audit_log::text AS line FROM audit_log',
    );
    expect(JSON.stringify([listed, log])).not.toContain(token.slice(4));
  });

  it('are paged from the oldest to the newest', async () => {
    const user = await service.createUser({ scopes: [] });
    for (let n = 0; n < 4; n += 1) await issue(user.id, { scopes: ['profile:read'], name: `paged ${n}` });
    const list = `/staff/users/${user.id}/tokens?limit=2`;
    const tokens = await readPages(async (cursor) => (await staff.get<TokensPage>(list + cursor)).body);
    expect(tokens.map(({ name }) => name)).toEqual([null, 'paged 0', 'paged 1', 'paged 2', 'paged 3']);
    expect((await staff.get(`/staff/users/${user.id}/tokens?limit=201`)).status).toBe(422);
  });

  it.each([
    [{ scopes: [] }, 'too_short', ['scopes']],
    [{ scopes: ['profile:read', 'all'] }, 'enum', ['scopes', 1]],
    [{ allowed_ips: ['10.0.0.0/8', 'localhost'] }, 'ip_any_network', ['allowed_ips', 1]],
    [{ allowed_ips: [] }, 'too_short', ['allowed_ips']],
    [{ daily_limit: '0' }, 'greater_than', ['daily_limit']],
    [{ expires_at: 'tomorrow' }, 'datetime_parsing', ['expires_at']],
  ])('are not issued from %j', async (fields, type, loc) => {
    const { status, body } = await staff.post(`/staff/users/${staff.id}/tokens`, {
      scopes: ['profile:read'],
      ...fields,
    });
    expect(status).toBe(422);
    expect(body['detail']).toEqual([expect.objectContaining({ type, loc: ['body', ...loc] })]);
  });

  it('are refused on every replica by the very next request after their revocation', async () => {
    const user = await service.createUser();
    const replica = await startReplica(service);
    try {
      const { id, token } = await issue(user.id, { scopes: ['profile:read'] });
      const statuses = async () =>
        Promise.all(
          [service, replica].map(
            async ({ baseUrl }) => (await sendRaw(baseUrl, { path: '/me', token })).status,
          ),
        );
      expect(await statuses()).toEqual([200, 200]);
      const { body } = await staff.post<Token>(`/staff/tokens/${id}/revoke`, { reason: 'lost' });
      expect([await statuses(), body.revoked_at]).toEqual([[401, 401], MOMENT]);
      const { body: again } = await staff.post<Token>(`/staff/tokens/${id}/revoke`, { reason: 'lost' });
      expect(again.revoked_at).toBe(body.revoked_at);
      expect(await logOf('token', id)).toMatchObject([
        { action: 'tokens.create' },
        {
          action: 'tokens.revoke',
          reason: 'lost',
          before: { revoked_at: null },
          after: { revoked_at: MOMENT },
        },
        { action: 'tokens.revoke' },
      ]);
    } finally {
      await replica.close();
    }
    expect((await staff.post('/staff/tokens/999999/revoke', { reason: 'test' })).body).toMatchObject({
      detail: 'Token not found',
    });
  });
});
