import { once } from 'node:events';
import { createServer } from 'node:net';
import { createApiClient } from './support/api-client';
import { forAllTests } from './support/fixtures';
import { listen } from './support/listen';
import { insertProxies, type ProxyRow } from './support/proxy-rows';
import { type RawResponse, sendRaw } from './support/raw-http';
import { startReplica } from './support/replica';
import { openSilentPort } from './support/silent-port';
import { startTestService, type TestUser } from './support/test-service';

const PING_TIMEOUT_MS = 300;
const FIELDS = [
  'id',
  'host',
  'port',
  'login',
  'password',
  'proxy_type',
  'country',
  'version',
  'date_start',
  'date_end',
  'active',
  'descr',
];
const UTC_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

// The clock advances.
const service = forAllTests(startTestService);

async function buy(user: TestUser, order: object = {}) {
  const { data } = await user.buy(order);
  if (!data) throw new Error('nothing was bought');
  return data.proxies;
}
const insert = (user: TestUser, count: number, row?: ProxyRow) =>
  insertProxies(service.dataSource, user.id, count, row);
const list = async (user: TestUser) => (await user.api.GET('/proxies')).data ?? [];
const download = (user: TestUser, query = ''): Promise<RawResponse> =>
  sendRaw(service.baseUrl, { path: `/proxies/export${query}`, token: user.token });

describe('GET /proxies', () => {
  it('lists everything that was bought, as it was delivered, ordered by id', async () => {
    const user = await service.createUser();
    const bought = [
      ...(await buy(user, { count: 3, country: 'nl', proxy_type: 'socks' })),
      ...(await buy(user, { count: 8, version: '4' })),
      ...(await buy(user, { version: '4s' })),
    ];
    const listed = await list(user);
    expect(listed).toEqual(bought);
    const ids = listed.map(({ id }) => Number(id));
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
  });

  it('orders ids as numbers, not as text', async () => {
    const user = await service.createUser();
    const ids = await insert(user, 120);
    expect((await list(user)).map(({ id }) => id)).toEqual(ids.map(String));
  });

  it('shows exactly the specified fields, with times in UTC', async () => {
    const user = await service.createUser();
    await buy(user);
    const [proxy] = await list(user);
    expect(Object.keys(proxy ?? {})).toEqual(FIELDS);
    expect(proxy).toMatchObject({
      id: expect.stringMatching(/^\d+$/),
      port: expect.stringMatching(/^\d+$/),
      proxy_type: 'http',
      country: 'ru',
      version: '6',
      date_start: expect.stringMatching(UTC_TIME),
      date_end: expect.stringMatching(UTC_TIME),
      active: true,
      descr: null,
    });
    const days = (Date.parse(proxy?.date_end ?? '') - Date.parse(proxy?.date_start ?? '')) / (24 * 3_600_000);
    expect(days).toBe(30);
  });

  it('shows the stored times, with any time zone of the database', async () => {
    const user = await service.createUser();
    const [id] = await insert(user, 1, { descr: 'mine' });
    await service.dataSource.query(
      `UPDATE proxies SET date_start = '2026-03-29T01:30:00+03:00', date_end = NULL WHERE id = $1`,
      [id],
    );
    expect(await list(user)).toMatchObject([
      { date_start: '2026-03-28T22:30:00Z', date_end: null, active: false, descr: 'mine' },
    ]);
  });

  it('lists nothing of other users', async () => {
    const [one, other] = [await service.createUser(), await service.createUser()];
    await buy(one, { count: 2 });
    const [mine] = await buy(other);
    expect(await list(other)).toEqual([mine]);
  });
});

