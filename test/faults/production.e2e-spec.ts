import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { startBalancer } from '../../drills/failover/haproxy';
import { type Daemon, runProgram, startDaemon } from '../../drills/support/daemon';
import { DEBIAN, missingPackages } from '../../drills/support/debian';
import { freePorts, isListening, LOOPBACK } from '../../drills/support/ports';
import { REQUEST_TIMEOUT_MS } from '../../src/http/configure-http';
import { MAX_BODY_BYTES } from '../../src/http/request-body';
import { connectAgent } from '../support/agent';
import { type BuiltService, eventually, killLeftovers } from '../support/built-service';
import { forAllTests } from '../support/fixtures';
import { inLongForm } from '../support/long-form';
import { CLIENT_METADATA, placeOrderByOAuth } from '../support/oauth-purchase';
import { describeWith, findProgram } from '../support/programs';
import { type Customer, Replicas } from '../support/replicas';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';

const OPERATIONS = join(__dirname, '..', '..', 'operations');
const OUTSIDE = '127.0.0.2';
const STAFF = '127.0.0.3';
const KILLS = inLongForm(20, 1);

const SLOW_REQUESTS = 300;
const BODY_STALL_MS = 2000;
const ORDER = '{"country":"ru","period":30}';
const UNAVAILABLE = {
  status: 503,
  body: '{"detail":"Service temporarily unavailable"}',
  headers: { 'retry-after': '2', 'content-type': 'application/json; charset=utf-8' },
};

interface Front {
  readonly balancer: Daemon;
  readonly port: number;
  /** Redirects to TLS. */
  readonly httpPort: number;
  /** Certificate of the balancer's authority. Without one, the balancer is reached without TLS. */
  readonly authority?: string;
}

let replicas: Replicas;
let running: BuiltService[];
let customer: Customer;
let directory: string;
/** Caddy's, which uses it. The others pass on requests for the same service. */
let publicUrl: string;
let ports: readonly number[];

const headOf = (request: string): string[] => [
  `${request} HTTP/1.1`,
  'Host: localhost',
  `Authorization: Bearer ${customer.token}`,
];

async function openReplicas(): Promise<{ close(): Promise<void> }> {
  const [one = 0, other = 0, ...rest] = await freePorts(11);
  ports = rest;
  publicUrl = `https://localhost:${ports[0]}`;
  directory = await createTestDirectory('balancer-');
  replicas = await Replicas.open({
    environment: {
      MCP_OAUTH: 'on',
      TRUSTED_PROXIES: LOOPBACK,
      PUBLIC_URL: publicUrl,
      ECHO_URL: `${publicUrl}/echo`,
      PX6_COMPATIBLE: 'on',
      PURCHASE_WAIT_MS: '60000',
      PROVIDER_RATE_PER_SECOND: '100',
      PROVIDER_TIMEOUT_MS: '20000',
      // A third of what the slow requests would take.
      MAX_CONNECTIONS: '100',
      DRAIN_SECONDS: '3',
      LOG_LEVEL: 'info',
    },
    tuning: { px6CallsPerSecond: 1000, bodyStallMs: BODY_STALL_MS },
  });
  running = await Promise.all([one, other].map((at) => startAt(String(at))));
  customer = await replicas.createCustomer();
  return {
    async close() {
      await killLeftovers();
      await replicas.audit();
      await replicas.close();
      await removeTestDirectory(directory);
    },
  };
}

function open({ port, authority }: Front): Socket {
  const socket = connect({ host: LOOPBACK, port, localAddress: '127.0.0.4' });
  return authority === undefined ? socket : connectTls({ socket, servername: 'localhost', ca: authority });
}

/** Expects 200 for the paths while bodies, short or long, never arrive. Returns the statuses for those. */
async function readDuringSlowRequests(front: Front, ...paths: readonly string[]): Promise<string[]> {
  const head = [...headOf('POST /proxies/buy'), 'Content-Type: application/json'];
  const sendOne = async (_: unknown, n: number): Promise<string> => {
    const socket = open(front);
    let response = '';
    socket.setEncoding('utf8').on('data', (part: string) => (response += part));
    const length = `Content-Length: ${n % 2 === 0 ? 500 : 100_000}`;
    socket.on('error', () => undefined).write([...head, length, '', '{"country"'].join('\r\n'));
    await eventually(() => response !== '' || socket.destroyed);
    socket.destroy();
    return /^HTTP\/1.1 (\d+)/.exec(response)?.[1] ?? 'none';
  };
  const slow = Promise.all(Array.from({ length: SLOW_REQUESTS }, sendOne));
  const isOver = slow.then(() => true);
  const statuses: number[] = [];
  while (!(await Promise.race([isOver, pause(100)]))) {
    for (const path of paths) statuses.push((await send(front, path)).status);
  }
  expect(new Set(statuses)).toEqual(new Set([200]));
  return slow;
}

