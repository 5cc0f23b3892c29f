import { ALL_SCOPES, ALL_STAFF_SCOPES, type NewToken, TokensService } from '../src/auth';
import { Money } from '../src/common';
import type { ActionsPage } from '../src/staff/audit-log/audit-log.dto';
import type * as dto from '../src/staff/tokens/staff-tokens.dto';
import { beforeClosing, forAllTests, forEachTest } from './support/fixtures';
import { sendRaw } from './support/raw-http';
import { createStaff, type Json, type Staff, staffWith } from './support/staff';
import { sharedTestService } from './support/test-service';
import { withinOneDay } from './support/within-one-day';

type TokensPage = Json<dto.TokensPage>;
type Revoked = Json<dto.RevokedToken>;

const EVERYTHING = [...ALL_SCOPES, ...ALL_STAFF_SCOPES];
const HOUR_MS = 3_600_000;
const REASON = { reason: 'test' };
const service = forAllTests(sharedTestService);
const root = forAllTests(() => createStaff(service, EVERYTHING));
const customer = forEachTest(() => service.createUser());

async function restricted(limits: Partial<NewToken>, scopes = EVERYTHING): Promise<Staff> {
  const { id } = await service.createUser({ balance: '10000.00', scopes: [] });
  const { text, token } = await service.app.get(TokensService).issue({ userId: id, scopes, ...limits });
  return staffWith(service, id, text, token.id);
}

const issue = (by: Staff, token: object, userId = by.id) =>
  by.post<Json<dto.IssuedToken> & { detail?: unknown }>(`/staff/users/${userId}/tokens`, token);

async function issued(by: Staff, token: object, userId = by.id): Promise<Staff> {
  const { status, body } = await issue(by, token, userId);
  expect([status, body]).toEqual([201, expect.any(Object)]);
  return staffWith(service, userId, body.token, body.id);
}

const tokensOf = async (userId: number): Promise<unknown> =>
  (
    await service.dataSource.query<{ n: number }[]>(
      'SELECT count(*)::int AS n FROM api_tokens WHERE user_id = $1',
      [userId],
    )
  )[0]?.n;

describe('A token that is issued by another one', () => {
  const bounds = () => ({
    allowedIps: ['127.0.0.1', '10.0.0.0/8', '2001:db8::/32'],
    dailyLimit: Money.parse('10.00'),
    expiresAt: new Date(Date.now() + HOUR_MS),
  });

  it('has the restrictions of that one where it requests none', async () => {
    const limits = bounds();
    const issuer = await restricted(limits);
    const { status, body } = await issue(issuer, { scopes: EVERYTHING });
    expect([status, body]).toEqual([
      201,
      expect.objectContaining({
        allowed_ips: ['127.0.0.1/32', '10.0.0.0/8', '2001:db8::/32'],
        daily_limit: '10.00',
        expires_at: limits.expiresAt.toISOString(),
        issued_by: issuer.tokenId,
      }),
    ]);
  });

  it('can be narrower', async () => {
    const issuer = await restricted(bounds());
    const narrower = {
      scopes: ['profile:read'],
      allowed_ips: ['10.1.0.0/16', '::ffff:10.2.0.0/112', '2001:db8:1::/48'],
      daily_limit: '9.99',
      expires_at: new Date(Date.now() + HOUR_MS / 2).toISOString(),
    };
    const { status, body } = await issue(issuer, narrower, customer.id);
    expect([status, body]).toEqual([
      201,
      expect.objectContaining({ daily_limit: '9.99', expires_at: narrower.expires_at }),
    ]);
  });

  it.each([
    ['expires_at', { expires_at: '2100-01-01T00:00:00Z' }],
    ['allowed_ips', { allowed_ips: ['10.0.0.0/7'] }],
    ['allowed_ips', { allowed_ips: ['10.0.0.1', '192.0.2.1'] }],
    ['allowed_ips', { allowed_ips: ['0.0.0.0/0'] }],
    ['allowed_ips', { allowed_ips: ['::/0'] }],
    ['allowed_ips', { allowed_ips: ['::ffff:0:0/96'] }],
    ['daily_limit', { daily_limit: '10.01' }],
    [
      'expires_at, allowed_ips, daily_limit',
      { expires_at: '2100-01-01T00:00:00Z', allowed_ips: ['::/0'], daily_limit: '1000000' },
    ],
  ])('is not wider: %s of %j', async (fields, wider) => {
    const issuer = await restricted(bounds());
    const detail = `A token cannot issue a less restricted token: ${fields}`;
    for (const userId of [issuer.id, customer.id]) {
      const tokens = await tokensOf(userId);
      const { status, body } = await issue(issuer, { scopes: ['profile:read'], ...wider }, userId);
      expect([status, body]).toMatchObject([403, { detail }]);
      expect(await tokensOf(userId)).toBe(tokens);
    }
    const [row] = await service.dataSource.query<object[]>(
      'SELECT action, refusal, token_id FROM audit_log ORDER BY id DESC LIMIT 1',
    );
    expect(row).toEqual({ action: 'tokens.create', refusal: detail, token_id: issuer.tokenId });
  });

  it('has no scope that the other one lacks', async () => {
    const issuer = await restricted({}, ['staff:tokens', 'staff:grant', 'profile:read']);
    const wider = { scopes: ['profile:read', 'proxies:write', 'staff:balance'] };
    const { status, body } = await issue(issuer, wider);
    expect([status, body]).toMatchObject([
      403,
      { detail: 'A token cannot grant scopes that it lacks: proxies:write, staff:balance' },
    ]);
    expect((await issue(issuer, { scopes: ['profile:read'] })).status).toBe(201);
  });

  it('has scopes of staff for somebody else only by staff:grant', async () => {
    const scopes = ['staff:tokens', 'staff:balance', 'profile:read'] as const;
    const issuer = await restricted({}, [...scopes]);
    const refused = await issue(issuer, { scopes: ['staff:balance'] }, customer.id);
    expect([refused.status, refused.body]).toMatchObject([
      403,
      { detail: 'Issuing staff scopes to another user requires the scope staff:grant' },
    ]);
    expect((await issue(issuer, { scopes: ['profile:read'] }, customer.id)).status).toBe(201);
    expect((await issue(issuer, { scopes: ['staff:balance'] })).status).toBe(201);
    const granting = await restricted({}, [...scopes, 'staff:grant']);
    expect((await issue(granting, { scopes: ['staff:balance'] }, customer.id)).status).toBe(201);
  });

  it('is not issued by one that was revoked since the request began', async () => {
    const issuer = await restricted({});
    const tokens = service.app.get(TokensService);
    const late = { userId: issuer.id, scopes: ['profile:read'], issuedBy: issuer.tokenId } as const;
    await tokens.revoke(issuer.tokenId);
    await expect(service.dataSource.transaction((manager) => tokens.issue(late, manager))).rejects.toThrow(
      'Invalid or expired token',
    );
  });
});