describe('A proxy', () => {
  it('is active while its rental lasts, at the time of the response', async () => {
    const user = await service.createUser();
    await insert(user, 1, { endsInSeconds: 3600 });
    await insert(user, 1, { endsInSeconds: 2 * 3600 });
    const activity = async () => {
      const exported = JSON.parse((await download(user)).text) as { active: boolean }[];
      expect(exported).toEqual(await list(user));
      return exported.map(({ active }) => active);
    };
    expect(await activity()).toEqual([true, true]);
    service.clock.advanceSeconds(3600);
    expect(await activity()).toEqual([false, true]);
    service.clock.advanceSeconds(3600);
    expect(await activity()).toEqual([false, false]);
  });

  it('is active by its dates, with either stored flag', async () => {
    const user = await service.createUser();
    await insert(user, 1, { active: false, endsInSeconds: 30 * 24 * 3600 });
    await insert(user, 1, { active: true, endsInSeconds: -1 });
    expect((await list(user)).map(({ active }) => active)).toEqual([true, false]);
    expect((await download(user, '?format=txt&active_only=true')).text).toBe(
      '127.0.0.1:8080:login1:password1\n',
    );
  });
});

describe('A proxy that the provider has withdrawn', () => {
  it('is inactive, with any end and stored flag', async () => {
    const user = await service.createUser();
    const [withdrawn = 0, remaining = 0] = await insert(user, 2, { active: true });
    await service.dataSource.query('UPDATE proxies SET withdrawn_at = now() WHERE id = $1', [withdrawn]);
    const shown = [
      { id: String(withdrawn), active: false },
      { id: String(remaining), active: true },
    ];
    expect(await list(user)).toMatchObject(shown);
    expect((await download(user)).json()).toMatchObject(shown);
    expect((await download(user, '?active_only=true')).json()).toMatchObject(shown.slice(1));
    expect((await download(user, '?active_only=true&format=txt')).text).toBe(
      '127.0.0.1:8080:login2:password2\n',
    );
  });
});

