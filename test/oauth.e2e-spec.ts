import { createHash, randomBytes } from 'node:crypto';
import { sign } from '@telegram-apps/init-data-node';
import { UsersService } from '../src/users';
import { createApiClient } from './support/api-client';
import { forAllTests } from './support/fixtures';
import { startReplica } from './support/replica';
import { startTestService, type TestUser } from './support/test-service';

// OAuth is enabled, which changes the paths of every route of it, and the clock advances.
const PUBLIC_URL = 'https://proxies.example';
const RESOURCE = `${PUBLIC_URL}/mcp`;
const REDIRECT = 'https://agent.example/callback?from=shop';
const BOT_TOKEN = '123456789:AAExampleExampleExampleExampleExample';
const LOOK = 'profile:read countries:read price:read proxies:read';
const BUY = `${LOOK} proxies:write`;
const ALL = `${LOOK} proxies:write proxies:export`;
const service = forAllTests(() =>
  startTestService({ environment: { PUBLIC_URL, MCP_OAUTH: 'on', TELEGRAM_BOT_TOKEN: BOT_TOKEN } }),
);
const replica = forAllTests(() => startReplica(service));
let user: TestUser;
let clientId: string;
beforeEach(async () => {
  // Each test begins with a minute of its own, in which its requests are counted.
  service.clock.advanceSeconds(60 - (Math.floor(service.clock.now().getTime() / 1000) % 60));
  user = await service.createUser({ balance: '1000.00' });
  clientId = (await register()).body.client_id;
});

type Fields = Record<string, string | undefined>;

const queryOf = (fields: Fields): string => formOf(fields).toString();

const formOf = (fields: Fields) =>
  new URLSearchParams(
    Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );

async function request(path: string, init: RequestInit = {}, baseUrl = service.baseUrl) {
  const response = await fetch(`${baseUrl}${path}`, { redirect: 'manual', ...init });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  const location = response.headers.get('location');
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson ? JSON.parse(text) : undefined,
    location: location === null ? null : new URL(location),
  };
}

const register = (metadata: unknown = { client_name: 'Assistant', redirect_uris: [REDIRECT] }) =>
  request('/register', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(metadata),
  });

const post = (path: string, fields: Fields, headers = {}, baseUrl?: string) =>
  request(path, { method: 'POST', body: formOf(fields), headers }, baseUrl);

const challengeOf = (verifier: string) => createHash('sha256').update(verifier).digest('base64url');

/** The parameters of an authorization request of this client, with changes. */
const authorization = (verifier: string, changes: Fields = {}): Fields => ({
  response_type: 'code',
  client_id: clientId,
  redirect_uri: REDIRECT,
  state: 'st&te=1',
  code_challenge: challengeOf(verifier),
  code_challenge_method: 'S256',
  resource: RESOURCE,
  ...changes,
});

const newVerifier = () => randomBytes(32).toString('base64url');

/** Submits the form of the page, whose URL contains the parameters of the client's request. */
const decide = (parameters: Fields, choices: Fields = {}, headers = {}, baseUrl?: string) =>
  post(
    `/authorize?${queryOf(parameters)}`,
    { token: user.token, access: 'look', days: '30', decision: 'allow', ...choices },
    headers,
    baseUrl,
  );

/** Returns a code and its verifier. */
async function consent(choices: Fields = {}) {
  const verifier = newVerifier();
  const { location } = await decide(authorization(verifier), choices);
  return { verifier, code: location?.searchParams.get('code') ?? '' };
}

const exchange = (
  { code, verifier }: { code: string; verifier: string },
  changes: Fields = {},
  baseUrl?: string,
) =>
  post(
    '/token',
    {
      grant_type: 'authorization_code',
      client_id: clientId,
      redirect_uri: REDIRECT,
      code,
      code_verifier: verifier,
      ...changes,
    },
    {},
    baseUrl,
  );

const refresh = (refreshToken: string, changes: Fields = {}) =>
  post('/token', {
    grant_type: 'refresh_token',
    client_id: clientId,
    refresh_token: refreshToken,
    ...changes,
  });

const connect = async (choices: Fields = {}) => (await exchange(await consent(choices))).body;

