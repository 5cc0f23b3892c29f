import { ALL_SCOPES, ALL_STAFF_SCOPES, type NewToken, TokensService } from '../src/auth';
import { Money } from '../src/common';
import { type Description, operationsOf, readDescription, scopesOf } from './support/description';
import { PROTECTED_ENDPOINTS } from './support/endpoints';
import { beforeClosing, forAllTests } from './support/fixtures';
import { sendRaw } from './support/raw-http';
import { startReplica } from './support/replica';
import { createStaff } from './support/staff';
import { sharedTestService } from './support/test-service';
import { withinOneDay } from './support/within-one-day';

const service = forAllTests(sharedTestService);
const customer = forAllTests(() => service.createUser());
const staff = forAllTests(() => createStaff(service));
const describeAt = (path: string): Promise<Description> => readDescription(service.baseUrl + path);

describe('Access', () => {
  it('to every route of staff is refused to customers and to tokens without the scope', async () => {
    const operations = operationsOf(await describeAt('/staff/openapi.json'));
    const scopes = new Set(operations.map(({ operation }) => scopesOf(operation)[0]));
    for (const scope of scopes) {
      const others = await createStaff(
        service,
        ALL_STAFF_SCOPES.filter((other) => other !== scope && other !== 'staff:read'),
      );
      for (const { name, method, path } of operations.filter(
        ({ operation }) => scopesOf(operation)[0] === scope,
      )) {
        const request = { method, path: path.replaceAll(/\{\w+\}/g, '1') };
        expect([name, (await sendRaw(service.baseUrl, request)).status]).toEqual([name, 401]);
        for (const token of [customer.token, others.token]) {
          const response = await sendRaw(service.baseUrl, { ...request, token });
          expect([name, response.status, response.json()]).toMatchObject([
            name,
            403,
            { detail: 'Not enough permissions' },
          ]);
          expect(response.headers['www-authenticate']).toContain(`scope="${scope}"`);
        }
      }
    }
  });

  it('with `staff:read` alone reads every route of staff, and changes nothing', async () => {
    const reader = await createStaff(service, ['staff:read']);
    for (const { name, method, path, operation } of operationsOf(await describeAt('/staff/openapi.json'))) {
      const request = { method, path: path.replaceAll(/\{\w+\}/g, '1'), token: reader.token };
      const isRead = method === 'GET';
      expect([name, scopesOf(operation).includes('staff:read')]).toEqual([name, isRead]);
      const { status } = await sendRaw(service.baseUrl, request);
      expect([name, isRead ? [200, 400, 404, 422] : [403]]).toEqual([name, expect.arrayContaining([status])]);
    }
  });

  it('with `read` reads every route of customers that a scope for reading allows', async () => {
    const { body } = await (
      await createStaff(service, [...ALL_SCOPES, ...ALL_STAFF_SCOPES])
    ).post<{ token: string; scopes: string[] }>(`/staff/users/${customer.id}/tokens`, { scopes: ['read'] });
    expect(body.scopes).toEqual(ALL_SCOPES.filter((scope) => scope.endsWith(':read')));
    for (const { name, method, path, scope, body: sent } of PROTECTED_ENDPOINTS) {
      const isReading = scope.endsWith(':read');
      // Connects to proxies, as the GET for one proxy does.
      expect([name, isReading && method !== 'GET']).toEqual([name, name === 'POST /proxies/ping']);
      const request = { method, path, token: body.token, body: sent };
      const headers = { 'content-type': 'application/json' };
      const { status } = await sendRaw(service.baseUrl, { ...request, headers });
      expect([name, status === 403]).toEqual([name, !isReading]);
    }
  });

  it.each(PROTECTED_ENDPOINTS)('to $method $path is refused to a token of staff', async (endpoint) => {
    expect((await sendRaw(service.baseUrl, { ...endpoint, token: staff.token })).status).toBe(403);
  });

  it('is listed: every scope with what it grants and the routes that it allows', async () => {
    const { status, body } =
      await staff.get<{ scope: string; grants: string; for: string; routes: string[] }[]>('/staff/scopes');
    expect([status, body.map(({ scope }) => scope)]).toEqual([200, [...ALL_SCOPES, ...ALL_STAFF_SCOPES]]);
    const described = [
      ...operationsOf(await describeAt('/openapi.json')),
      ...operationsOf(await describeAt('/staff/openapi.json')),
    ].flatMap(({ name, operation }) => scopesOf(operation).map((scope) => `${scope} ${name}`));
    expect(body.flatMap(({ scope, routes }) => routes.map((route) => `${scope} ${route}`)).sort()).toEqual(
      described.sort(),
    );
    expect(body.find(({ scope }) => scope === 'profile:read')).toMatchObject({
      for: 'customers',
      grants: 'Profile, balance, ledger, usage and the renewal forecast',
      routes: ['GET /me', 'GET /ledger', 'GET /ledger/csv', 'GET /usage', 'GET /renewals/forecast'],
    });
  });
});