describe('The daily limit of a token', () => {
  withinOneDay();
  beforeClosing(() => service.audit({ withProvider: true }));

  let price: string;

  beforeAll(async () => {
    price = (await root.get<{ price_final: string }>('/price?count=1&period=30')).body.price_final;
  });

  const buy = (token: string) =>
    sendRaw(service.baseUrl, {
      method: 'POST',
      path: '/proxies/buy',
      token,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ country: 'ru', period: 30 }),
    });
  const EXCEEDED = [400, { detail: 'Daily spending limit of the token exceeded' }];

  it('is shared with the tokens that came from it, of any user', async () => {
    const issuer = await restricted({ dailyLimit: Money.parse(price).times(3) });
    const own = await issued(issuer, { scopes: EVERYTHING });
    const others = await issued(issuer, { scopes: ALL_SCOPES }, customer.id);
    const grandchild = await issued(own, { scopes: ALL_SCOPES, daily_limit: price });
    const spenders = [issuer, own, others, grandchild].map(({ token }) => token);
    const responses = await Promise.all([...spenders, ...spenders].map(buy));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(3);
    for (const token of spenders) {
      const response = await buy(token);
      expect([response.status, response.json()]).toEqual(EXCEEDED);
    }
  });

  it('gets back what an order of such a token released', async () => {
    const issuer = await restricted({ dailyLimit: Money.parse(price) });
    const { token } = await issued(issuer, { scopes: ALL_SCOPES }, customer.id);
    await service.control.addFault({ method: 'buy', kind: 'error', errorId: 300 });
    expect([(await buy(token)).status, (await buy(token)).status]).toEqual([400, 200]);
    const exceeded = await buy(issuer.token);
    expect([exceeded.status, exceeded.json()]).toEqual(EXCEEDED);
  });

  it('leaves a token without a limit alone that came from one without', async () => {
    const { token } = await issued(root, { scopes: ALL_SCOPES }, customer.id);
    expect((await buy(token)).status).toBe(200);
    const rows = await service.dataSource.query<object[]>(
      `SELECT FROM token_spending JOIN api_tokens ON id = token_id WHERE user_id = $1`,
      [customer.id],
    );
    expect(rows).toEqual([]);
  });

  it('never deadlocks when trees of tokens order and are canceled at once', async () => {
    const issuer = await restricted({ dailyLimit: Money.parse('100000.00') });
    const tree = await Promise.all(
      Array.from({ length: 4 }, async (_, n) =>
        issued(issuer, { scopes: EVERYTHING }, n % 2 ? customer.id : issuer.id),
      ),
    );
    const leaves = await Promise.all(tree.map((branch) => issued(branch, { scopes: ALL_SCOPES })));
    await service.control.addFault({ method: 'buy', kind: 'error', errorId: 300, times: 8 });
    const tokens = [issuer, ...tree, ...leaves].map(({ token }) => token);
    const responses = await Promise.all([...tokens, ...tokens, ...tokens].map(buy));
    expect(responses.filter(({ status }) => status >= 500).map(({ text }) => text)).toEqual([]);
    // Batched orders may have left faults unused.
    await service.control.resetFaults();
    await service.untilSettled();
  });
});

