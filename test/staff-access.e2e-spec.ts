import { ALL_SCOPES, ALL_STAFF_SCOPES, type NewToken, TokensService } from '../src/auth';
import { Money } from '../src/common';
import { PROTECTED_ENDPOINTS } from './support/endpoints';
import { sendRaw } from './support/raw-http';
import { startReplica } from './support/replica';
import { createStaff, type Staff } from './support/staff';
import { startTestService, type TestService, type TestUser } from './support/test-service';

interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly security?: readonly { readonly bearer: readonly string[] }[];
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly example?: unknown }[];
  readonly requestBody?: { readonly content: Record<string, { readonly examples?: object }> };
  readonly responses: Readonly<Record<string, { readonly content?: Record<string, object> }>>;
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

let service: TestService;
let customer: TestUser;
let staff: Staff;

beforeAll(async () => {
  service = await startTestService();
  customer = await service.createUser();
  staff = await createStaff(service);
});
afterAll(() => service.close());

const describeAt = async (path: string): Promise<Description> =>
  (await fetch(service.baseUrl + path)).json() as Promise<Description>;

const operationsOf = ({ paths }: Description) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase() as 'GET' | 'POST',
      path,
      operation,
    })),
  );

describe('The description for staff', () => {
  it('has the routes of staff alone, and that of customers none of them', async () => {
    const names = operationsOf(await describeAt('/staff/openapi.json')).map(({ path }) => path);
    expect(names.length).toBeGreaterThan(1);
    expect(names.filter((path) => !path.startsWith('/staff/'))).toEqual([]);
    const customers = JSON.stringify(await describeAt('/openapi.json'));
    expect(customers).not.toContain('staff');
    expect(customers).not.toContain('ActionOut');
  });

  it('says of every operation what it is, who uses it for what, and has examples', async () => {
    for (const { name, operation } of operationsOf(await describeAt('/staff/openapi.json'))) {
      expect([name, operation.summary?.length]).not.toEqual([name, undefined]);
      expect([name, operation.description]).toEqual([name, expect.stringMatching(/^For .{40,}/)]);
      expect([name, operation.security]).toEqual([name, [{ bearer: [expect.stringMatching(/^staff:/)] }]]);
      for (const { content } of operation.requestBody ? [operation.requestBody] : []) {
        expect([name, content['application/json']?.examples]).toEqual([name, expect.anything()]);
      }
      for (const status of ['401', '403']) expect(operation.responses).toHaveProperty(status);
    }
  });

  it('has a page of its own, which loads nothing from elsewhere', async () => {
    const answer = await fetch(`${service.baseUrl}/staff/docs`);
    const html = await answer.text();
    expect(html).toContain('<title>Proxy Rental Service: staff</title>');
    expect(answer.headers.get('Content-Security-Policy')).toContain("script-src 'self'");
    expect(html.match(/<script(?![^>]*\ssrc=)/g)).toBeNull();
    const assets = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(
      ([, address = '']) => new URL(address, answer.url),
    );
    expect(assets.length).toBeGreaterThan(3);
    for (const asset of assets) {
      expect(asset.origin).toBe(service.baseUrl);
      const loaded = await fetch(asset);
      expect([asset.pathname, loaded.status]).toEqual([asset.pathname, 200]);
      expect((await loaded.text()).length).toBeGreaterThan(100);
    }
  });
});

describe('Access', () => {
  it('is refused to customers on every route of staff, and to staff whose token lacks the scope', async () => {
    const operations = operationsOf(await describeAt('/staff/openapi.json'));
    for (const { name, method, path, operation } of operations) {
      const scope = operation.security?.[0]?.bearer[0] ?? '';
      const others = await createStaff(
        service,
        ALL_STAFF_SCOPES.filter((other) => other !== scope),
      );
      const request = { method, path: path.replaceAll(/\{\w+\}/g, '1') };
      expect([name, (await sendRaw(service.baseUrl, request)).status]).toEqual([name, 401]);
      for (const token of [customer.token, others.token]) {
        const answer = await sendRaw(service.baseUrl, { ...request, token });
        expect([name, answer.status, answer.json()]).toEqual([
          name,
          403,
          { detail: 'Not enough permissions' },
        ]);
        expect(answer.headers['www-authenticate']).toContain(`scope="${scope}"`);
      }
    }
  });

  it.each(PROTECTED_ENDPOINTS)('to $method $path is refused to a token of staff', async (endpoint) => {
    expect((await sendRaw(service.baseUrl, { ...endpoint, token: staff.token })).status).toBe(403);
  });

  it('is catalogued: every scope, what it grants, and the routes that need it', async () => {
    const { status, body } =
      await staff.get<{ scope: string; grants: string; for: string; routes: string[] }[]>('/staff/scopes');
    expect(status).toBe(200);
    expect(body.map(({ scope }) => scope)).toEqual([...ALL_SCOPES, ...ALL_STAFF_SCOPES]);
    const described = [
      ...operationsOf(await describeAt('/openapi.json')),
      ...operationsOf(await describeAt('/staff/openapi.json')),
    ].flatMap(({ name, operation }) => operation.security?.map(({ bearer }) => `${bearer[0]} ${name}`) ?? []);
    expect(body.flatMap(({ scope, routes }) => routes.map((route) => `${scope} ${route}`)).sort()).toEqual(
      described.sort(),
    );
    expect(body.find(({ scope }) => scope === 'profile:read')).toMatchObject({
      for: 'customers',
      grants: 'Profile and balance',
      routes: ['GET /me'],
    });
  });
});

