import type { EntityManager } from 'typeorm';
import { type CustomerScope, type Scope, TOKEN_REFERENCES, TokensService, USUAL_SCOPES } from '../src/auth';
import { Money } from '../src/common';
import { LedgerService } from '../src/ledger';
import { UsersService } from '../src/users';
import { createApiClient, fetchAs } from './support/api-client';
import { forAllTests } from './support/fixtures';
import { createStaff, staffWith } from './support/staff';
import { untilWaiting } from './support/table-lock';
import { startTestService, type TestUser } from './support/test-service';

const WRITE: readonly Scope[] = ['tokens:write', 'profile:read', 'proxies:read'];

// The clock advances.
const service = forAllTests(startTestService);

interface Issuer extends Pick<TestUser, 'id' | 'token' | 'api'> {
  readonly tokenId: number;
}

async function createCustomer(): Promise<{ id: number }> {
  const { id } = await service.app.get(UsersService).create({ username: 'test' });
  await service.app.get(LedgerService).credit(id, Money.parse('10000.00'), 'test');
  return { id };
}

async function createIssuer(
  bounds: { scopes?: readonly Scope[]; expiresAt?: Date; allowedIps?: string[]; dailyLimit?: Money } = {},
  user?: Pick<TestUser, 'id'>,
): Promise<Issuer> {
  const { id } = user ?? (await createCustomer());
  const { text, token } = await service.app
    .get(TokensService)
    .issue({ userId: id, scopes: WRITE, ...bounds });
  return { id, token: text, tokenId: token.id, api: createApiClient(service.baseUrl, text) };
}

type RequestedToken = {
  scopes?: readonly string[];
  name?: string;
  expires_at?: string;
  allowed_ips?: string[];
  daily_limit?: string;
  [unknown: string]: unknown;
};

const issue = ({ api }: Pick<Issuer, 'api'>, requested: RequestedToken = {}) =>
  api.POST('/tokens', { body: { scopes: ['profile:read'], ...requested } as never });

async function issued(issuer: Pick<Issuer, 'api'>, requested?: RequestedToken) {
  const { data, error } = await issue(issuer, requested);
  if (!data) throw new Error(JSON.stringify(error));
  return { ...data, ...clientOf(data.token) };
}

const list = async ({ api }: Pick<Issuer, 'api'>, limit = 200) =>
  (await api.GET('/tokens', { params: { query: { limit } } })).data?.items ?? [];

const revoke = ({ api }: Pick<Issuer, 'api'>, tokenId: number, descendants?: boolean) =>
  api.DELETE('/tokens/{token_id}', {
    params: { path: { token_id: tokenId }, query: { ...(descendants !== undefined && { descendants }) } },
  });

const works = async ({ api }: Pick<TestUser, 'api'>): Promise<boolean> =>
  (await api.GET('/me')).response.status === 200;
const clientOf = (token: string) => ({ api: createApiClient(service.baseUrl, token) });
const inHours = (hours: number) => new Date(service.clock.now().getTime() + hours * 3_600_000);

