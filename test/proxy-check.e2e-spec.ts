import net from 'node:net';
import type { ProxyFault } from '../src/sandbox';
import { createApiClient } from './support/api-client';
import { eventually } from './support/built-service';
import { forAllTests } from './support/fixtures';
import { listen } from './support/listen';
import { captureLog } from './support/log-capture';
import { startReplica } from './support/replica';
import { openSilentPort } from './support/silent-port';
import { startTcpRelay } from './support/tcp-relay';
import { sharedTestService, startTestService, type TestUser } from './support/test-service';

type ProxyType = 'http' | 'socks';

const TIMEOUT_MS = 1000;
const TYPES: ProxyType[] = ['http', 'socks'];

// The service has an echo endpoint.
const relay = forAllTests(startTcpRelay);
const silent = forAllTests(openSilentPort);
const service = forAllTests(() =>
  startTestService({ environment: { ECHO_URL: `http://127.0.0.1:${relay.port}/echo` } }),
);
const replica = forAllTests(() => startReplica(service, { tuning: { proxyCheckTimeoutMs: TIMEOUT_MS } }));
const user = forAllTests(() => service.createUser());
const inHaste = () => ({ api: createApiClient(replica.baseUrl, user.token) });
beforeEach(() => void (relay.target = Number(new URL(service.baseUrl).port)));

/** IPv4 by default, the family of the echo endpoint. */
async function buy(type: ProxyType = 'http', version: '4' | '6' = '4') {
  const [proxy] = (await user.buy({ count: 1, version, period: 30, proxy_type: type })).data?.proxies ?? [];
  if (!proxy) throw new Error('nothing was bought');
  return proxy;
}

async function check(id: string, from: Pick<TestUser, 'api'> = user) {
  const { data, error, response } = await from.api.GET('/proxies/{proxy_id}/check', {
    params: { path: { proxy_id: id } },
  });
  return { status: response.status, data, error, headers: response.headers };
}

const setFault = async (id: string, fault: ProxyFault | null) =>
  service.control.setProxyFault(await service.providerIdOf(id), fault);

const change = (id: string, columns: Record<'host' | 'port' | 'login' | 'password', string>) =>
  service.dataSource.query(
    'UPDATE proxies SET host = $2, port = $3, login = $4, password = $5 WHERE id = $1',
    [id, columns.host, columns.port, columns.login, columns.password],
  );

const history = async (id: string, query: object = {}) =>
  (await user.api.GET('/proxies/{proxy_id}/checks', { params: { path: { proxy_id: id }, query } })).data ?? {
    items: [],
    next_cursor: null,
  };

async function closedPort(): Promise<string> {
  const unused = await startTcpRelay();
  await unused.close();
  return String(unused.port);
}