async function callTool(token: string, name: string, given: object = {}, baseUrl?: string) {
  const { status, headers, body } = await request(
    '/mcp',
    {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name, arguments: given },
      }),
    },
    baseUrl,
  );
  return { status, headers, error: body?.error, result: body?.result?.structuredContent };
}

const tokensOf = async ({ api }: TestUser) =>
  (await api.GET('/tokens', { params: { query: { limit: 100 } } })).data?.items ?? [];

describe('An agent without a token', () => {
  it('finds the authorization server from the 401 of /mcp', async () => {
    const { status, headers } = await request('/mcp', { method: 'POST', body: '{}' });
    expect([status, headers.get('www-authenticate')]).toEqual([
      401,
      'Bearer error="invalid_token", error_description="Send a token issued by this shop in the header ' +
        `Authorization: Bearer prx_...", ` +
        `resource_metadata="${PUBLIC_URL}/.well-known/oauth-protected-resource/mcp", scope="${ALL}"`,
    ]);
    for (const path of [
      '/.well-known/oauth-protected-resource',
      '/.well-known/oauth-protected-resource/mcp',
    ]) {
      expect((await request(path)).body).toMatchObject({
        resource: RESOURCE,
        authorization_servers: [PUBLIC_URL],
      });
    }
    expect((await request('/.well-known/oauth-authorization-server')).body).toMatchObject({
      issuer: PUBLIC_URL,
      authorization_endpoint: `${PUBLIC_URL}/authorize`,
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
    });
  });

  it('registers, and learns what is wrong with its metadata', async () => {
    expect(await register()).toMatchObject({
      status: 201,
      body: { client_name: 'Assistant', redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none' },
    });
    for (const uri of [
      'http://agent.example/callback',
      'https://agent.example/#part',
      'https://user@agent.example/',
      'javascript:alert(1)',
      'agent://callback',
      'http://127.0.0.1.example/',
      String.raw`http://localhost\@agent.example/`,
      "https://agent.example/'; script-src *",
      'https://agent.example/\r\nX: y',
    ]) {
      const { status, body } = await register({ redirect_uris: [uri] });
      expect([uri, status, body.error]).toEqual([uri, 400, 'invalid_redirect_uri']);
    }
    for (const metadata of [
      null,
      [],
      'text',
      { redirect_uris: [REDIRECT], client_name: 7 },
      { redirect_uris: [REDIRECT], response_types: ['token'] },
    ]) {
      expect((await register(metadata)).body.error).toMatch(/^invalid_(client_metadata|redirect_uri)$/);
    }
  });

  it('cannot register without limit', async () => {
    jest.spyOn(service.clock, 'now').mockReturnValue(service.clock.now());
    const statuses = [];
    for (let count = 0; count < 20; count += 1) statuses.push((await register({})).status);
    jest.restoreAllMocks();
    // Each test has registered one client.
    expect(statuses).toEqual([...Array.from({ length: 19 }, () => 400), 429]);
  });
});

describe('The page', () => {
  it('shows the name without markup, the host, and allows nothing else to load or frame it', async () => {
    const name = '<b onclick="x">Bank</b>\u202e';
    clientId = (await register({ client_name: name, redirect_uris: [REDIRECT] })).body.client_id;
    const { status, text, headers } = await request(
      `/authorize?${queryOf(authorization(newVerifier(), { state: '"><script>' }))}`,
    );
    expect(status).toBe(200);
    expect(text).toContain('<h1>Connect “&#60;b onclick=&#34;x&#34;&#62;Bank&#60;/b&#62;”</h1>');
    expect(text).toContain('<strong>agent.example</strong>');
    expect(text).not.toMatch(/<script|<b |\u202e/);
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('content-security-policy')?.replace(/sha256-[^']+/, '…')).toBe(
      "default-src 'none'; style-src '…'; form-action 'self' https://agent.example; base-uri 'none'; " +
        "frame-ancestors 'none'",
    );
  });

  it('redirects to no address that the client has not registered', async () => {
    for (const redirect_uri of [
      undefined,
      '',
      'https://evil.example/',
      `${REDIRECT}/`,
      `${REDIRECT}&x=1`,
      'https://agent.example/callback',
      'https://agent.example/callback/../callback?from=shop',
      'https://agent.example:443/callback?from=shop',
      'HTTPS://agent.example/callback?from=shop',
      'https://agent.example.evil.example/callback?from=shop',
      'https://agent.example@evil.example/callback?from=shop',
    ]) {
      const parameters = authorization(newVerifier(), { redirect_uri });
      for (const { status, location } of [
        await request(`/authorize?${queryOf(parameters)}`),
        await decide(parameters),
      ]) {
        expect([redirect_uri, status, location]).toEqual([redirect_uri, 400, null]);
      }
    }
    const twice = `${queryOf(authorization(newVerifier()))}&redirect_uri=https://evil.example/`;
    expect(await request(`/authorize?${twice}`)).toMatchObject({ status: 400, location: null });
    for (const client_id of [
      '',
      'x',
      'null',
      '\0',
      randomBytes(300).toString('hex'),
      'https://127.0.0.1:1/client',
    ]) {
      const parameters = authorization(newVerifier(), { client_id });
      expect(await request(`/authorize?${queryOf(parameters)}`)).toMatchObject({
        status: 400,
        location: null,
      });
    }
  });

  it('accepts another port on loopback only', async () => {
    clientId = (
      await register({ redirect_uris: ['http://127.0.0.1:1/done', 'https://agent.example:1/done'] })
    ).body.client_id;
    const statusOf = async (redirect_uri: string) =>
      (await request(`/authorize?${queryOf(authorization(newVerifier(), { redirect_uri }))}`)).status;
    expect(await statusOf('http://127.0.0.1:50123/done')).toBe(200);
    expect(await statusOf('http://localhost:1/done')).toBe(400);
    expect(await statusOf('http://127.0.0.1:50123/other')).toBe(400);
    expect(await statusOf('https://agent.example:2/done')).toBe(400);
  });

  it.each<[string, Fields]>([
    ['unsupported_response_type', { response_type: 'token' }],
    ['invalid_request', { code_challenge: undefined }],
    ['invalid_request', { code_challenge_method: undefined }],
    ['invalid_request', { code_challenge_method: 'plain' }],
    ['invalid_request', { code_challenge: 'short' }],
    ['invalid_target', { resource: 'https://other.example/mcp' }],
    ['invalid_scope', { scope: 'tokens:write staff:balance' }],
  ])('reports %s to the client: %j', async (error, changes) => {
    const parameters = authorization(newVerifier(), changes);
    for (const { status, location } of [
      await request(`/authorize?${queryOf(parameters)}`),
      await decide(parameters),
    ]) {
      expect([status, location?.origin, location?.pathname]).toEqual([
        303,
        'https://agent.example',
        '/callback',
      ]);
      expect(Object.fromEntries(location?.searchParams ?? [])).toEqual({
        from: 'shop',
        error,
        error_description: expect.any(String),
        state: 'st&te=1',
        iss: PUBLIC_URL,
      });
    }
  });

  it('reports a refusal to the client, and refuses a form of another site', async () => {
    const parameters = authorization(newVerifier());
    const refused = await decide(parameters, { decision: 'deny', token: '' });
    expect(refused.location?.searchParams.get('error')).toBe('access_denied');
    for (const site of ['cross-site', 'same-site']) {
      expect(await decide(parameters, {}, { 'Sec-Fetch-Site': site })).toMatchObject({
        status: 403,
        location: null,
      });
    }
  });

  it.each<[string, Fields, number]>([
    ['The token was rejected', { token: 'prx_wrong' }, 401],
    ['The token was rejected', { token: '' }, 401],
    ['how many roubles the agent may spend', { access: 'buy' }, 400],
    ['how many roubles the agent may spend', { access: 'buy', daily_limit: '-5' }, 400],
    ['how many roubles the agent may spend', { access: 'buy', daily_limit: '0' }, 400],
    ['how long the agent should have access', { days: '100000' }, 400],
  ])('shows the customer the mistake "%s" for %j', async (mistake, choices, status) => {
    const response = await decide(authorization(newVerifier()), choices);
    expect(response).toMatchObject({ status, location: null });
    expect(response.text).toContain(mistake);
    expect(response.text).not.toContain(user.token);
  });

  it('counts wrong tokens against their address, and consents against their token', async () => {
    const limits = { addressFailuresPerMinute: 3, tokenRequestsPerMinute: 2 };
    const strict = await startReplica(service, { limits });
    try {
      const statusesOf = async (token: string) => {
        const statuses = [];
        for (let count = 0; count < 4; count += 1) {
          const { status } = await decide(authorization(newVerifier()), { token }, {}, strict.baseUrl);
          statuses.push(status);
        }
        return statuses;
      };
      expect(await statusesOf(user.token)).toEqual([303, 303, 429, 429]);
      expect(await statusesOf('prx_wrong')).toEqual([401, 401, 401, 429]);
    } finally {
      await strict.close();
    }
  });
});

describe('The token of an agent', () => {
  it('looks and buys within its limit a day, also after a refresh, at any replica', async () => {
    const { body } = await exchange(
      await consent({ access: 'buy', daily_limit: '60' }),
      { resource: RESOURCE },
      replica.baseUrl,
    );
    expect(body).toEqual({
      access_token: expect.stringMatching(/^prx_/),
      token_type: 'Bearer',
      expires_in: 3600,
      refresh_token: expect.any(String),
      scope: BUY,
    });
    const buy = async (token: string) => {
      const { result } = await callTool(token, 'prepare_purchase', { country: 'ru', period: 30, count: 2 });
      return callTool(token, 'place_order', { order_ref: result.order_ref }, replica.baseUrl);
    };
    expect((await buy(body.access_token)).result).toMatchObject({ price_charged: '50.16' });
    const renewed = (await refresh(body.refresh_token)).body;
    const { result } = await callTool(renewed.access_token, 'prepare_purchase', {
      country: 'ru',
      period: 30,
      count: 2,
    });
    expect(result).toMatchObject({
      order_ref: null,
      refusals: [{ status: 400, detail: 'Daily spending limit of the token exceeded' }],
    });
    expect((await callTool(body.access_token, 'get_balance')).status).toBe(401);
  });

  it('opens no other route', async () => {
    const { access_token: token } = await connect();
    expect((await callTool(token, 'get_balance')).status).toBe(200);
    const api = createApiClient(service.baseUrl, token);
    for (const path of ['/me', '/orders', '/proxies', '/tokens'] as const) {
      expect([path, (await api.GET(path)).response.status]).toEqual([path, 401]);
    }
  });

  it('never has more than the token of the customer, nor what agents may not do', async () => {
    const reader = await service.createUser({
      scopes: ['profile:read', 'proxies:read', 'tokens:write', 'events:write'],
    });
    user = { ...user, token: reader.token };
    expect((await connect()).scope).toBe('profile:read proxies:read');
    expect((await decide(authorization(newVerifier()), { access: 'buy', daily_limit: '5' })).status).toBe(
      403,
    );
    expect((await decide(authorization(newVerifier()), { passwords: 'yes' })).status).toBe(403);
    const { access_token: agent } = await connect();
    expect((await decide(authorization(newVerifier()), { token: agent })).status).toBe(403);
    const staff = await service.createUser({ scopes: ['staff:read', 'profile:read'] });
    expect((await decide(authorization(newVerifier()), { token: staff.token })).status).toBe(403);
  });

  it('has the limit and the expiry of the token of the customer, if they are lower', async () => {
    const { api } = await service.createUser({ scopes: ['profile:read', 'proxies:write', 'tokens:write'] });
    const expires_at = new Date(service.clock.now().getTime() + 7_200_000).toISOString();
    const narrow = await api.POST('/tokens', {
      body: { scopes: ['profile:read', 'proxies:write'], expires_at, daily_limit: '10.00' },
    });
    await connect({ token: narrow.data?.token, access: 'buy', daily_limit: '500', days: '30' });
    const { data } = await api.GET('/tokens');
    const listed = data?.items.find(({ name }) => name === 'Assistant');
    expect(listed).toMatchObject({ daily_limit: '10.00', issued_by: narrow.data?.id });
    expect(new Date(listed?.expires_at ?? 0).toISOString()).toBe(expires_at);
  });

  it('ends within an hour, as the page says, if the customer pasted a token of the Mini App', async () => {
    const tgId = 5_800_000_000 + user.id;
    await service.app.get(UsersService).create({ username: 'Anna', tgId });
    const initData = sign({ user: { id: tgId, first_name: 'Anna' } }, BOT_TOKEN, service.clock.now());
    const signedIn = await createApiClient(service.baseUrl, '').POST('/auth/telegram', {
      body: { initData },
    });
    const page = await request(`/authorize?${queryOf(authorization(newVerifier()))}`);
    expect(page.text.replaceAll('\n', ' ')).toContain('no longer than the token that you paste');
    const issued = await connect({ token: signedIn.data?.token, days: '30' });
    expect(issued.scope).toBe(LOOK);
    expect((await callTool(issued.access_token, 'get_balance')).status).toBe(200);
    service.clock.advanceSeconds(3600);
    expect((await callTool(issued.access_token, 'get_balance')).status).toBe(401);
    expect((await refresh(issued.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('has only the scopes that the client requests', async () => {
    const verifier = newVerifier();
    const { location } = await decide(authorization(verifier, { scope: 'proxies:read openid' }));
    const { body } = await exchange({ verifier, code: location?.searchParams.get('code') ?? '' });
    expect(body.scope).toBe('proxies:read');
  });

  it('is in the list of the customer, who can revoke it', async () => {
    const owner = await service.createUser({ scopes: ['profile:read', 'tokens:write'] });
    user = { ...user, token: owner.token };
    const { access_token: token, refresh_token: next } = await connect({ days: '7' });
    const listed = (await tokensOf(owner)).find(({ name }) => name === 'Assistant');
    expect(listed).toMatchObject({
      state: 'active',
      scopes: ['profile:read'],
      issued_by: expect.any(Number),
    });
    await owner.api.DELETE('/tokens/{token_id}', { params: { path: { token_id: listed?.id ?? 0 } } });
    expect((await callTool(token, 'get_balance')).status).toBe(401);
    expect((await refresh(next)).body.error).toBe('invalid_grant');
  });

  it('ends with the token that the customer pasted', async () => {
    const owner = await service.createUser({ scopes: ['profile:read', 'tokens:write'] });
    user = { ...user, token: owner.token };
    const { access_token: token, refresh_token: next } = await connect();
    const unused = await consent();
    const parent = (await tokensOf(owner)).find(({ is_current }) => is_current);
    await owner.api.DELETE('/tokens/{token_id}', { params: { path: { token_id: parent?.id ?? 0 } } });
    expect((await callTool(token, 'get_balance')).status).toBe(401);
    expect((await refresh(next)).body.error).toBe('invalid_grant');
    expect((await exchange(unused)).body.error).toBe('invalid_grant');
  });

  it('expires after an hour without a refresh, and for good when its days are over', async () => {
    const { access_token: token, refresh_token: next } = await connect({ days: '1' });
    service.clock.advanceSeconds(3601);
    expect((await callTool(token, 'get_balance')).status).toBe(401);
    const renewed = (await refresh(next)).body;
    expect((await callTool(renewed.access_token, 'get_balance')).status).toBe(200);
    service.clock.advanceSeconds(86_400);
    expect((await refresh(renewed.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('is one of ten: a further consent ends the oldest', async () => {
    const tokens = [];
    for (let count = 0; count < 11; count += 1) tokens.push((await connect()).access_token);
    const statuses = await Promise.all(
      tokens.map(async (token) => (await callTool(token, 'get_balance')).status),
    );
    expect(statuses).toEqual([401, ...Array<number>(10).fill(200)]);
  });

  it('is revoked by its client alone', async () => {
    const { access_token: token, refresh_token: next } = await connect();
    const other = (await register()).body.client_id;
    for (const text of [token, next, 'unknown']) {
      expect((await post('/revoke', { token: text, client_id: other })).status).toBe(200);
    }
    expect((await callTool(token, 'get_balance')).status).toBe(200);
    await post('/revoke', { token: next, client_id: clientId });
    expect((await callTool(token, 'get_balance')).status).toBe(401);
    expect((await refresh(next)).body.error).toBe('invalid_grant');
  });
});

describe('The consents of a customer', () => {
  it('leave a limited number of codes', async () => {
    for (let count = 0; count < 22; count += 1) await consent();
    const [stored] = await service.owner.query<{ count: number }[]>(
      'SELECT count(*)::int AS count FROM oauth_codes WHERE user_id = $1',
      [user.id],
    );
    expect(stored).toEqual({ count: 20 });
  });

  it('can allow every tool that a token with all scopes of customers may call', async () => {
    const toolsOf = async (token: string): Promise<string[]> => {
      const { body } = await request('/mcp', {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      });
      return body.result.tools.map(({ name }: { name: string }) => name);
    };
    const { access_token: token } = await connect({ access: 'buy', daily_limit: '100', passwords: 'yes' });
    expect(await toolsOf(token)).toEqual(await toolsOf(user.token));
  });
});

describe('A thief', () => {
  it('cannot use a code of another client or URI, without its verifier, or after a minute', async () => {
    const given = await consent();
    const other = (await register()).body.client_id;
    for (const changes of [
      { code_verifier: newVerifier() },
      { client_id: other },
      { redirect_uri: 'https://agent.example/' },
      { code: newVerifier() },
    ]) {
      expect((await exchange(given, changes)).body).toMatchObject({ error: 'invalid_grant' });
    }
    expect((await exchange(given, { code_verifier: undefined })).body.error).toBe('invalid_request');
    service.clock.advanceSeconds(61);
    expect((await exchange(given)).body.error).toBe('invalid_grant');
  });

  it('ends the token by using its code again', async () => {
    const given = await consent();
    const { access_token: token } = (await exchange(given)).body;
    expect((await exchange(given)).body.error).toBe('invalid_grant');
    expect((await callTool(token, 'get_balance')).status).toBe(401);
  });

  it('gets one token of a code that two replicas exchange at the same time', async () => {
    const given = await consent();
    const results = await Promise.all([exchange(given), exchange(given, {}, replica.baseUrl)]);
    expect(results.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 400]);
  });

  it('ends the token by using an earlier refresh token', async () => {
    const { refresh_token: first } = await connect();
    const second = (await refresh(first)).body;
    const third = (await refresh(second.refresh_token)).body;
    expect((await refresh(first)).body.error).toBe('invalid_grant');
    expect((await callTool(third.access_token, 'get_balance')).status).toBe(401);
    expect((await refresh(third.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('cannot refresh with another client, or for another resource', async () => {
    const { refresh_token: next } = await connect();
    const other = (await register()).body.client_id;
    expect((await refresh(next, { client_id: other })).body.error).toBe('invalid_grant');
    expect((await refresh(next, { resource: 'https://other.example' })).body.error).toBe('invalid_target');
    expect((await refresh(next)).status).toBe(200);
  });
});

describe('The token endpoint', () => {
  it.each<[string, Fields, object, number]>([
    ['invalid_request', {}, {}, 400],
    ['invalid_request', { client_id: 'x' }, {}, 400],
    ['unsupported_grant_type', { client_id: 'x', grant_type: 'password' }, {}, 400],
    ['invalid_grant', { client_id: 'x', grant_type: 'refresh_token', refresh_token: 'x.y' }, {}, 400],
    ['invalid_request', { client_id: 'x', grant_type: 'refresh_token', refresh_token: '\0' }, {}, 400],
    ['invalid_client', { client_id: 'x', grant_type: 'refresh_token' }, { Authorization: 'Basic eDp5' }, 401],
  ])('refuses with %s: %j', async (error, fields, headers, status) => {
    const response = await post('/token', fields, headers);
    expect([response.status, response.body]).toEqual([
      status,
      { error, error_description: expect.any(String) },
    ]);
    expect(response.headers.get('cache-control')).toBe('no-store');
  });
});

it('removes unused clients and old codes after a day', async () => {
  await connect();
  const unused = (await register()).body.client_id;
  await service.owner.query(`UPDATE oauth_clients SET created_at = created_at - interval '25 hours'`);
  await service.owner.query(`UPDATE oauth_codes SET expires_at = now() - interval '25 hours'`);
  await service.runJob('retention');
  const clients = await service.owner.query<{ id: string }[]>('SELECT id FROM oauth_clients');
  const codes = await service.owner.query<object[]>('SELECT FROM oauth_codes WHERE expires_at < now()');
  expect(clients.map(({ id }) => id)).toContain(clientId);
  expect(clients.map(({ id }) => id)).not.toContain(unused);
  expect(codes).toEqual([]);
});