interface ServiceResponse {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

interface SendOptions {
  readonly from?: string;
  readonly token?: string;
  readonly key?: string;
  readonly body?: string;
  readonly headers?: Record<string, string>;
  readonly toPort?: number;
}

/** Sends a POST if there is a body or key. */
async function send(
  { port, httpPort, authority }: Front,
  path: string,
  { from = OUTSIDE, token = customer.token, key, body, headers = {}, toPort = port }: SendOptions = {},
): Promise<ServiceResponse> {
  const sent = body ?? (key === undefined ? undefined : ORDER);
  const request = (authority === undefined || toPort === httpPort ? requestHttp : requestHttps)({
    host: LOOPBACK,
    servername: 'localhost',
    port: toPort,
    path,
    localAddress: from,
    agent: false,
    ca: authority,
    method: sent === undefined ? 'GET' : 'POST',
    headers: {
      Host: `localhost:${toPort}`,
      ...(token !== '' && { Authorization: `Bearer ${token}` }),
      ...(sent !== undefined && { 'Content-Type': 'application/json' }),
      ...(key !== undefined && { 'Idempotency-Key': key }),
      ...headers,
    },
  });
  request.end(sent);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) };
}

const portOf = (replica: BuiltService | undefined): string => new URL(replica?.baseUrl ?? '').port;
const startAt = (at: string): Promise<BuiltService> => replicas.start({ environment: { PORT: at } });
const countOrders = async (): Promise<number> => (await replicas.query('SELECT FROM orders')).length;

async function restart(at: number, fronts: readonly Front[]): Promise<void> {
  const next = (running[at] = await startAt(portOf(running[at])));
  for (const front of fronts) {
    const headers = { 'X-Request-Id': `to-${next.pid}-by-${front.port}` };
    await eventually(
      async () => (await send(front, '/me', { headers })) && next.stdout().includes(headers['X-Request-Id']),
    );
  }
}

/** The replica has some of the requests. No balancer may send them again. */
async function expectNoneTwice(fronts: readonly Front[], victim: BuiltService | undefined): Promise<void> {
  const before = await countOrders();
  const buyers = await Promise.all(
    fronts.map(async (front) => ({ front, ...(await replicas.createCustomer()) })),
  );
  const buyAll = (times: readonly number[]): Promise<ServiceResponse>[] =>
    buyers.flatMap(({ front, token }) =>
      times.flatMap((n) => [
        send(front, `/api/${token}/buy/?count=1&period=30&country=ru&version=4&descr=${n}`),
        send(front, '/proxies/buy', { token, body: ORDER }),
      ]),
    );
  // Known prices and stock need no permit.
  const known = await Promise.all(buyAll([1, 2]));
  const requests = await replicas.holdPermits(async () => {
    const sent = buyAll([3, 4, 5, 6, 7, 8]);
    await eventually(async () => (await countOrders()) === before + known.length + sent.length);
    victim?.kill('SIGKILL');
    await victim?.ended();
    return sent;
  });
  const afterwards = buyers.flatMap(({ front, token }) =>
    [1, 2, 3, 4, 5, 6].map((n) => send(front, '/proxies/buy', { token, key: `after-${n}` })),
  );
  for (const { status, body } of await Promise.all(afterwards)) expect([status, body]).toEqual([200, body]);
  const statuses = (await Promise.all(requests)).map(({ status }) => status);
  // On a busy machine the other replica may not know the outcome in time, either.
  expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
  await replicas.untilSettled();
  expect(await countOrders()).toBe(before + known.length + requests.length + afterwards.length);
  for (const { front, token } of buyers) {
    await eventually(async () => (await send(front, `/api/${token}/getproxy`)).status === 200);
  }
}

