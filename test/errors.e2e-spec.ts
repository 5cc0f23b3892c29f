import { generateSecret } from '../src/auth/token-text';
import { PROTECTED_ENDPOINTS } from './support/endpoints';
import { forAllTests } from './support/fixtures';
import { VALUES } from './support/fuzz-cases';
import { captureLog } from './support/log-capture';
import { exchangeRaw, type RawRequest, type RawResponse, sendRaw } from './support/raw-http';
import { startTestService, type TestUser } from './support/test-service';

const LIMIT_BYTES = 100 * 1024;
const NEW_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const log = forAllTests(captureLog);
// The tests read the log, change the clock, and remove a table.
const service = forAllTests(() => startTestService({ environment: { LOG_LEVEL: 'info' } }));
const user = forAllTests(() => service.createUser({ balance: '0.00' }));
const reader = forAllTests(() => service.createUser({ scopes: ['profile:read'] }));
const send = (request: RawRequest): Promise<RawResponse> => sendRaw(service.baseUrl, request);
const sendAs = ({ token }: TestUser, request: RawRequest): Promise<RawResponse> =>
  send({ token, ...request });
const buy = (body: string): RawRequest => ({ method: 'POST', path: '/proxies/buy', body });
const padded = (bytes: number): string => '{"country":"ru","period":30}'.padEnd(bytes, ' ');

describe('An unknown endpoint', () => {
  it.each([
    ['GET', '/nothing'],
    ['POST', '/me/more'],
    ['GET', '/ME'],
    ['GET', '/proxies/1/nothing'],
    ['DELETE', '/proxies/1/prolong/now'],
    ['GET', '/countries/ru'],
    ['GET', '/%'],
    ['GET', '/%zz/%ff/%00'],
    ['GET', '//me'],
    ['GET', '/proxies/../me'],
  ])('returns 404: %s %s', async (method, path) => {
    for (const token of [user.token, undefined]) {
      const response = await send({ method, path, ...(token && { token }) });
      expect(response.status).toBe(404);
      expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(response.json()).toEqual({ detail: 'Not Found' });
    }
  });

  it.each([
    ['POST', '/', 'GET, HEAD'],
    ['POST', '/health', 'GET, HEAD'],
    ['POST', '/me', 'GET, HEAD'],
    ['DELETE', '/countries', 'GET, HEAD'],
    ['PUT', '/countries/ru/count', 'GET, HEAD'],
    ['POST', '/price', 'GET, HEAD'],
    ['POST', '/proxies', 'GET, HEAD, PATCH'],
    ['POST', '/proxies/1', 'GET, HEAD, PATCH'],
    ['POST', '/proxies/export', 'GET, HEAD'],
    ['PATCH', '/proxies/1/ping', 'GET, HEAD'],
    ['GET', '/proxies/buy', 'POST'],
    ['GET', '/proxies/buy/', 'POST'],
    ['PATCH', '/proxies/buy', 'POST'],
    ['PATCH', '/proxies/export', 'GET, HEAD'],
    ['OPTIONS', '/proxies/buy', 'POST'],
    ['GET', '/proxies/1/prolong', 'POST'],
  ])('returns 405 when its path has other methods: %s %s', async (method, path, allowed) => {
    for (const token of [user.token, undefined]) {
      const response = await send({ method, path, ...(token && { token }) });
      expect(response.status).toBe(405);
      expect(response.headers.allow).toBe(allowed);
      expect(response.json()).toEqual({ detail: 'Method Not Allowed' });
    }
  });
});

describe('A body', () => {
  it.each([
    [400, 'Insufficient balance', LIMIT_BYTES],
    [413, 'Request Entity Too Large', LIMIT_BYTES + 1],
  ])('is read up to 100 kB, and refused above: %i', async (status, detail, bytes) => {
    const response = await sendAs(user, buy(padded(bytes)));
    expect([response.status, response.json()]).toEqual([status, { detail }]);
  });
});