const NETWORK = '203.0.113.0/24';
const issue = async (token: Partial<NewToken>) =>
  (await service.app.get(TokensService).issue({ userId: customer.id, scopes: ALL_SCOPES, ...token })).text;

describe('A token', () => {
  const getMe = (token: string) => sendRaw(service.baseUrl, { path: '/me', token });

  it('can be limited to addresses', async () => {
    expect((await getMe(await issue({ allowedIps: ['10.0.0.0/8', '127.0.0.1'] }))).status).toBe(200);
    expect((await getMe(await issue({ allowedIps: ['127.9.9.9/8'] }))).status).toBe(200);
    const refused = await getMe(await issue({ allowedIps: ['10.0.0.0/8', '2001:db8::/32'] }));
    expect([refused.status, refused.json()]).toEqual([403, { detail: 'Address not allowed' }]);
  });

  describe('used through a load balancer', () => {
    let token: string;

    const balanced = forAllTests(() =>
      startReplica(service, { server: { trustedProxies: ['127.0.0.0/8', '10.9.0.0/16'] } }),
    );
    beforeAll(async () => {
      token = await issue({ allowedIps: [NETWORK], scopes: [...ALL_SCOPES, ...ALL_STAFF_SCOPES] });
    });

    const getThrough = async (forwarded: string | undefined, using = token) => {
      const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
      return (await sendRaw(balanced.baseUrl, { path: '/staff/scopes', token: using, headers })).status;
    };

    it.each([
      ['of the client', 200, '203.0.113.7'],
      ['of the client, after two balancers', 200, '203.0.113.7, 10.9.0.1'],
      ['of the client, and not what it claims', 200, '192.0.2.1, nonsense, 203.0.113.7, 10.9.0.1'],
      ['of the client, as it claims an allowed one', 403, '203.0.113.7, 192.0.2.1'],
      [
        'of the client, as it claims an allowed one behind a trusted one',
        403,
        '203.0.113.7, 10.9.0.1, 192.0.2.1',
      ],
      ['of nobody who can be told', 403, 'unknown'],
      ['of nobody who can be told, behind an allowed one', 403, '203.0.113.7, unknown'],
      ['of the connection, when the balancer names none', 403, undefined],
    ])('is held to the address %s: %i', async (_, status, forwarded) => {
      expect(await getThrough(forwarded)).toBe(status);
    });

    it('is recorded with the address of the client', async () => {
      const everywhere = await createStaff(service);
      for (const forwarded of ['203.0.113.7', '10.0.0.1, 2001:db8::7', '1.1.1.1, unknown', undefined]) {
        expect(await getThrough(forwarded, everywhere.token)).toBe(200);
      }
      const rows = await service.dataSource.query<{ ip: string | null }[]>(
        'SELECT host(ip) AS ip FROM audit_log WHERE user_id = $1 ORDER BY id',
        [everywhere.id],
      );
      expect(rows.map(({ ip }) => ip)).toEqual(['203.0.113.7', '2001:db8::7', null, '127.0.0.1']);
    });
  });

  describe('with a daily limit', () => {
    withinOneDay();
    beforeClosing(() => service.audit({ withProvider: true }));

    const buy = (token: string, headers: Record<string, string> = {}, count = 1) =>
      sendRaw(service.baseUrl, {
        method: 'POST',
        path: '/proxies/buy',
        token,
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ country: 'ru', period: 30, count }),
      });
    const EXCEEDED = { detail: 'Daily spending limit of the token exceeded' };
    let price: string;

    beforeAll(async () => {
      const { data } = await customer.api.GET('/price', { params: { query: { count: 1, period: 30 } } });
      price = data?.price_final ?? '';
    });

    const spentBy = async (token: string): Promise<string | undefined> => {
      const caller = await service.app.get(TokensService).findCaller(token);
      const [row] = await service.dataSource.query<{ spent: string }[]>(
        'SELECT spent FROM token_spending WHERE token_id = $1 AND day = now()::date',
        [caller?.tokenId],
      );
      return row?.spent;
    };

    it('spends no more than its limit, even with concurrent orders, and limits no other token', async () => {
      const token = await issue({ dailyLimit: Money.parse(price).times(3) });
      const responses = await Promise.all(Array.from({ length: 8 }, () => buy(token)));
      expect(responses.filter(({ status }) => status === 200)).toHaveLength(3);
      for (const response of responses.filter(({ status }) => status !== 200)) {
        expect([response.status, response.json()]).toEqual([400, EXCEEDED]);
      }
      expect(await spentBy(token)).toBe(Money.parse(price).times(3).toString());
      expect((await buy(customer.token)).status).toBe(200);
    });

    it('counts a retried order once', async () => {
      const token = await issue({ dailyLimit: Money.parse(price) });
      for (const replayed of [undefined, 'true', 'true']) {
        const response = await buy(token, { 'idempotency-key': 'limited' });
        expect([response.status, response.headers['idempotency-replayed']]).toEqual([200, replayed]);
      }
      expect((await buy(token)).json()).toEqual(EXCEEDED);
    });

    it('can spend again what was refunded', async () => {
      const token = await issue({ dailyLimit: Money.parse(price) });
      await service.control.addFault({ method: 'buy', kind: 'error', errorId: 300 });
      expect([(await buy(token)).status, await spentBy(token)]).toEqual([400, '0.00']);
      expect((await buy(token)).status).toBe(200);
      expect(await spentBy(token)).toBe(price);
    });

    it('can spend again what a short delivery did not charge', async () => {
      const token = await issue({ dailyLimit: Money.parse(price).times(3) });
      await service.control.addFault({ method: 'buy', kind: 'short-list', shortBy: 2 });
      expect((await buy(token, {}, 3)).status).toBe(200);
      expect(await spentBy(token)).toBe(price);
      expect([(await buy(token, {}, 2)).status, (await buy(token)).json()]).toEqual([200, EXCEEDED]);
    });
  });
});