/** Kills all replicas while they have an order of each interface by each balancer. */
async function expectSafeRetry(fronts: readonly Front[]): Promise<void> {
  const agent = await connectAgent(running[0]?.baseUrl ?? '', customer.token);
  const order = { country: 'ru', period: 30, count: 1 };
  const before = await countOrders();
  const sendAll = async (front: Front, at: number) => {
    const { order_ref } = (await agent.call('prepare_purchase', order)).result ?? {};
    const params = { name: 'place_order', arguments: { order_ref } };
    const post = (path: string, body: object) =>
      send(front, path, {
        ...(at === 0 && { key: 'unknown' }),
        body: JSON.stringify(body),
        headers: { Accept: 'application/json, text/event-stream' },
      });
    return () => [
      post('/proxies/buy', order),
      post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      send(front, `/api/${customer.token}/buy?count=1&period=30&country=ru&version=6`),
    ];
  };
  const prepared = await Promise.all(fronts.map(sendAll));
  await agent.close();
  const responses = await replicas.holdPermits(async () => {
    const sent = prepared.flatMap((begin) => begin());
    await eventually(async () => (await countOrders()) === before + sent.length);
    for (const replica of running) replica.kill('SIGKILL');
    return Promise.all(sent);
  });
  const expected = [
    'retry it with the same Idempotency-Key',
    'call again with the same arguments, place_order with the same order_ref',
    'buy again only with the same descr=key:NAME, otherwise look for the order with getproxy',
  ].map((next) => [503, `{"detail":"The outcome of the request is unknown: ${next}"}`]);
  expect(responses.map(({ status, body }) => [status, body])).toEqual(fronts.flatMap(() => expected));
}

function itConnectsAgents(front: Front): void {
  it('connects an agent by OAuth, and counts registrations against its address', async () => {
    const { token } = await replicas.createCustomer();
    const sendAnonymously = (path: string, options?: SendOptions) =>
      send(front, path, { ...options, token: '' });
    const order = await placeOrderByOAuth(publicUrl, token, sendAnonymously);
    expect(order).toMatchObject({ price_charged: '25.08' });
    const register = async (from: string): Promise<number> => {
      const headers = { 'X-Forwarded-For': `198.51.100.${randomInt(250)}` };
      return (await sendAnonymously('/register', { from, headers, body: CLIENT_METADATA })).status;
    };
    // More than two replicas accept at the turn of a minute.
    const statuses = await Promise.all(Array.from({ length: 90 }, () => register('127.0.0.5')));
    expect(statuses).toContain(429);
    expect(await register('127.0.0.6')).toBe(201);
  });
}

function itGuardsByTls(front: Front, forgedEcho: object): void {
  it('serves by TLS, and leads there from HTTP', async () => {
    expect((await send(front, '/health')).body).toBe('{"status":"ok"}');
    const redirection = await send(front, '/docs?a=b', {
      toPort: front.httpPort,
      headers: { Host: 'localhost' },
    });
    // A container does not know its port outside.
    const location = 'https://localhost/docs?a=b';
    expect(redirection).toMatchObject({ status: 308, headers: { location } });
  });

  it('has no /staff for others than its networks, however it is written', async () => {
    for (const path of ['/staff', '/staff/docs', '/STAFF/users', '/%73taff/users', '//staff/users']) {
      const forged = { headers: { 'X-Forwarded-For': STAFF } };
      for (const response of [await send(front, path), await send(front, path, forged)]) {
        expect([path, response]).toMatchObject([path, { status: 404, body: '{"detail":"Not Found"}' }]);
      }
    }
    expect((await send(front, '/staff/docs/', { from: STAFF })).status).toBe(200);
    expect((await send(front, '/staff/users', { from: STAFF })).status).toBe(403);
  });

  it("passes the client's address on, and not what the client says of it", async () => {
    const forged = await send(front, '/echo?nonce=ab', { headers: { 'X-Forwarded-For': '198.51.100.7' } });
    expect(JSON.parse(forged.body)).toMatchObject({ address: OUTSIDE, ...forgedEcho });
    expect(JSON.parse((await send(front, '/echo?nonce=ab')).body)).toMatchObject({ forwarded_for: false });
  });

  itConnectsAgents(front);
}

const analyze = findProgram('systemd-analyze') ?? '';
describeWith(analyze === '' ? ['systemd'] : [], 'The units of systemd', () => {
  it('are valid', async () => {
    const units = ['proxy-rental@.service', 'proxy-rental-migrate.service'];
    // Only warnings of these units are errors, not those of the machine.
    const parameters = ['verify', '--recursive-errors=no', ...units];
    await runProgram({ program: analyze, parameters, directory: join(OPERATIONS, 'systemd') });
  });
});

const stop = ({ balancer }: Front): Promise<unknown> => balancer.stop();