describe('An unforeseen error', () => {
  it.each([
    ['a list', '/proxies', 'unforeseen-1'],
    ['a file', '/proxies/export', 'unforeseen-2'],
  ])('of %s is a 500 that shows nothing, and one log line with the id', async (_, path, id) => {
    await service.owner.query('ALTER TABLE proxies RENAME TO proxies_gone');
    try {
      const response = await sendAs(await service.createUser(), { path, headers: { 'x-request-id': id } });
      expect([response.status, response.text]).toEqual([500, '{"detail":"Internal Server Error"}']);
      expect(response.headers['x-request-id']).toBe(id);
      expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(response.headers['content-disposition']).toBeUndefined();
    } finally {
      await service.owner.query('ALTER TABLE proxies_gone RENAME TO proxies');
    }
    expect(log.lines.filter((line) => line.includes('"level":"error"') && line.includes(id))).toHaveLength(1);
  });
});

describe('X-Request-Id', () => {
  const acceptable = ['a', 'with spaces and ~!"#', 'x'.repeat(128)];
  const unacceptable = ['', 'x'.repeat(129), 'tab\there', 'caf\u00e9', '\u0080'];

  it.each(acceptable)('is that of the caller when it is %j', async (id) => {
    const response = await send({ path: '/health', headers: { 'x-request-id': id } });
    expect(response.headers['x-request-id']).toBe(id);
  });

  it.each(unacceptable)('is a new one when the caller sends %j', async (id) => {
    const bytes = `GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Request-Id: ${id}\r\n\r\n`;
    const response = await exchangeRaw(service.baseUrl, Buffer.from(bytes, 'latin1'));
    expect(response).toMatch(/^HTTP\/1.1 200 /);
    expect(/^X-Request-Id: (.*)\r$/im.exec(response)?.[1]).toMatch(NEW_ID);
  });

  it('differs for each request', async () => {
    const ids = await Promise.all(
      [1, 2, 3].map(async () => (await send({ path: '/health' })).headers['x-request-id']),
    );
    expect(new Set(ids).size).toBe(3);
  });

  it.each<[number, () => RawRequest]>([
    [200, () => ({ path: '/me', token: user.token })],
    [400, () => ({ path: '/price?count=1&period=1', token: user.token })],
    [401, () => ({ path: '/me' })],
    [403, () => ({ path: '/price', token: reader.token })],
    [404, () => ({ path: '/nothing' })],
    [404, () => ({ path: '/proxies/1/ping', token: user.token })],
    [405, () => ({ method: 'PUT', path: '/me' })],
    [413, () => ({ ...buy(padded(LIMIT_BYTES + 1)), token: user.token })],
    [422, () => ({ path: '/price', token: user.token })],
  ])('is on a %i', async (status, request) => {
    const offered = await send({ ...request(), headers: { 'x-request-id': `for-${status}` } });
    expect(offered.status).toBe(status);
    expect(offered.headers['x-request-id']).toBe(`for-${status}`);
    expect((await send(request())).headers['x-request-id']).toMatch(NEW_ID);
  });

  it('is logged and stored without words that look like a token', async () => {
    const buyer = await service.createUser();
    const { token } = buyer;
    const link = generateSecret('link').slice(0, 20);
    const hash = 'f'.repeat(40);
    for (const [id, logged] of [
      [`job ${token}: ${link} ${hash}`, `job …: … ${hash}`],
      [`${token.slice(4)} of ${token}'s`, `… of …'s`],
    ] as const) {
      const response = await sendAs(buyer, { ...buy(padded(0)), headers: { 'x-request-id': id } });
      expect([response.status, response.headers['x-request-id']]).toEqual([200, id]);
      expect(log.lines.join()).toContain(`"requestId":"${logged}"`);
      expect((await buyer.api.GET('/orders')).data?.items[0]?.request_id).toBe(logged);
    }
    for (const secret of [token.slice(4), link]) expect(log.lines.join()).not.toContain(secret);
  });

  it('is on the log line of the request', async () => {
    await sendAs(user, { path: '/me?secret=in-the-query', headers: { 'x-request-id': 'in the log' } });
    const lines = log.lines.filter((line) => line.includes('in the log'));
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      requestId: 'in the log',
      method: 'GET',
      path: '/me',
      status: 200,
    });
  });
});