describe('A second replica, which does not trust its peer', () => {
  const replica = forAllTests(() => startReplica(service, { server: { trustedProxies: ['10.9.0.0/16'] } }));

  it('checks a token against the address of the connection', async () => {
    const elsewhere = await issue({ allowedIps: [NETWORK] });
    const own = await issue({ allowedIps: ['127.0.0.1'] });
    for (const { baseUrl } of [service, replica]) {
      for (const [token, status] of [
        [elsewhere, 403],
        [own, 200],
      ] as const) {
        const headers = { 'x-forwarded-for': '203.0.113.7' };
        expect((await sendRaw(baseUrl, { path: '/me', token, headers })).status).toBe(status);
      }
    }
  });

  it('refuses a blocked user on every protected route, as other replicas do, until unblocked', async () => {
    const BLOCKED = { detail: 'User is blocked' };
    const user = await service.createUser({ scopes: [...ALL_SCOPES, ...ALL_STAFF_SCOPES] });
    const block = (reason: string | null) =>
      service.dataSource.query(
        `UPDATE users SET blocked_at = CASE WHEN $2::text IS NOT NULL THEN now() END, blocked_reason = $2
           WHERE id = $1`,
        [user.id, reason],
      );
    await block('test');
    const staffs = operationsOf(await describeAt('/staff/openapi.json'));
    for (const { method, path } of [...PROTECTED_ENDPOINTS, ...staffs]) {
      const request = { method, path: path.replaceAll(/\{\w+\}/g, '1'), token: user.token };
      const response = await sendRaw(service.baseUrl, request);
      expect([path, response.status, response.json()]).toMatchObject([path, 403, BLOCKED]);
    }
    expect((await sendRaw(replica.baseUrl, { path: '/me', token: user.token })).json()).toEqual(BLOCKED);
    await block(null);
    for (const { baseUrl } of [service, replica]) {
      expect((await sendRaw(baseUrl, { path: '/me', token: user.token })).status).toBe(200);
    }
  });
});