async function startCaddy(): Promise<Front> {
  const [port = 0, httpPort = 0, admin = 0] = ports;
  const configuration = await readFile(join(OPERATIONS, 'Caddyfile'), 'utf8');
  const file = join(directory, 'Caddyfile');
  const patience = /read_body (\d+)s/;
  expect(Number(patience.exec(configuration)?.[1])).toBeGreaterThan(REQUEST_TIMEOUT_MS / 1000);
  await writeFile(
    file,
    configuration
      .replace('\n{\n', `\n{\n\tdefault_bind ${LOOPBACK}\n`)
      .replace(patience, `read_body ${(3 * BODY_STALL_MS) / 1000}s`),
  );
  const balancer = await startDaemon({
    program: DEBIAN.caddy.path,
    parameters: ['run', '--config', file, '--adapter', 'caddyfile'],
    directory,
    environment: {
      XDG_DATA_HOME: directory,
      XDG_CONFIG_HOME: directory,
      PUBLIC_URL: publicUrl,
      HTTP_PORT: String(httpPort),
      HTTPS_PORT: String(port),
      CADDY_ADMIN: `${LOOPBACK}:${admin}`,
      REPLICAS: running.map(({ baseUrl }) => new URL(baseUrl).host).join(' '),
      STAFF_NETWORKS: `203.0.113.0/24 ${STAFF}`,
    },
  });
  const authority = await eventually(() =>
    readFile(join(directory, 'caddy/pki/authorities/local/root.crt'), 'utf8').catch(() => null),
  );
  return untilServed({ balancer, port, httpPort, authority });
}

async function startNginx(): Promise<Front> {
  const [, , , port = 0, httpPort = 0] = ports;
  const certificate = ['-keyout', 'key.pem', '-out', 'cert.pem', '-subj', '/CN=localhost', '-nodes'];
  await runProgram({
    program: '/usr/bin/openssl',
    parameters: ['req', '-x509', '-newkey', 'rsa:2048', ...certificate],
    directory,
  });
  const [one = '', other = ''] = running.map(({ baseUrl }) => new URL(baseUrl).host);
  const replaced = [
    [/listen \[::\].*/g, ''],
    ['listen 80', `listen ${LOOPBACK}:${httpPort}`],
    ['listen 443', `listen ${LOOPBACK}:${port}`],
    ['127.0.0.1:3001', one],
    ['127.0.0.1:3002', other],
    ['/etc/letsencrypt/live/proxies.example.com/fullchain.pem', `${directory}/cert.pem`],
    ['/etc/letsencrypt/live/proxies.example.com/privkey.pem', `${directory}/key.pem`],
    ['/var/log/nginx', directory],
    ['allow 203.0.113.0/24', `allow ${STAFF}`],
    ['client_body_timeout 5s', `client_body_timeout ${BODY_STALL_MS / 1000}s`],
  ] as const;
  const configuration = await readFile(join(OPERATIONS, 'nginx.conf'), 'utf8');
  for (const [from] of replaced) expect(configuration.search(from)).toBeGreaterThan(0);
  await writeFile(
    join(directory, 'site.conf'),
    replaced.reduce((file, [from, to]) => file.replace(from, to), configuration),
  );
  const main = `daemon off; pid ${directory}/pid; events {} http { include ${directory}/site.conf; }\n`;
  await writeFile(join(directory, 'nginx.conf'), main);
  const balancer = await startDaemon({
    program: DEBIAN.nginx.path,
    parameters: ['-p', directory, '-e', 'stderr', '-c', join(directory, 'nginx.conf')],
    directory,
    isReady: () => isListening(port),
  });
  return { balancer, port, httpPort, authority: await readFile(join(directory, 'cert.pem'), 'utf8') };
}

async function startHaproxy(): Promise<Front> {
  const [port = 0, databasePort = 0, statePort = 0, unused = 0] = ports.slice(5);
  const files = join(directory, 'haproxy');
  await cp(join(__dirname, '..', '..', 'docker', 'cluster'), files, { recursive: true });
  const file = join(files, 'haproxy.cfg');
  await writeFile(file, (await readFile(file, 'utf8')).replace('local0 notice', 'local0 info'));
  const balancer = await startBalancer({
    servicePort: port,
    databasePort,
    statePort,
    replicaPorts: [...running.map((one) => Number(portOf(one))), unused],
    nodes: [1, 2, 3].map(() => ({ databasePort: unused, restPort: unused })),
    files,
  });
  return untilServed({ balancer, port, httpPort: port });
}