describe('A customer with tokens:write', () => {
  it('issues a token that works at once, whose text is shown this once', async () => {
    const issuer = await createIssuer();
    const expiresAt = inHours(1).toISOString();
    const { data, response } = await issue(issuer, {
      scopes: ['proxies:read', 'profile:read', 'proxies:read'],
      name: 'reports',
      expires_at: expiresAt,
      allowed_ips: ['127.0.0.1', '203.0.113.9/24'],
      daily_limit: '500',
    });
    expect(response.status).toBe(201);
    const { token = '', ...shown } = data ?? {};
    expect(shown).toEqual({
      id: expect.any(Number),
      name: 'reports',
      scopes: ['proxies:read', 'profile:read'],
      state: 'active',
      is_current: false,
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      expires_at: expiresAt,
      revoked_at: null,
      last_used_at: null,
      allowed_ips: ['127.0.0.1/32', '203.0.113.0/24'],
      daily_limit: '500.00',
      issued_by: issuer.tokenId,
    });
    expect(await works(clientOf(token))).toBe(true);
    const result = JSON.stringify(await list(issuer));
    expect(result).toContain('reports');
    expect(result).not.toContain(token.slice(4));
  });

  it.each<
    [what: string, bounds: Parameters<typeof createIssuer>[0], requested: RequestedToken, detail: string]
  >([
    [
      'scopes',
      {},
      { scopes: ['profile:read', 'proxies:write'] },
      'A token cannot grant scopes that it lacks: proxies:write',
    ],
    [
      'an end',
      { expiresAt: new Date('2100-01-01') },
      { expires_at: '2100-01-01T00:00:01Z' },
      'A token cannot issue a less restricted token: expires_at',
    ],
    [
      'networks',
      { allowedIps: ['127.0.0.0/8'] },
      { allowed_ips: ['127.0.0.0/7'] },
      'A token cannot issue a less restricted token: allowed_ips',
    ],
    [
      'a daily limit',
      { dailyLimit: Money.parse('10.00') },
      { daily_limit: '10.01' },
      'A token cannot issue a less restricted token: daily_limit',
    ],
  ])('cannot issue a token that is wider in %s', async (_, bounds, requested, detail) => {
    const issuer = await createIssuer(bounds);
    const { error, response } = await issue(issuer, requested);
    expect([response.status, error]).toMatchObject([403, { detail }]);
    expect(await list(issuer)).toHaveLength(1);
  });

  it('passes on the limits of its token if the request names none, and accepts equal limits', async () => {
    const bounds = {
      expires_at: '2100-01-01T00:00:00.000Z',
      allowed_ips: ['127.0.0.0/8'],
      daily_limit: '30.00',
    };
    const issuer = await createIssuer({
      expiresAt: new Date(bounds.expires_at),
      allowedIps: ['127.0.0.0/8'],
      dailyLimit: Money.parse('30.00'),
      scopes: [...WRITE, 'proxies:write'],
    });
    const child = await issued(issuer, { scopes: ['proxies:write'] });
    expect(child).toMatchObject(bounds);
    const body = { country: 'ru', period: 30 } as const;
    expect((await child.api.POST('/proxies/buy', { body })).response.status).toBe(200);
    const second = await issued(issuer, { scopes: ['proxies:write'], ...bounds });
    const { error, response } = await second.api.POST('/proxies/buy', { body });
    expect(error).toEqual({ detail: 'Daily spending limit of the token exceeded' });
    expect(response.headers.get('Order-Refusal')).toBe('daily-limit-exceeded');
    await service.audit();
  });

  it.each(['tokens:write', 'staff:users', 'staff:grant', 'all', '*'])(
    'cannot hand on the scope %s',
    async (scope) => {
      const issuer = await createIssuer({ scopes: [...WRITE, 'staff:users', 'staff:grant', 'staff:tokens'] });
      const { error, response } = await issue(issuer, { scopes: ['profile:read', scope] });
      expect(response.status).toBe(422);
      expect(error).toMatchObject({ detail: [{ loc: ['body', 'scopes', 1], type: 'enum', input: scope }] });
    },
  );

  it('learns what is wrong with a request, and then has issued nothing', async () => {
    const issuer = await createIssuer();
    for (const requested of [
      { scopes: [] },
      { scopes: 'profile:read' },
      { user_id: 1 },
      { allowed_ips: ['10.0.0.0/33'] },
      { daily_limit: '0' },
      { name: '\u0007' },
    ]) {
      const { response } = await issue(issuer, requested as RequestedToken);
      expect([requested, response.status]).toEqual([requested, 422]);
    }
    const { error, response } = await issue(issuer, { expires_at: inHours(-1).toISOString() });
    expect([response.status, error]).toMatchObject([400, { detail: 'expires_at must be in the future' }]);
    expect(await list(issuer)).toHaveLength(1);
  });

  it('has a hundred working tokens at most, also when many are requested, and few ended ones', async () => {
    const issuer = await createIssuer();
    await service.owner.query(
      `INSERT INTO api_tokens (user_id, token_hash, scopes, origin, issued_by)
       SELECT $1, sha256(convert_to('token ' || n, 'utf8')), ARRAY['profile:read'], 'customer', $2
         FROM generate_series(1, 92) n`,
      [issuer.id, issuer.tokenId],
    );
    const responses = await Promise.all(Array.from({ length: 12 }, () => issue(issuer)));
    const statuses = responses.map(({ response }) => response.status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(8);
    expect(statuses.filter((status) => status === 409)).toHaveLength(4);
    expect(responses.find(({ error }) => error)?.error).toMatchObject({
      detail: 'The user already has 100 tokens: revoke some first',
    });
    const tokens = await list(issuer);
    expect(tokens).toHaveLength(101);
    await Promise.all(tokens.slice(1, 41).map(({ id }) => revoke(issuer, id)));
    await issued(issuer);
    const states = (await list(issuer)).map(({ state }) => state);
    expect(states.filter((state) => state === 'revoked')).toHaveLength(20);
    expect(states.filter((state) => state === 'active')).toHaveLength(62);
  });

  it('keeps tokens that have placed orders', async () => {
    const issuer = await createIssuer({ scopes: [...WRITE, 'proxies:write'] });
    const buyer = await issued(issuer, { scopes: ['proxies:write'] });
    await buyer.api.POST('/proxies/buy', { body: { country: 'ru', period: 30 } });
    await revoke(issuer, buyer.id);
    const others = await Promise.all(Array.from({ length: 22 }, () => issued(issuer)));
    await Promise.all(others.map(({ id }) => revoke(issuer, id)));
    await issued(issuer);
    const ids = (await list(issuer)).map(({ id }) => id);
    expect(ids).toContain(buyer.id);
    expect(ids).toHaveLength(1 + 1 + 20 + 1);
  });
});

describe('The list', () => {
  it('has the tokens of the customer alone, by pages, with their state and which one asks', async () => {
    const issuer = await createIssuer();
    await issued(await createIssuer());
    await revoke(issuer, (await issued(issuer, { name: 'gone' })).id);
    await issued(issuer, { name: 'short', expires_at: inHours(1).toISOString() });
    await works(await issued(issuer, { name: 'used' }));
    service.clock.advanceSeconds(3601);
    const tokens = await list(issuer);
    expect(tokens.map(({ name, state, is_current: isCurrent }) => [name, state, isCurrent])).toEqual([
      [null, 'active', true],
      ['gone', 'revoked', false],
      ['short', 'expired', false],
      ['used', 'active', false],
    ]);
    expect(tokens.map(({ last_used_at: at }) => at !== null)).toEqual([true, false, false, true]);
    const first = (await issuer.api.GET('/tokens', { params: { query: { limit: 3 } } })).data;
    const cursor = first?.next_cursor ?? 0;
    const second = (await issuer.api.GET('/tokens', { params: { query: { limit: 3, cursor } } })).data;
    expect([...(first?.items ?? []), ...(second?.items ?? [])]).toEqual(tokens);
    expect(second?.next_cursor).toBeNull();
  });

  it('has no tokens of staff, which cannot be revoked here either', async () => {
    const issuer = await createIssuer();
    const staff = await createStaff(service, ['profile:read', 'staff:users'], issuer.id);
    expect((await list(issuer)).map(({ id }) => id)).toEqual([issuer.tokenId]);
    const { error, response } = await revoke(issuer, staff.tokenId);
    expect([response.status, error]).toMatchObject([404, { detail: 'Token not found' }]);
    expect((await staff.get('/staff/users')).status).toBe(200);
  });
});

describe('Revoking a token', () => {
  it('takes effect at the next request, may be retried, and leaves what the token issued', async () => {
    const root = await createIssuer();
    const issuer = await createIssuer({}, root);
    const child = await issued(issuer);
    expect([(await revoke(root, issuer.tokenId)).response.status, await works(issuer)]).toEqual([204, false]);
    expect(await works(child)).toBe(true);
    const before = await list(root);
    service.clock.advanceSeconds(5);
    expect((await revoke(root, issuer.tokenId)).response.status).toBe(204);
    const revokedAt = (tokens: typeof before) => tokens.map(({ revoked_at: at }) => at);
    expect(revokedAt(await list(root))).toEqual(revokedAt(before));
    expect((await revoke(root, issuer.tokenId, true)).response.status).toBe(204);
    expect(await works(child)).toBe(false);
  });

  it('can end the token of the request, with all tokens that it issued', async () => {
    const issuer = await createIssuer();
    const child = await issued(issuer);
    expect((await revoke(issuer, issuer.tokenId, true)).response.status).toBe(204);
    expect([await works(issuer), await works(child)]).toEqual([false, false]);
    expect((await revoke(issuer, issuer.tokenId)).response.status).toBe(401);
  });

  it('never reaches the tokens of others, with any issued tokens', async () => {
    const issuer = await createIssuer({ scopes: [...WRITE, 'staff:tokens', 'staff:grant', 'staff:users'] });
    const staff = staffWith(service, issuer.id, issuer.token, issuer.tokenId);
    const customer = await createCustomer();
    const issueFor = async (userId: number, scopes: readonly Scope[]) =>
      (await staff.post<{ id: number; token: string }>(`/staff/users/${userId}/tokens`, { scopes })).body;
    const ofCustomer = await issueFor(customer.id, ['profile:read', 'tokens:write']);
    const colleague = await issueFor(issuer.id, ['profile:read', 'staff:users']);
    const own = await issueFor(issuer.id, ['profile:read', 'tokens:write']);
    const [owner, stranger] = [clientOf(own.token), clientOf(ofCustomer.token)];
    for (const [who, tokenId] of [
      [issuer, issuer.tokenId],
      [issuer, ofCustomer.id],
      [issuer, colleague.id],
      [owner, issuer.tokenId],
      [stranger, issuer.tokenId],
      [stranger, own.id],
    ] as const) {
      expect((await revoke(who, tokenId, true)).response.status).toBe(404);
    }
    // A token issued with staff scopes stays protected after it has lost them.
    await service.owner.query('UPDATE api_tokens SET scopes = $2 WHERE id = $1', [issuer.tokenId, WRITE]);
    expect((await revoke(issuer, issuer.tokenId, true)).response.status).toBe(204);
    const alive = [ofCustomer, colleague, own].map(({ token }) => works(clientOf(token)));
    expect(await Promise.all(alive)).toEqual([true, true, false]);
  });

  it('is refused by an id that is none', async () => {
    const issuer = await createIssuer();
    for (const [path, status] of [
      ['five', 422],
      ['0', 422],
      ['999999999', 404],
      ['1?descendants=yes', 422],
      ['1?all=true', 422],
    ] as const) {
      const response = await fetchAs(issuer, 'DELETE', `${service.baseUrl}/tokens/${path}`);
      expect([path, response.status]).toEqual([path, status]);
    }
  });

  it('waits for a token that is just being issued, which ends with it', async () => {
    const root = await createIssuer();
    const issuer = await createIssuer({}, root);
    const [issuing] = await Promise.all([
      Promise.all(Array.from({ length: 10 }, () => issue(issuer))),
      revoke(root, issuer.tokenId, true),
    ]);
    const children = issuing.flatMap(({ data }) => (data ? [data.token] : []));
    const alive = await Promise.all(children.map((token) => works(clientOf(token))));
    expect(alive).toEqual(children.map(() => false));
  });
});

describe('The life of tokens', () => {
  const eventsOf = async (userId: number) =>
    (
      await service.dataSource.query<{ type: string; data: { token_id: number } }[]>(
        `SELECT type, data FROM events WHERE user_id = $1 AND type LIKE 'token.%' ORDER BY id`,
        [userId],
      )
    ).map(({ type, data }) => [type, data]);

  it('is reported as events, and the audit agrees also when invalid tokens are gone', async () => {
    const issuer = await createIssuer();
    const of = (token: { id: number; name: string | null }) => ({
      token_id: token.id,
      name: token.name,
      scopes: ['profile:read'],
    });
    const child = await issued(issuer, { name: 'reports' });
    await issue(issuer, { scopes: ['proxies:write'] });
    await revoke(issuer, child.id);
    await revoke(issuer, child.id);
    expect((await eventsOf(issuer.id)).slice(1)).toEqual([
      ['token.created', of(child)],
      ['token.revoked', of(child)],
    ]);
    const others = await Promise.all(Array.from({ length: 21 }, () => issued(issuer)));
    await Promise.all(others.map(({ id }) => revoke(issuer, id)));
    await issued(issuer);
    expect((await list(issuer)).map(({ id }) => id)).not.toContain(child.id);
    await service.audit();
  });
});

describe('The scope', () => {
  it('is in no group of scopes, and allows only these routes', async () => {
    expect(USUAL_SCOPES).not.toContain<CustomerScope>('tokens:write');
    const usual = await service.createUser({ scopes: USUAL_SCOPES });
    for (const { response } of [
      await issue(usual),
      await usual.api.GET('/tokens', { params: { query: {} } }),
      await revoke(usual, 1),
    ]) {
      expect(response.status).toBe(403);
      expect(response.headers.get('WWW-Authenticate')).toBe(
        'Bearer error="insufficient_scope", scope="tokens:write"',
      );
    }
  });
});

it('Tokens of one user get their ids one after the other, so that a walk by cursor misses none', async () => {
  const { id: userId } = await createCustomer();
  const tokens = service.app.get(TokensService);
  const issueFor = (manager?: EntityManager) => tokens.issue({ userId, scopes: WRITE }, manager);
  const slow = service.dataSource.createQueryRunner();
  await slow.startTransaction();
  const { token: first } = await issueFor(slow.manager);
  const waiting = service.dataSource.transaction(issueFor);
  await untilWaiting(service.owner, 'SELECT FROM users');
  await slow.commitTransaction();
  await slow.release();
  expect((await waiting).token.id).toBeGreaterThan(first.id);
});

it('Tokens can be removed: every table that names one is read before, by an index', async () => {
  const references = await service.owner.query<{ table: string }[]>(
    `SELECT conrelid::regclass::text AS "table", attname AS "column",
            EXISTS (SELECT FROM pg_index WHERE indrelid = conrelid AND indkey[0] = conkey[1]) AS "isIndexed",
            confdeltype = 'c' AS "isRemoved"
       FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]
      WHERE contype = 'f' AND confrelid = 'api_tokens'::regclass`,
  );
  const byName = (one: { table: string }, other: { table: string }) => (one.table < other.table ? -1 : 1);
  const kept = TOKEN_REFERENCES.map((reference) => ({ ...reference, isIndexed: true, isRemoved: false }));
  const removed = { table: 'oauth_grants', column: 'token_id', isIndexed: true, isRemoved: true };
  expect(references.toSorted(byName)).toEqual([...kept, removed].toSorted(byName));
});