describe('A token', () => {
  const issue = async (token: Partial<NewToken>) =>
    (await service.app.get(TokensService).issue({ userId: customer.id, scopes: ALL_SCOPES, ...token })).text;
  const getMe = (token: string) => sendRaw(service.baseUrl, { path: '/me', token });

  it('may be for some addresses alone', async () => {
    expect((await getMe(await issue({ allowedIps: ['10.0.0.0/8', '127.0.0.1'] }))).status).toBe(200);
    expect((await getMe(await issue({ allowedIps: ['127.9.9.9/8'] }))).status).toBe(200);
    const refused = await sendRaw(service.baseUrl, {
      path: '/me',
      token: await issue({ allowedIps: ['10.0.0.0/8', '2001:db8::/32'] }),
      headers: { 'x-forwarded-for': '10.0.0.1' },
    });
    expect(refused.status).toBe(403);
    expect(refused.json()).toEqual({ detail: 'Address not allowed' });
  });

  describe('with a daily limit', () => {
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

    it('spends so much and no more, also by orders at the same moment, while others spend on', async () => {
      const token = await issue({ dailyLimit: Money.parse(price).times(3) });
      const answers = await Promise.all(Array.from({ length: 8 }, () => buy(token)));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
      for (const answer of answers.filter(({ status }) => status !== 200)) {
        expect([answer.status, answer.json()]).toEqual([400, EXCEEDED]);
      }
      expect(await spentBy(token)).toBe(Money.parse(price).times(3).toString());
      expect((await buy(customer.token)).status).toBe(200);
      await service.audit({ upstream: true });
    });

    it('takes a repeated order for one', async () => {
      const token = await issue({ dailyLimit: Money.parse(price) });
      for (const replayed of [undefined, 'true', 'true']) {
        const answer = await buy(token, { 'idempotency-key': 'limited' });
        expect([answer.status, answer.headers['idempotency-replayed']]).toEqual([200, replayed]);
      }
      expect((await buy(token)).json()).toEqual(EXCEEDED);
    });

    it('has back what was given back', async () => {
      const token = await issue({ dailyLimit: Money.parse(price) });
      await service.control.orderFault({ method: 'buy', kind: 'error', errorId: 300 });
      const refused = await buy(token);
      expect([refused.status, await spentBy(token)]).toEqual([400, '0.00']);
      expect((await buy(token)).status).toBe(200);
      expect(await spentBy(token)).toBe(price);
      await service.audit({ upstream: true });
    });

    it('has back what a short delivery did not bring', async () => {
      const token = await issue({ dailyLimit: Money.parse(price).times(3) });
      await service.control.orderFault({ method: 'buy', kind: 'short-list', shortBy: 2 });
      expect((await buy(token, {}, 3)).status).toBe(200);
      expect(await spentBy(token)).toBe(price);
      expect((await buy(token, {}, 2)).status).toBe(200);
      expect((await buy(token)).json()).toEqual(EXCEEDED);
      await service.audit({ upstream: true });
    });
  });
});

describe('A blocked user', () => {
  const BLOCKED = { detail: 'User is blocked' };

  it('is refused on every route that needs a token, on every replica, and let in again when unblocked', async () => {
    const user = await service.createUser({ scopes: [...ALL_SCOPES, ...ALL_STAFF_SCOPES] });
    const replica = await startReplica(service);
    const block = (reason: string | null) =>
      service.dataSource.query(
        'UPDATE users SET blocked_at = CASE WHEN $2::text IS NOT NULL THEN now() END, blocked_reason = $2 WHERE id = $1',
        [user.id, reason],
      );
    try {
      await block('test');
      const staffs = operationsOf(await describeAt('/staff/openapi.json'));
      for (const { method, path } of [...PROTECTED_ENDPOINTS, ...staffs]) {
        const request = { method, path: path.replaceAll(/\{\w+\}/g, '1'), token: user.token };
        const answer = await sendRaw(service.baseUrl, request);
        expect([path, answer.status, answer.json()]).toEqual([path, 403, BLOCKED]);
      }
      expect((await sendRaw(replica.baseUrl, { path: '/me', token: user.token })).json()).toEqual(BLOCKED);
      await block(null);
      for (const { baseUrl } of [service, replica])
        expect((await sendRaw(baseUrl, { path: '/me', token: user.token })).status).toBe(200);
    } finally {
      await replica.close();
    }
  });
});
