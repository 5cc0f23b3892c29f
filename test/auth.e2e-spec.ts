import { createHash } from 'node:crypto';
import { ALL_SCOPES, type Scope, TokensService } from '../src/auth';
import { generateToken } from '../src/auth/token-text';
import { PROTECTED_ENDPOINTS } from './support/endpoints';
import { borrowed, forAllTests } from './support/fixtures';
import { exchangeRaw, type RawResponse, sendRaw } from './support/raw-http';
import { startTestService } from './support/test-service';

const NOT_AUTHENTICATED = { detail: 'Not authenticated' };
const INVALID_TOKEN = { detail: 'Invalid or expired token' };

function expectRefused(response: RawResponse, status: number, challenge: string, body: object): void {
  expect([response.status, response.json()]).toEqual([status, body]);
  expect(response.headers['www-authenticate']).toBe(challenge);
}

describe('Authentication', () => {
  // The clock advances.
  const service = forAllTests(startTestService);
  const tokens = forAllTests(() => service.app.get(TokensService), borrowed);
  const user = forAllTests(() => service.createUser({ balance: '0.00' }));

  const issue = async (token: { scopes?: readonly Scope[]; expiresAt?: Date } = {}) =>
    tokens.issue({ userId: user.id, scopes: ALL_SCOPES, ...token });

  const getMe = (token: string) => sendRaw(service.baseUrl, { path: '/me', token });

  describe.each(PROTECTED_ENDPOINTS)('$method $path', ({ scope, isSpecified, ...request }) => {
    const coded = (code: string) => (isSpecified ? {} : { code });

    it('returns 401 without a token', async () => {
      expectRefused(await sendRaw(service.baseUrl, request), 401, 'Bearer', {
        ...NOT_AUTHENTICATED,
        ...coded('not-authenticated'),
      });
    });

    it(`returns 403 for a token that has every scope but ${scope}`, async () => {
      const { text } = await issue({ scopes: ALL_SCOPES.filter((other) => other !== scope) });
      const challenge = `Bearer error="insufficient_scope", scope="${scope}"`;
      expectRefused(await sendRaw(service.baseUrl, { ...request, token: text }), 403, challenge, {
        detail: 'Not enough permissions',
        ...coded('not-enough-permissions'),
      });
    });

    it(`accepts a token with ${scope} only`, async () => {
      const { text } = await issue({ scopes: [scope] });
      const headers = { 'Idempotency-Key': `key-${scope}-${request.path}`.replaceAll(/[^\w-]/g, '-') };
      const response = await sendRaw(service.baseUrl, { ...request, headers, token: text });
      // A token with this scope alone has no scope to grant.
      if (request.name === 'POST /tokens') expect(response.text).toContain('scope-not-grantable');
      else expect([200, 201, 400, 404]).toContain(response.status);
    });
  });

  it.each([
    ['another scheme', 'Basic dXNlcjpwYXNzd29yZA=='],
    ['a scheme without a token', 'Bearer'],
    ['a scheme and a space', 'Bearer '],
    ['a scheme in front of two words', 'Bearer one two'],
    ['a token without a scheme', 'prx_token'],
    ['an empty header', ''],
  ])('treats %s as no token', async (_, authorization) => {
    const response = await sendRaw(service.baseUrl, { path: '/me', headers: { authorization } });
    expectRefused(response, 401, 'Bearer', NOT_AUTHENTICATED);
  });

  it('accepts the scheme in any case', async () => {
    const headers = { authorization: `bearer ${user.token}` };
    expect((await sendRaw(service.baseUrl, { path: '/me', headers })).status).toBe(200);
  });

  it.each<[string, (token: string) => string]>([
    ['of another format', () => 'secret'],
    ['that nobody issued', generateToken],
    ['with a wrong letter', (token) => token.slice(0, -1) + (token.endsWith('A') ? 'B' : 'A')],
    ['that goes on after its end', (token) => `${token}0`],
    ['in another case', (token) => token.toUpperCase()],
    ['with characters beyond ASCII', (token) => `${token.slice(0, -1)}\u00e9`],
  ])('returns 401 for a token %s', async (_, change) => {
    expectRefused(await getMe(change(user.token)), 401, 'Bearer error="invalid_token"', INVALID_TOKEN);
  });

  it('returns 401 for a token from the moment it expires', async () => {
    const { text } = await issue({ expiresAt: new Date(service.clock.now().getTime() + 30_000) });
    expect((await getMe(text)).status).toBe(200);
    service.clock.advanceSeconds(30);
    expectRefused(await getMe(text), 401, 'Bearer error="invalid_token"', INVALID_TOKEN);
  });

  it.each([
    ['the token is revoked', 'UPDATE api_tokens SET revoked_at = now() WHERE user_id = $1', 401],
    ['it is given other scopes', `UPDATE api_tokens SET scopes = '{proxies:read}' WHERE user_id = $1`, 403],
    [
      'it is bound to a network',
      `UPDATE api_tokens SET allowed_ips = '{10.0.0.0/8}' WHERE user_id = $1`,
      403,
    ],
    [
      'its expiry is set to yesterday',
      `UPDATE api_tokens SET expires_at = now() - interval '1 day' WHERE user_id = $1`,
      401,
    ],
    ['its user is blocked', `UPDATE users SET blocked_at = now(), blocked_reason = 'x' WHERE id = $1`, 403],
  ])('refuses the very next request after %s', async (_, statement, refused) => {
    const customer = await service.createUser();
    const statuses = () =>
      Promise.all(
        ['/me', '/countries', '/countries/ru/count', '/price?count=1&period=30'].map(
          async (path) => (await sendRaw(service.baseUrl, { path, token: customer.token })).status,
        ),
      );
    expect(await statuses()).toEqual([200, 200, 200, 200]);
    await service.dataSource.query(statement, [customer.id]);
    expect(await statuses()).toEqual([refused, refused, refused, refused]);
  });

  it('keeps accepting the other tokens of a user when one is revoked', async () => {
    await tokens.revoke((await issue()).token.id);
    expect((await getMe(user.token)).status).toBe(200);
  });

  it('ignores a token in the query string', async () => {
    const response = await sendRaw(service.baseUrl, { path: `/me?access_token=${user.token}` });
    expectRefused(response, 401, 'Bearer', NOT_AUTHENTICATED);
  });

  it.each([
    [
      'application/json',
      (token: string) => JSON.stringify({ access_token: token, country: 'ru', period: 30 }),
    ],
    ['application/x-www-form-urlencoded', (token: string) => `access_token=${token}`],
  ])('ignores a token in a body of %s', async (contentType, write) => {
    const response = await sendRaw(service.baseUrl, {
      method: 'POST',
      path: '/proxies/buy',
      headers: { 'content-type': contentType },
      body: write(user.token),
    });
    expectRefused(response, 401, 'Bearer', NOT_AUTHENTICATED);
  });

  it('ignores a second Authorization header', async () => {
    const header = (token: string) => `Authorization: Bearer ${token}\r\n`;
    const response = await exchangeRaw(
      service.baseUrl,
      `GET /me HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${header('wrong')}${header(user.token)}\r\n`,
    );
    expect(response).toMatch(/^HTTP\/1.1 401 /);
  });

  it('needs no token for /health, and ignores a wrong one', async () => {
    for (const token of [undefined, 'wrong']) {
      const response = await sendRaw(service.baseUrl, { path: '/health', ...(token && { token }) });
      expect([response.status, response.json()]).toEqual([200, { status: 'ok' }]);
    }
  });

  it('stores nothing of a token but its SHA-256', async () => {
    const { text, token } = await issue();
    const [row] = await service.dataSource.query<{ token_hash: Buffer; whole: string }[]>(
      'SELECT token_hash, api_tokens::text AS whole FROM api_tokens WHERE id = $1',
      [token.id],
    );
    expect(row?.token_hash).toEqual(createHash('sha256').update(text).digest());
    expect(row?.whole).not.toContain(text.slice(4));
  });

  it('records when a token was last used, to the minute', async () => {
    const { text, token } = await issue();
    const lastUsedAt = async () => (await tokens.get(token.id)).lastUsedAt;
    expect(await lastUsedAt()).toBeNull();
    await getMe(text);
    const first = await lastUsedAt();
    expect(first).toBeInstanceOf(Date);
    await getMe(text);
    expect(await lastUsedAt()).toEqual(first);
    service.clock.advanceSeconds(60);
    await getMe(text);
    expect((await lastUsedAt())?.getTime()).toBeGreaterThanOrEqual((first?.getTime() ?? 0) + 60_000);
  });

  it('does not wait for a session that has locked the token, and records its next use', async () => {
    const { text, token } = await issue();
    await service.dataSource.transaction(async (manager) => {
      await manager.query('SELECT FROM api_tokens WHERE id = $1 FOR UPDATE', [token.id]);
      await getMe(text);
    });
    expect((await tokens.get(token.id)).lastUsedAt).toBeNull();
    await getMe(text);
    expect((await tokens.get(token.id)).lastUsedAt).toBeInstanceOf(Date);
  });
});