describe('GET /proxies/export', () => {
  it('is a JSON file with the response of GET /proxies', async () => {
    const user = await service.createUser();
    await buy(user, { count: 2 });
    await buy(user, { proxy_type: 'socks' });
    const response = await download(user, '?format=json');
    expect([response.status, response.headers['content-type']]).toEqual([200, 'application/json']);
    expect(response.headers['content-disposition']).toBe('attachment; filename="proxies.json"');
    expect(response.json()).toEqual(await list(user));
  });

  it('is a text file with a line for each proxy', async () => {
    const user = await service.createUser();
    await buy(user, { count: 2 });
    await buy(user, { proxy_type: 'socks' });
    const response = await download(user, '?format=txt');
    expect([response.status, response.headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(response.headers['content-disposition']).toBe('attachment; filename="proxies.txt"');
    const lines = (await list(user)).map(
      ({ host, port, login, password }) => `${host}:${port}:${login}:${password}\n`,
    );
    expect(response.text).toBe(lines.join(''));
    expect(lines).toHaveLength(3);
  });

  it('is an empty array, as the list, or an empty file for a user without proxies', async () => {
    const user = await service.createUser();
    const { data, response } = await user.api.GET('/proxies');
    expect([response.status, data]).toEqual([200, []]);
    expect((await download(user)).text).toBe('[]');
    const text = await download(user, '?format=txt');
    expect([text.status, text.text]).toEqual([200, '']);
    expect(text.headers['content-disposition']).toBe('attachment; filename="proxies.txt"');
  });

  it('has nothing of other users', async () => {
    await insert(await service.createUser(), 2);
    const user = await service.createUser();
    await insert(user, 1, { login: 'mine' });
    expect((await download(user, '?format=txt')).text).toBe('127.0.0.1:8080:mine:password1\n');
  });

  describe('filters', () => {
    const user = forAllTests(() => service.createUser());
    beforeAll(async () => {
      await insert(user, 1, { login: 'http-active', proxyType: 'http', endsInSeconds: 365 * 24 * 3600 });
      await insert(user, 1, { login: 'http-expired', proxyType: 'http', endsInSeconds: -60 });
      await insert(user, 1, { login: 'socks-active', proxyType: 'socks', endsInSeconds: 365 * 24 * 3600 });
      await insert(user, 1, { login: 'socks-expired', proxyType: 'socks', endsInSeconds: -60 });
    });

    const ALL = ['http-active', 'http-expired', 'socks-active', 'socks-expired'];
    const ACTIVE = ['http-active', 'socks-active'];
    const HTTP = ['http-active', 'http-expired'];
    const SOCKS = ['socks-active', 'socks-expired'];

    it.each([
      ['', ALL],
      ['proxy_type=all', ALL],
      ['proxy_type=http', HTTP],
      ['proxy_type=socks', SOCKS],
      ['active_only=false', ALL],
      ['active_only=true', ACTIVE],
      ['active_only=1', ACTIVE],
      ['active_only=Yes', ACTIVE],
      ['active_only=off', ALL],
      ['proxy_type=http&active_only=true', ['http-active']],
      ['proxy_type=socks&active_only=true', ['socks-active']],
      ['proxy_type=socks&active_only=false', SOCKS],
      ['proxy_type=all&active_only=on', ACTIVE],
      ['proxy_type=http&proxy_type=socks', SOCKS],
      ['proxy_type=nonsense&proxy_type=all', ALL],
      ['active_only=true&active_only=false', ALL],
      ['unknown=nl&nonsense', ALL],
      ['country=nl&version=4', []],
      ['active=false&active_only=true', ACTIVE],
    ])('in %p select %j', async (query, logins) => {
      const json = await download(user, `?${query}`);
      expect((json.json() as { login: string }[]).map(({ login }) => login)).toEqual(logins);
      const text = await download(user, `?${query}&format=txt`);
      expect(text.text).toBe(logins.map((login) => `127.0.0.1:8080:${login}:password1\n`).join(''));
    });
  });

  it('takes the last value of a repeated format', async () => {
    const user = await service.createUser();
    expect((await download(user, '?format=json&format=txt')).headers['content-type']).toBe(
      'text/plain; charset=utf-8',
    );
    expect((await download(user, '?format=xml&format=json')).headers['content-type']).toBe(
      'application/json',
    );
    expect((await download(user, '?format=json&format=xml')).status).toBe(422);
  });

  it('writes UTF-8, and valid JSON with any text in the fields', async () => {
    const user = await service.createUser();
    const password = 'p\u00e4ss "\\\u{1f511}\u2028';
    await insert(user, 1, { password });
    expect((await download(user, '?format=txt')).text).toBe(`127.0.0.1:8080:login1:${password}\n`);
    expect((await download(user)).json()).toMatchObject([{ password }]);
  });

  it.each([999, 1000, 1001])('is complete with %i proxies', async (count) => {
    const user = await service.createUser();
    const ids = await insert(user, count);
    expect(((await download(user)).json() as { id: string }[]).map(({ id }) => Number(id))).toEqual(ids);
    expect((await download(user, '?format=txt')).text.split('\n')).toHaveLength(count + 1);
  });

  it('serves HEAD with the headers of the file only', async () => {
    const user = await service.createUser();
    await insert(user, 1);
    const response = await sendRaw(service.baseUrl, {
      method: 'HEAD',
      path: '/proxies/export',
      token: user.token,
    });
    expect(response.status).toBe(200);
    expect(response.headers['content-disposition']).toBe('attachment; filename="proxies.json"');
    expect(response.text).toBe('');
  });
});

describe('GET /proxies/{proxy_id}/ping', () => {
  const ping = ({ api }: Pick<TestUser, 'api'>, id: string | number) =>
    api.GET('/proxies/{proxy_id}/ping', { params: { path: { proxy_id: String(id) } } });

  it.each(['http', 'socks'])('measures how long a connection to a bought %s proxy takes', async (type) => {
    const user = await service.createUser();
    const [proxy] = await buy(user, { proxy_type: type });
    const startedAtMs = performance.now();
    const { data, response } = await ping(user, proxy?.id ?? '');
    const elapsedMs = performance.now() - startedAtMs;
    expect(response.status).toBe(200);
    expect(Object.keys(data ?? {})).toEqual(['latency_ms']);
    expect(Number.isInteger(data?.latency_ms)).toBe(true);
    expect(data?.latency_ms).toBeGreaterThanOrEqual(0);
    expect(data?.latency_ms).toBeLessThanOrEqual(Math.ceil(elapsedMs));
  });

  it('opens one connection and closes it without sending anything', async () => {
    const heard: Buffer[] = [];
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.on('data', (chunk) => heard.push(chunk));
    });
    const user = await service.createUser();
    const [id = 0] = await insert(user, 1, { port: String(await listen(server)) });
    const closed = once(server, 'connection').then(([socket]) => once(socket, 'close'));
    expect((await ping(user, id)).data?.latency_ms).toBeGreaterThanOrEqual(0);
    await closed;
    server.close();
    expect([connections, heard]).toEqual([1, []]);
  });

  it('measures an expired proxy that still responds', async () => {
    const user = await service.createUser();
    const [proxy] = await buy(user);
    await service.dataSource.query(`UPDATE proxies SET date_end = now() - interval '1 day' WHERE id = $1`, [
      proxy?.id,
    ]);
    expect((await ping(user, proxy?.id ?? '')).data?.latency_ms).toBeGreaterThanOrEqual(0);
  });

  it.each<[string, ProxyRow]>([
    ['at whose port nobody listens', { port: '1' }],
    ['whose port is none', { port: '99999' }],
    ['whose port is not a number', { port: 'eighty' }],
    ['whose host is none', { host: 'host.invalid' }],
    ['whose host is no host name', { host: 'not a host' }],
  ])('is null for a proxy %s', async (_, row) => {
    const user = await service.createUser();
    const [id = 0] = await insert(user, 1, row);
    const { data, response } = await ping(user, id);
    expect([response.status, data]).toEqual([200, { latency_ms: null }]);
  });

  it('is null for a proxy that does not respond in time', async () => {
    const silent = await openSilentPort();
    const impatient = await startReplica(service, { tuning: { pingTimeoutMs: PING_TIMEOUT_MS } });
    try {
      const user = await service.createUser();
      const api = createApiClient(impatient.baseUrl, user.token);
      const [id = 0] = await insert(user, 1, { port: String(silent.port) });
      const startedAt = performance.now();
      expect((await ping({ api }, id)).data).toEqual({ latency_ms: null });
      expect(performance.now() - startedAt).toBeGreaterThan(PING_TIMEOUT_MS - 10);
    } finally {
      await impatient.close();
      await silent.close();
    }
  });

  it('returns 404 for another user’s proxy, as for one that does not exist', async () => {
    const [id = 0] = await insert(await service.createUser(), 1);
    const user = await service.createUser();
    for (const unknown of [id, 999_999_999]) {
      const { error, response } = await ping(user, unknown);
      expect([response.status, error]).toEqual([404, { detail: 'Proxy not found' }]);
    }
  });

  it.each(
    [
      '0',
      '-1',
      '+1',
      '01',
      '1.0',
      '1e3',
      '0x1',
      'abc',
      'export',
      '%20',
      '1%20',
      '%00',
      '1%00',
      '%D9%A1',
      '9223372036854775808',
      '9'.repeat(30),
      'x'.repeat(5000),
    ].map((id) => [id.slice(0, 40), id] as const),
  )('returns 404 for the malformed id %s', async (_, id) => {
    const user = await service.createUser();
    const response = await sendRaw(service.baseUrl, { path: `/proxies/${id}/ping`, token: user.token });
    expect([response.status, response.json()]).toEqual([404, { detail: 'Proxy not found' }]);
  });
});