describe('The order of checks', () => {
  const invalid = '{"country":7}';
  const tooLarge = padded(LIMIT_BYTES + 1);

  it.each<[what: string, status: number, request: () => RawRequest]>([
    ['the path before all', 404, () => ({ method: 'DELETE', path: '/x', token: 'wrong', body: tooLarge })],
    ['the method before the token', 405, () => ({ method: 'DELETE', path: '/me', token: 'wrong' })],
    ['the token before the size of the body', 401, () => buy(tooLarge)],
    ['the scope before the size of the body', 403, () => ({ ...buy(tooLarge), token: reader.token })],
    ['the scope before the syntax of the body', 403, () => ({ ...buy('{'), token: reader.token })],
    ['the scope before the fields of a body', 403, () => ({ ...buy(invalid), token: reader.token })],
    ['the scope before missing fields', 403, () => ({ path: '/price', token: reader.token })],
    ['the scope before a query', 403, () => ({ path: '/proxies/export?format=x', token: reader.token })],
  ])('has %s', async (_, status, request) => {
    expect((await send(request())).status).toBe(status);
  });

  it.each(PROTECTED_ENDPOINTS)(
    'has the token before the fields: $method $path',
    async ({ method, path, body }) => {
      const request = {
        method,
        path: path.replace(/\?.*/, '?version=9&count=x&format=x'),
        ...(body && { body: invalid }),
      };
      expect((await send(request)).status).toBe(401);
      expect((await send({ ...request, token: 'wrong' })).status).toBe(401);
    },
  );

  it('puts the fields before the rules', async () => {
    expect((await sendAs(user, { path: '/price?count=0&period=1' })).status).toBe(422);
    expect((await sendAs(user, buy('{"country":"ru","period":0,"proxy_type":"ftp"}'))).status).toBe(422);
    expect((await sendAs(user, { method: 'POST', path: '/proxies/1/prolong', body: '{}' })).status).toBe(422);
  });

  describe('while the provider fails', () => {
    beforeAll(async () => {
      service.clock.advanceDays(2);
      await service.control.addFault({ method: 'any', kind: 'http-status', status: 500, times: null });
    });
    afterAll(() => service.control.resetFaults());

    it('puts the fields before the provider', async () => {
      expect((await sendAs(user, { path: '/countries?version=5' })).status).toBe(422);
      expect((await sendAs(user, buy('{"country":"ru"}'))).status).toBe(422);
    });

    it.each([
      [{ path: '/price?count=1&period=2' }, 400],
      [{ path: '/price?count=1&period=3651' }, 400],
      [buy('{"country":"ru","period":2}'), 400],
      [buy('{"country":"ru","period":30,"proxy_type":"ftp"}'), 400],
      [{ method: 'POST', path: '/proxies/1/prolong', body: '{"period":30}' }, 404],
      [{ path: '/proxies/1/ping' }, 404],
    ])('puts the rules before the provider: %j', async (request, status) => {
      expect((await sendAs(user, request)).status).toBe(status);
    });

    it.each([
      { path: '/countries' },
      { path: '/price?count=1&period=30' },
      buy('{"country":"ru","period":30}'),
    ])('ends with a 503 for a valid request: %j', async (request) => {
      const response = await sendAs(user, request);
      expect(response.status).toBe(503);
      expect(response.json()).toEqual({ detail: 'Service temporarily unavailable' });
    });
  });
});