describe('The tokens that came from a token', () => {
  const listed = async (id: number, query = ''): Promise<TokensPage> =>
    (await root.get<TokensPage>(`/staff/tokens/${id}/descendants${query}`)).body;
  const statusOf = async ({ token }: Staff) =>
    (await sendRaw(service.baseUrl, { path: '/me', token })).status;

  it('are revoked with it when that is requested, and are listed before', async () => {
    const issuer = await restricted({});
    const child = await issued(issuer, { scopes: EVERYTHING });
    const grandchild = await issued(child, { scopes: ALL_SCOPES }, customer.id);
    const revoked = await issued(child, { scopes: ALL_SCOPES });
    await root.post(`/staff/tokens/${revoked.tokenId}/revoke`, REASON);
    const before = [child.tokenId, grandchild.tokenId];
    const { items } = await listed(issuer.tokenId);
    expect(items.map(({ id, user_id: owner, issued_by: by }) => [id, owner, by])).toEqual([
      [child.tokenId, issuer.id, issuer.tokenId],
      [grandchild.tokenId, customer.id, child.tokenId],
    ]);
    const first = await listed(issuer.tokenId, '?limit=1');
    const second = await listed(issuer.tokenId, `?limit=1&cursor=${first.next_cursor}`);
    expect([...first.items, ...second.items]).toEqual(items);
    expect((await root.get('/staff/tokens/999999/descendants')).body).toMatchObject({
      detail: 'Token not found',
    });

    const path = `/staff/tokens/${issuer.tokenId}/revoke`;
    const alone = await root.post<Revoked>(path, REASON);
    expect(alone.body.revoked_descendants).toEqual([]);
    expect([await statusOf(issuer), await statusOf(child), await statusOf(grandchild)]).toEqual([
      401, 200, 200,
    ]);
    const all = await root.post<Revoked>(path, { ...REASON, descendants: true });
    expect(all.body).toMatchObject({ revoked_at: alone.body.revoked_at, revoked_descendants: before });
    expect([await statusOf(child), await statusOf(grandchild)]).toEqual([401, 401]);
    expect(await listed(issuer.tokenId)).toEqual({ items: [], next_cursor: null });
    const [action] = (
      await root.get<Json<ActionsPage>>(
        `/staff/actions?target=token:${issuer.tokenId}&action=tokens.revoke&limit=1`,
      )
    ).body.items;
    expect(action?.after).toMatchObject({ revoked_descendants: before });
  });

  it('are all revoked, those too that are issued at that moment', async () => {
    const issuer = await restricted({});
    const child = await issued(issuer, { scopes: EVERYTHING });
    const issuing = Array.from({ length: 12 }, (_, n) =>
      issue(n % 2 ? child : issuer, { scopes: ALL_SCOPES }, customer.id),
    );
    const { status } = await root.post(`/staff/tokens/${issuer.tokenId}/revoke`, {
      ...REASON,
      descendants: true,
    });
    expect(status).toBe(200);
    for (const response of await Promise.all(issuing)) expect([201, 401]).toContain(response.status);
    expect((await listed(issuer.tokenId)).items).toEqual([]);
  });
});

describe('The log', () => {
  it('names the token that was used, its owner, and who issued it by which token', async () => {
    const colleague = await service.createUser({ balance: '0.00', scopes: [] });
    const child = await issued(root, { scopes: ['staff:balance', 'staff:audit'] }, colleague.id);
    const credit = { amount: '5.00', reason: 'test' };
    const path = `/staff/users/${customer.id}/credit`;
    expect((await child.post(path, credit, { 'Idempotency-Key': 'named' })).status).toBe(200);
    const search = `/staff/actions?user_id=${colleague.id}&action=balance.credit`;
    expect((await child.get<Json<ActionsPage>>(search)).body.items).toEqual([
      expect.objectContaining({
        user_id: colleague.id,
        token_id: child.tokenId,
        issuer: { token_id: root.tokenId, user_id: root.id },
      }),
    ]);
    const own = (await root.get<Json<ActionsPage>>(`/staff/actions?user_id=${root.id}&limit=1`)).body.items;
    expect(own).toEqual([expect.objectContaining({ token_id: root.tokenId, issuer: null })]);
  });
});