async function untilServed(front: Front): Promise<Front> {
  await eventually(() =>
    send(front, '/health/ready').then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
  return front;
}

describeWith(missingPackages('caddy', 'nginx', 'haproxy'), 'The load balancers of two replicas', () => {
  forAllTests(openReplicas);
  const caddy = forAllTests(startCaddy, stop);
  const nginx = forAllTests(startNginx, stop);
  const haproxy = forAllTests(startHaproxy, stop);
  const fronts = [caddy, nginx, haproxy];

  describe('The Caddyfile', () => {
    itGuardsByTls(caddy, {});

    it('serves others while malformed bodies arrive', async () => {
      const lines = [...headOf('POST /proxies/buy'), 'Transfer-Encoding: chunked', '', '?', ''];
      const done = new AbortController();
      const sendMalformed = async (): Promise<void> => {
        while (!done.signal.aborted) {
          const socket = open(caddy);
          socket.write(lines.join('\r\n'));
          await once(socket, 'data');
          socket.destroy();
        }
      };
      const sending = Promise.all(running.map(sendMalformed));
      const statuses = [];
      for (const _ of [1, 2, 3]) statuses.push((await send(caddy, '/me')).status);
      done.abort();
      await sending;
      expect(statuses).toEqual([200, 200, 200]);
    });

    it('serves others while the bodies of one address do not arrive, and responds to those', async () => {
      const slow = await readDuringSlowRequests(caddy, '/me');
      // On a busy machine a handshake may take longer than the patience, so that some get no response.
      expect([...new Set(slow)]).toEqual(expect.arrayContaining(['408', '429']));
      expect(slow).not.toContain('200');
    });
  });

  describe('The configuration of nginx', () => {
    itGuardsByTls(nginx, { forwarded_for: true });

    it('accepts bodies up to the size that the service does', async () => {
      const bodyOf = (length: number): string => '{"country":"ru","period":0}'.padEnd(length);
      expect(await send(nginx, '/proxies/buy', { body: bodyOf(MAX_BODY_BYTES) })).toMatchObject({
        status: 422,
      });
      expect(await send(nginx, '/proxies/buy', { body: bodyOf(MAX_BODY_BYTES + 1) })).toMatchObject({
        status: 413,
        body: '{"detail":"Request Entity Too Large"}',
      });
    });

    it('passes an event on while the stream is open', async () => {
      const client = open(nginx);
      client.write([...headOf('GET /events'), 'Accept: text/event-stream', '', ''].join('\r\n'));
      let received = '';
      client.setEncoding('utf8').on('data', (part: string) => (received += part));
      await eventually(() => received.includes('event: balance.credited'));
      client.destroy();
    });

    it('serves others while the bodies of one address do not arrive', async () => {
      expect(await readDuringSlowRequests(nginx, '/me')).not.toContain('200');
    });
  });

  describe('The configuration of HAProxy', () => {
    itConnectsAgents(haproxy);

    it('serves others while the bodies of one address do not arrive, and responds to those', async () => {
      const slow = await readDuringSlowRequests(haproxy, '/me', '/health/ready');
      expect(new Set(slow)).toEqual(new Set(['408']));
    });
  });

  it('send no order again when a replica is killed, and what it did not get to the other one', async () => {
    for (let kill = 0; kill < KILLS; kill += 1) {
      const at = kill % running.length;
      await expectNoneTwice(fronts, running[at]);
      await restart(at, fronts);
    }
    await eventually(() => haproxy.balancer.output().includes('service px6/replica-2'));
  }, 600_000);

  it('lose no request while a replica drains and stops, and sell (Caddy)', async () => {
    const drained = running.length - 1;
    const counts: Record<string, number> = {};
    const done = new AbortController();
    const use = async (): Promise<void> => {
      while (!done.signal.aborted) {
        const { status } = await send(caddy, '/me');
        counts[status] = (counts[status] ?? 0) + 1;
        await pause(20);
      }
    };
    const using = Promise.all([use(), use(), use(), use()]);
    await running[drained]?.stop();
    done.abort();
    await using;
    expect(counts).toEqual({ 200: expect.any(Number) });
    const { status, body } = await send(caddy, '/proxies/buy', { key: 'one-left' });
    expect([status, JSON.parse(body)]).toMatchObject([200, { price_charged: '25.08' }]);
    await restart(drained, []);
  });

  it('say how to send an order again whose outcome is unknown', () => expectSafeRetry(fronts));

  it.each([
    ['Caddy', caddy],
    ['nginx', nginx],
  ])('respond as the service does while no replica is there (%s)', async (_, front) => {
    const unavailable = await eventually(async () => {
      const response = await send(front, '/me');
      return response.body.includes('temporarily') && response;
    });
    expect(unavailable).toMatchObject(UNAVAILABLE);
  });

  it('log no path', async () => {
    expect(caddy.balancer.output()).not.toMatch(/\/me|\/api\//);
    const log = await readFile(join(directory, 'proxy-rental.log'), 'utf8');
    expect(log).toContain(`${OUTSIDE} [`);
    for (const output of [log, ...fronts.map(({ balancer }) => balancer.output())]) {
      expect(output).not.toMatch(/\/api\/|prx_/);
    }
  });
});