describe('Hostile input', () => {
  const pathsOf = (segment: string): string[] => [
    `/countries/${segment}/count`,
    `/proxies/${segment}/ping`,
    `/${segment}`,
    `/countries?version=${segment}`,
    `/countries/ru/count?version=${segment}`,
    `/price?count=${segment}&period=30`,
    `/price?count=1&period=${segment}`,
    `/price?count=1&period=30&version=${segment}`,
    `/proxies/export?format=${segment}`,
    `/proxies/export?proxy_type=${segment}&active_only=${segment}`,
    `/me?${segment}`,
    `/proxies?${segment}=${segment}&${segment}`,
  ];

  function expectOrdinary(response: RawResponse): void {
    expect(response.status).toBeGreaterThanOrEqual(200);
    expect(response.status).toBeLessThan(500);
    expect(response.headers['x-request-id']).toMatch(NEW_ID);
    expect(response.headers['content-type']).toMatch(/^(application\/(json|yaml)|text\/(plain|csv))/);
    if (response.status >= 400) expect(response.json()).toHaveProperty('detail');
  }

  it.each(VALUES.map((json) => [json.slice(0, 60), json]))(
    'causes no 500 in a body: %s',
    async (_, json = '') => {
      const names = ['country', 'period', 'count', 'version', 'proxy_type', '__proto__', 'constructor'];
      const requests = names.map((name) => {
        const fields = Object.entries({ country: '"ru"', period: '30', [name]: json });
        return buy(`{${fields.map(([field, value]) => `"${field}":${value}`).join(',')}}`);
      });
      requests.push(buy(json));
      for (const body of [json, `{"period":${json}}`]) {
        requests.push({ method: 'POST', path: '/proxies/1/prolong', body });
      }
      const responses = await Promise.all(requests.map((request) => sendAs(user, request)));
      for (const response of responses) expectOrdinary(response);
    },
  );

  it.each<[string, Buffer | string]>([
    ['bytes that are not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d])],
    ['NUL bytes', Buffer.alloc(1000)],
    ['half of a document', '{"country":"ru","per'],
    ['a byte order mark', '\ufeff{"country":"ru","period":30}'],
    ['nothing', ''],
  ])('causes no 500 as a body: %s', async (_, body) => {
    for (const path of ['/proxies/buy', '/proxies/1/prolong']) {
      const headers = { 'content-type': 'application/json' };
      expectOrdinary(await sendAs(user, { method: 'POST', path, headers, body }));
    }
  });

  it('causes no 500 in the body of a request that needs none', async () => {
    for (const { method, path } of PROTECTED_ENDPOINTS.filter((endpoint) => endpoint.method === 'GET')) {
      expectOrdinary(await sendAs(user, { method, path, body: '['.repeat(50_000) }));
    }
  });

  it('causes no 500 as unescaped text outside of ASCII', async () => {
    for (const path of pathsOf('\u00e9\u4e2d')) {
      const head = `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n`;
      const bytes = `${head}Authorization: Bearer ${user.token}\r\n\r\n`;
      expect(await exchangeRaw(service.baseUrl, bytes)).toMatch(/^HTTP\/1.1 [24]\d\d /);
    }
  });

  it('leaves the service as it was', async () => {
    // Other tests cause errors with these ids on purpose.
    const unexpected = log.lines.filter(
      (line) => line.includes('"message":"unforeseen error"') && !line.includes('"unforeseen-'),
    );
    expect(unexpected).toEqual([]);
    expect((await sendAs(user, { path: '/me' })).status).toBe(200);
    expect(Object.prototype).not.toHaveProperty('polluted');
  });
});

describe('The log', () => {
  it('contains no token, no key or address of the provider, and no query', () => {
    const everything = log.lines.join('');
    for (const secret of [user.token, reader.token, service.sandbox.apiKey, 'in-the-query', '/api/']) {
      expect(everything).not.toContain(secret);
    }
  });
});