describe.each(TYPES)('The check of a proxy of type %s', (type) => {
  const proxy = forAllTests(() => buy(type));
  afterEach(async () => {
    await setFault(proxy.id, null);
    await change(proxy.id, proxy);
  });

  it('goes through the proxy to the echo endpoint, and returns the exit address and the times', async () => {
    const { status, data, headers } = await check(proxy.id);
    expect(status).toBe(200);
    expect(data).toEqual({
      works: true,
      reason: null,
      exit_address: '127.0.0.1',
      connect_ms: expect.any(Number),
      first_byte_ms: expect.any(Number),
      checked_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(Number(data?.first_byte_ms)).toBeGreaterThanOrEqual(Number(data?.connect_ms));
    expect(headers.get('Cache-Control')).toBe('no-store');
  });

  it('reports a refused connection', async () => {
    await change(proxy.id, { ...proxy, port: await closedPort() });
    expect((await check(proxy.id)).data).toMatchObject({
      works: false,
      reason: 'refused',
      exit_address: null,
      connect_ms: null,
      first_byte_ms: null,
    });
  });

  it('reports no proxy as dead that the service itself did not reach', async () => {
    // A name that is not resolved, a network without a route, and a host that cannot be one.
    for (const host of ['no-such-host.invalid', '255.255.255.255', '10.0.0.1 5']) {
      await change(proxy.id, { ...proxy, host });
      expect([host, (await check(proxy.id)).data]).toMatchObject([
        host,
        { works: null, reason: 'network-down', connect_ms: null },
      ]);
    }
  });

  it('reports a wrong login, and a rental that has ended at the provider', async () => {
    await change(proxy.id, { ...proxy, password: 'wrong' });
    expect((await check(proxy.id)).data).toMatchObject({ works: false, reason: 'wrong-login' });
  });

  it('reports what the proxy does wrong', async () => {
    for (const [fault, reason] of [
      ['hang', 'timeout'],
      ['close', 'closed'],
      ['unreachable', 'echo-unreachable'],
    ] as const) {
      await setFault(proxy.id, fault);
      expect((await check(proxy.id, inHaste())).data).toMatchObject({
        works: false,
        reason,
        exit_address: null,
        connect_ms: expect.any(Number),
      });
      await setFault(proxy.id, null);
      expect((await check(proxy.id)).data).toMatchObject({ works: true, reason: null });
    }
  });

  it('gives up on a port that neither accepts nor refuses', async () => {
    await change(proxy.id, { ...proxy, port: String(silent.port) });
    expect((await check(proxy.id, inHaste())).data).toMatchObject({
      works: false,
      reason: 'timeout',
      connect_ms: null,
    });
  });

  it('reports once that the exit address is another one than before', async () => {
    const moved = await buy(type);
    await check(moved.id);
    await setFault(moved.id, 'close');
    await check(moved.id);
    await setFault(moved.id, 'elsewhere');
    expect((await check(moved.id)).data).toMatchObject({
      works: true,
      reason: 'exit-differs',
      exit_address: '127.0.0.2',
    });
    expect((await check(moved.id)).data).toMatchObject({ works: true, reason: null });
  });

  it('reports no proxy as dead while the echo endpoint is down, and logs that once', async () => {
    relay.target = null;
    const log = captureLog();
    expect((await check(proxy.id, inHaste())).data).toMatchObject({ works: null, reason: 'echo-down' });
    await setFault(proxy.id, 'hang');
    expect((await check(proxy.id, inHaste())).data).toMatchObject({ works: null, reason: 'echo-down' });
    log.stop();
    expect(log.lines.filter((line) => line.includes('the echo endpoint http'))).toHaveLength(1);
    relay.target = Number(new URL(service.baseUrl).port);
    expect((await check(proxy.id, inHaste())).data).toMatchObject({ works: false, reason: 'timeout' });
  });

  async function checkImpostor(respond: (socket: net.Socket) => void) {
    const impostor = net.createServer((socket) => {
      socket.on('error', () => undefined).once('data', () => respond(socket));
    });
    await change(proxy.id, { ...proxy, port: String(await listen(impostor)) });
    const { data } = await check(proxy.id);
    await new Promise((resolve) => impostor.close(resolve));
    return data;
  }

  it('is not deceived by something else that responds', async () => {
    const body = '{"nonce":"00","address":"203.0.113.7","forwarded_for":false}';
    const checked = await checkImpostor((socket) => {
      socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    });
    expect(checked).toMatchObject({ works: false, reason: 'wrong-response', exit_address: null });
  });

  it('reads no more of a response than it needs', async () => {
    let sent = 0;
    const checked = await checkImpostor((socket) => {
      const pour = () => {
        while (!socket.destroyed && socket.write(Buffer.alloc(65_536, 0x20))) sent += 65_536;
      };
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n');
      socket.on('drain', pour);
      pour();
    });
    expect(checked).toMatchObject({ works: false, reason: 'wrong-response' });
    expect(sent).toBeLessThan(20_000_000);
  });
});

describe('The check of an IPv6 proxy, with an echo endpoint that has only IPv4', () => {
  it('logs nothing if the first proxy works', async () => {
    const proxy = await buy('http', '6');
    const log = captureLog();
    for (const _ of [1, 2]) expect((await check(proxy.id, inHaste())).data).toMatchObject({ works: true });
    log.stop();
    expect(log.lines).toEqual([]);
  });

  it('reports none as dead until another one has reached the echo endpoint', async () => {
    const [dead, working] = [await buy('http', '6'), await buy('http', '6')];
    await setFault(dead.id, 'unreachable');
    const log = captureLog();
    for (const _ of [1, 2]) {
      expect((await check(dead.id)).data).toMatchObject({ works: null, reason: 'echo-down' });
    }
    log.stop();
    expect(log.lines.filter((line) => line.includes('not respond over IPv6'))).toHaveLength(1);
    expect((await check(working.id)).data).toMatchObject({ works: true });
    expect((await check(dead.id)).data).toMatchObject({ works: false, reason: 'echo-unreachable' });
  });
});

describe('The check of an HTTP proxy', () => {
  it('reports that it leaks X-Forwarded-For', async () => {
    const proxy = await buy();
    await setFault(proxy.id, 'forwarded-for');
    expect((await check(proxy.id)).data).toMatchObject({
      works: false,
      reason: 'leaks-forwarded-for',
      exit_address: '127.0.0.1',
    });
  });
});

describe('The check', () => {
  it('finds no proxy of another user, and nothing that is no id', async () => {
    const proxy = await buy();
    const other = await service.createUser();
    for (const [id, from] of [
      [proxy.id, other],
      ['0', user],
      ['x', user],
    ] as const) {
      const found = { status: 404, error: { detail: 'Proxy not found' } };
      expect(await check(id, from)).toMatchObject(found);
      const { response } = await from.api.GET('/proxies/{proxy_id}/checks', {
        params: { path: { proxy_id: id } },
      });
      expect(response.status).toBe(404);
    }
  });

  it('is made by 10 requests of a user at a time', async () => {
    const proxy = await buy();
    const held: net.Socket[] = [];
    const holding = net.createServer((socket) => void held.push(socket)).unref();
    await change(proxy.id, { ...proxy, port: String(await listen(holding)) });
    const refused: object[] = [];
    const checks = Array.from({ length: 20 }, async () => {
      const { status, error, headers } = await check(proxy.id);
      if (status !== 200) refused.push({ status, error, retryAfter: headers.get('Retry-After') });
    });
    await eventually(() => refused.length === 10 && held.length === 10);
    for (const socket of held) socket.destroy();
    holding.close();
    await Promise.all(checks);
    const error = { code: 'too-many-under-way', detail: 'Too many requests of this kind are in progress' };
    expect(refused).toEqual(refused.map(() => ({ status: 429, error, retryAfter: '5' })));
    expect(await check(proxy.id)).toMatchObject({ status: 200 });
  });

  it('keeps login and password out of the log', async () => {
    const log = captureLog();
    const proxy = await buy();
    await check(proxy.id);
    await setFault(proxy.id, 'close');
    await check(proxy.id);
    log.stop();
    expect(log.lines.join('')).not.toContain(proxy.password);
  });
});

describe('GET /proxies/{id}/checks', () => {
  it('shows what the checks of the proxy showed, the latest first, page by page', async () => {
    const [proxy, other] = [await buy(), await buy()];
    const made = [];
    for (let count = 0; count < 5; count += 1) made.unshift((await check(proxy.id)).data);
    await check(other.id);
    const first = await history(proxy.id, { limit: 3 });
    expect(first.items).toEqual(made.slice(0, 3));
    const second = await history(proxy.id, { limit: 3, cursor: first.next_cursor });
    expect(second).toEqual({ items: made.slice(3), next_cursor: null });
  });

  it('is empty before the first', async () => {
    expect(await history((await buy()).id)).toEqual({ items: [], next_cursor: null });
  });

  it('deletes results at the end of their retention', async () => {
    const proxy = await buy();
    await check(proxy.id);
    await service.dataSource.query(
      `INSERT INTO proxy_checks (id, proxy_id, user_id, works, checked_at)
       SELECT -n, $1, $2, true, now() - interval '31 days' FROM generate_series(1, 2500) n`,
      [proxy.id, user.id],
    );
    expect(await service.runJob('retention')).toMatchObject({ proxy_checks: 2500 });
    expect((await history(proxy.id)).items).toHaveLength(1);
  });
});

describe('GET /echo', () => {
  const request = async (query: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${service.baseUrl}/echo${query}`, { headers });
    return { status: response.status, body: await response.json(), headers: response.headers };
  };

  it('returns the address of the client, and nothing else', async () => {
    const { status, body, headers } = await request('?nonce=0123abcd');
    expect([status, body]).toEqual([200, { nonce: '0123abcd', address: '127.0.0.1', forwarded_for: false }]);
    expect(headers.get('Cache-Control')).toBe('no-store');
  });

  it('returns whether a header revealed the client of the request', async () => {
    const response = await request('?nonce=01', { 'X-Forwarded-For': '203.0.113.9' });
    expect(response.body).toEqual({ nonce: '01', address: '127.0.0.1', forwarded_for: true });
  });

  it.each(['', '?nonce=', '?nonce=<script>', `?nonce=${'0'.repeat(65)}`])(
    'repeats nothing that it is not made for: %s',
    async (query) => {
      expect(await request(query)).toMatchObject({ status: 404, body: { detail: 'Not Found' } });
    },
  );
});

describe('Without an echo endpoint', () => {
  it('checks are disabled, and say so', async () => {
    const plain = await sharedTestService();
    const someone = await plain.createUser();
    const { data } = await someone.buy({ count: 1, version: '6', proxy_type: 'http' });
    expect(await check(data?.proxies[0]?.id ?? '', someone)).toMatchObject({
      status: 404,
      error: { detail: 'Proxy checks are disabled' },
    });
    expect((await fetch(`${plain.baseUrl}/echo?nonce=01`)).status).toBe(404);
  });
});
