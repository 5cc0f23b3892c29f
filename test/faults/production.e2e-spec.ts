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
import type { Tuning } from '../../src/config';
import { REQUEST_TIMEOUT_MS } from '../../src/http/configure-http';
import { MAX_BODY_BYTES } from '../../src/http/request-body';
import { connectAgent } from '../support/agent';
import { BUILD_TIMEOUT_MS, type BuiltService, eventually, killLeftovers } from '../support/built-service';
import { inLongForm } from '../support/long-form';
import { CLIENT_METADATA, placeOrderByOAuth } from '../support/oauth-purchase';
import { describeWith, findProgram } from '../support/programs';
import { type Customer, Replicas } from '../support/replicas';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';

const OPERATIONS = join(__dirname, '..', '..', 'operations');
const OUTSIDE = '127.0.0.2';
const STAFF = '127.0.0.3';
const KILLS = inLongForm(20, 2);

const SLOW_REQUESTS = 300;
const BODY_STALL_MS = 2000;
const ORDER = '{"country":"ru","period":30}';
const UNAVAILABLE = {
  status: 503,
  body: '{"detail":"Service temporarily unavailable"}',
  headers: { 'retry-after': '2', 'content-type': 'application/json; charset=utf-8' },
};

let replicas: Replicas;
let running: BuiltService[];
let customer: Customer;
let directory: string;
let balancer: Daemon;
let publicUrl: string;
let port = 0;
/** Certificate of the balancer's authority. Without one, the balancer is reached without TLS. */
let authority: string | undefined;
/** Redirects to TLS. */
let httpPort = 0;

async function closeAll(): Promise<void> {
  await balancer.stop();
  await killLeftovers();
  await replicas.audit();
  await replicas.close();
  await removeTestDirectory(directory);
}

const headOf = (request: string): string[] => [
  `${request} HTTP/1.1`,
  'Host: localhost',
  `Authorization: Bearer ${customer.token}`,
];

/** Returns ports that are free. */
async function openReplicas(
  scheme: 'http' | 'https',
  environment: Record<string, string> = {},
  tuning: Tuning = {},
): Promise<readonly [number, number, number]> {
  const [http = 0, main = 0, one = 0, other = 0, a = 0, b = 0, c = 0] = await freePorts(7);
  [httpPort, port, publicUrl, authority] = [http, main, `${scheme}://localhost:${main}`, undefined];
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
      ...environment,
    },
    tuning: { px6CallsPerSecond: 1000, ...tuning },
  });
  running = await Promise.all([one, other].map((at) => startAt(String(at))));
  customer = await replicas.createCustomer();
  directory = await createTestDirectory('balancer-');
  return [a, b, c];
}

function open(): Socket {
  const socket = connect({ host: LOOPBACK, port, localAddress: '127.0.0.4' });
  return authority === undefined ? socket : connectTls({ socket, servername: 'localhost', ca: authority });
}

/** The bodies, short or long, never arrive. Returns the statuses of the responses. */
function sendSlowly(): Promise<string[]> {
  const head = [...headOf('POST /proxies/buy'), 'Content-Type: application/json'];
  const sendOne = async (_: unknown, n: number): Promise<string> => {
    const socket = open();
    let response = '';
    socket.setEncoding('utf8').on('data', (part: string) => (response += part));
    const length = `Content-Length: ${n % 2 === 0 ? 500 : 100_000}`;
    socket.on('error', () => undefined).write([...head, length, '', '{"country"'].join('\r\n'));
    await eventually(() => response !== '' || socket.destroyed);
    socket.destroy();
    return /^HTTP\/1.1 (\d+)/.exec(response)?.[1] ?? 'none';
  };
  return Promise.all(Array.from({ length: SLOW_REQUESTS }, sendOne));
}

/** Expects 200 for the paths while slow requests are open, whose statuses it returns. */
async function readDuringSlowRequests(...paths: readonly string[]): Promise<string[]> {
  const slow = sendSlowly();
  const isOver = slow.then(() => true);
  const statuses: number[] = [];
  while (!(await Promise.race([isOver, pause(20)]))) {
    for (const path of paths) statuses.push((await send(path)).status);
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

const untilServed = (path: string): Promise<unknown> =>
  eventually(() =>
    send(path).then(
      ({ status }) => status === 200,
      () => false,
    ),
  );

const portOf = (replica: BuiltService | undefined): string => new URL(replica?.baseUrl ?? '').port;
const startAt = (at: string): Promise<BuiltService> => replicas.start({ environment: { PORT: at } });
const countOrders = async (): Promise<number> => (await replicas.query('SELECT FROM orders')).length;

/** Kills a replica that has some of the requests. No balancer may send them again. */
async function expectNoneTwice({ byPost = false } = {}): Promise<void> {
  const buyer = await replicas.createCustomer();
  const before = await countOrders();
  const buy = (n: number) => [
    send(`/api/${buyer.token}/buy/?count=1&period=30&country=ru&version=4&descr=${n}`),
    ...(byPost ? [send('/proxies/buy', { token: buyer.token, body: ORDER })] : []),
  ];
  // Known prices and stock need no permit.
  const known = await Promise.all([...buy(1), ...buy(2)]);
  const requests = await replicas.holdPermits(async () => {
    const sent = [3, 4, 5, 6, 7, 8].flatMap(buy);
    await eventually(async () => (await countOrders()) === before + known.length + sent.length);
    running[0]?.kill('SIGKILL');
    await running[0]?.ended();
    return sent;
  });
  const statuses = (await Promise.all(requests)).map(({ status }) => status);
  // On a busy machine the other replica may not know the outcome in time, either.
  expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
  await replicas.untilSettled();
  expect(await countOrders()).toBe(before + known.length + requests.length);
  await eventually(async () => (await send(`/api/${buyer.token}/getproxy`)).status === 200);
}

/** Kills the last replica while it has an order of each interface. */
async function expectSafeRetry(key?: string): Promise<void> {
  const last = running.at(-1);
  const agent = await connectAgent(last?.baseUrl ?? '', customer.token);
  const order = { country: 'ru', period: 30, count: 1 };
  const { order_ref } = (await agent.call('prepare_purchase', order)).result ?? {};
  await agent.close();
  const params = { name: 'place_order', arguments: { order_ref } };
  const before = await countOrders();
  const post = (path: string, body: object) =>
    send(path, {
      ...(key !== undefined && { key }),
      body: JSON.stringify(body),
      headers: { Accept: 'application/json, text/event-stream' },
    });
  const responses = await replicas.holdPermits(async () => {
    const sent = [
      post('/proxies/buy', order),
      post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      send(`/api/${customer.token}/buy?count=1&period=30&country=ru&version=6`),
    ];
    await eventually(async () => (await countOrders()) === before + sent.length);
    last?.kill('SIGKILL');
    return Promise.all(sent);
  });
  expect(responses.map(({ status, body }) => [status, body])).toEqual(
    [
      'retry it with the same Idempotency-Key',
      'call again with the same arguments, place_order with the same order_ref',
      'buy again only with the same descr=key:NAME, otherwise look for the order with getproxy',
    ].map((next) => [503, `{"detail":"The outcome of the request is unknown: ${next}"}`]),
  );
}

function itConnectsAgents(): void {
  it('connects an agent by OAuth, and counts registrations against its address', async () => {
    const { token } = await replicas.createCustomer();
    const sendAnonymously = (path: string, options?: SendOptions) => send(path, { ...options, token: '' });
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

function itGuardsByTls(forgedEcho: object): void {
  it('serves by TLS, and leads there from HTTP', async () => {
    expect((await send('/health')).body).toBe('{"status":"ok"}');
    const redirection = await send('/docs?a=b', { toPort: httpPort, headers: { Host: 'localhost' } });
    // A container does not know its port outside.
    const location = 'https://localhost/docs?a=b';
    expect(redirection).toMatchObject({ status: 308, headers: { location } });
  });

  it('has no /staff for others than its networks, however it is written', async () => {
    for (const path of ['/staff', '/staff/docs', '/STAFF/users', '/%73taff/users', '//staff/users']) {
      const forged = { headers: { 'X-Forwarded-For': STAFF } };
      for (const response of [await send(path), await send(path, forged)]) {
        expect([path, response]).toMatchObject([path, { status: 404, body: '{"detail":"Not Found"}' }]);
      }
    }
    expect((await send('/staff/docs/', { from: STAFF })).status).toBe(200);
    expect((await send('/staff/users', { from: STAFF })).status).toBe(403);
  });

  it("passes the client's address on, and not what the client says of it", async () => {
    const forged = await send('/echo?nonce=ab', { headers: { 'X-Forwarded-For': '198.51.100.7' } });
    expect(JSON.parse(forged.body)).toMatchObject({ address: OUTSIDE, ...forgedEcho });
    expect(JSON.parse((await send('/echo?nonce=ab')).body)).toMatchObject({ forwarded_for: false });
  });

  itConnectsAgents();
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

describeWith(missingPackages('caddy'), 'The Caddyfile', () => {
  async function useDuring(work: () => Promise<unknown>): Promise<Record<string, number>> {
    const done = new AbortController();
    const counts: Record<string, number> = {};
    const use = async (): Promise<void> => {
      while (!done.signal.aborted) {
        const { status } = await send('/me');
        counts[status] = (counts[status] ?? 0) + 1;
      }
    };
    const using = Promise.all([use(), use(), use(), use()]);
    await work();
    done.abort();
    await using;
    return counts;
  }

  beforeAll(async () => {
    const environment = { DRAIN_SECONDS: '3', LOG_LEVEL: 'info' };
    const [admin] = await openReplicas('https', environment, { bodyStallMs: BODY_STALL_MS });
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
    balancer = await startDaemon({
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
    authority = await eventually(() =>
      readFile(join(directory, 'caddy/pki/authorities/local/root.crt'), 'utf8').catch(() => null),
    );
    await untilServed('/health');
  }, BUILD_TIMEOUT_MS);
  afterAll(closeAll);

  itGuardsByTls({});

  it('serves others while malformed bodies arrive', async () => {
    const lines = [...headOf('POST /proxies/buy'), 'Transfer-Encoding: chunked', '', '?', ''];
    const done = new AbortController();
    const sendMalformed = async (): Promise<void> => {
      while (!done.signal.aborted) {
        const socket = open();
        socket.write(lines.join('\r\n'));
        await once(socket, 'data');
        socket.destroy();
      }
    };
    const sending = Promise.all(running.map(sendMalformed));
    const statuses = [];
    for (const _ of [1, 2, 3]) statuses.push((await send('/me')).status);
    done.abort();
    await sending;
    expect(statuses).toEqual([200, 200, 200]);
  });

  it('serves others while the bodies of one address do not arrive, and responds to those', async () => {
    let slow: string[] = [];
    const counts = await useDuring(async () => (slow = await sendSlowly()));
    expect(counts).toEqual({ 200: expect.any(Number) });
    // On a busy machine a handshake may take longer than the patience, so that some get no response.
    expect([...new Set(slow)]).toEqual(expect.arrayContaining(['408', '429']));
    expect(slow).not.toContain('200');
  });

  it("sends no call of PROXY6's wire again when a replica is killed", async () => {
    await expectNoneTwice();
    running[0] = await startAt(portOf(running[0]));
  });

  it('sends each purchase that a killed replica did not get to the other one', async () => {
    const buy = (name: string): Promise<ServiceResponse[]> =>
      Promise.all([1, 2, 3, 4, 5, 6].map((n) => send('/proxies/buy', { key: `${name}-${n}` })));
    for (let kill = 0; kill < KILLS; kill += 1) {
      const at = kill % running.length;
      const victim = running[at];
      const isIdle = kill % 4 < 2;
      const earlier = await replicas.holdPermits(async () => {
        const orders = (await countOrders()) + (isIdle ? 0 : 6);
        const sent = isIdle ? Promise.resolve([]) : buy(`before-${kill}`);
        await eventually(async () => (await countOrders()) === orders);
        victim?.kill('SIGKILL');
        await victim?.ended();
        return { sent };
      });
      for (const { status, body } of await buy(`after-${kill}`)) expect([status, body]).toEqual([200, body]);
      for (const { status, body } of await earlier.sent) {
        if (status !== 200) expect(body).toMatch(/^\{"detail":"The outcome of the request is unknown/);
      }
      const next = await startAt(portOf(victim));
      running[at] = next;
      await eventually(async () => (await send('/me')) && next.stdout().includes('/me'));
    }
  }, 600_000);

  it('loses no request while a replica drains and stops, and sells', async () => {
    const [one] = running;
    expect(await useDuring(async () => one?.stop())).toEqual({ 200: expect.any(Number) });
    const { status, body } = await send('/proxies/buy', { key: 'one-left' });
    expect([status, JSON.parse(body)]).toMatchObject([200, { price_charged: '25.08' }]);
  });

  it('says how to send an order again whose outcome is unknown', () => expectSafeRetry('unknown'));

  it('responds as the service does while no replica is there', async () => {
    const unavailable = await eventually(async () => {
      const response = await send('/me');
      return response.body.includes('temporarily') && response;
    });
    expect(unavailable).toMatchObject(UNAVAILABLE);
    expect(balancer.output()).not.toMatch(/\/me|\/api\//);
  });
});

describeWith(missingPackages('nginx'), 'The configuration of nginx', () => {
  beforeAll(async () => {
    await openReplicas('https');
    const certificate = ['-keyout', 'key.pem', '-out', 'cert.pem', '-subj', '/CN=localhost', '-nodes'];
    await runProgram({
      program: '/usr/bin/openssl',
      parameters: ['req', '-x509', '-newkey', 'rsa:2048', ...certificate],
      directory,
    });
    authority = await readFile(join(directory, 'cert.pem'), 'utf8');
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
    balancer = await startDaemon({
      program: DEBIAN.nginx.path,
      parameters: ['-p', directory, '-e', 'stderr', '-c', join(directory, 'nginx.conf')],
      directory,
      isReady: () => isListening(port),
    });
  }, BUILD_TIMEOUT_MS);
  afterAll(closeAll);

  itGuardsByTls({ forwarded_for: true });

  it('accepts bodies up to the size that the service does', async () => {
    const bodyOf = (length: number): string => '{"country":"ru","period":0}'.padEnd(length);
    expect(await send('/proxies/buy', { body: bodyOf(MAX_BODY_BYTES) })).toMatchObject({ status: 422 });
    expect(await send('/proxies/buy', { body: bodyOf(MAX_BODY_BYTES + 1) })).toMatchObject({
      status: 413,
      body: '{"detail":"Request Entity Too Large"}',
    });
  });

  it('passes an event on while the stream is open', async () => {
    const client = open();
    client.write([...headOf('GET /events'), 'Accept: text/event-stream', '', ''].join('\r\n'));
    let received = '';
    client.setEncoding('utf8').on('data', (part: string) => (received += part));
    await eventually(() => received.includes('event: balance.credited'));
    client.destroy();
  });

  it('serves others while the bodies of one address do not arrive', async () => {
    expect(await readDuringSlowRequests('/me')).not.toContain('200');
  });

  it('sends no order again when a replica is killed, and logs no path', async () => {
    await expectNoneTwice({ byPost: true });
    const log = await readFile(join(directory, 'proxy-rental.log'), 'utf8');
    expect(log).toContain(`${OUTSIDE} [`);
    expect(log + balancer.output()).not.toMatch(/\/api\/|prx_/);
  });

  it('sends each purchase that a dead replica did not get to the other one', async () => {
    const bought = await Promise.all([1, 2, 3, 4].map((n) => send('/proxies/buy', { key: `dead-${n}` })));
    expect(bought.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });

  it('says how to send an order again whose outcome is unknown', () => expectSafeRetry());

  it('responds as the service does while no replica is there', async () => {
    expect(await send('/me')).toMatchObject(UNAVAILABLE);
  });
});

describeWith(missingPackages('haproxy'), 'The configuration of HAProxy', () => {
  beforeAll(async () => {
    const [databasePort, statePort, unused] = await openReplicas('http');
    await cp(join(__dirname, '..', '..', 'docker', 'cluster'), directory, { recursive: true });
    const file = join(directory, 'haproxy.cfg');
    await writeFile(file, (await readFile(file, 'utf8')).replace('local0 notice', 'local0 info'));
    balancer = await startBalancer({
      servicePort: port,
      databasePort,
      statePort,
      replicaPorts: [...running.map((one) => Number(portOf(one))), unused],
      nodes: [1, 2, 3].map(() => ({ databasePort: unused, restPort: unused })),
      files: directory,
    });
    await untilServed('/health/ready');
  }, BUILD_TIMEOUT_MS);
  afterAll(closeAll);

  itConnectsAgents();

  it('serves others while the bodies of one address do not arrive, and responds to those', async () => {
    const slow = await readDuringSlowRequests('/me', '/health/ready');
    expect(new Set(slow)).toEqual(new Set(['408']));
  });

  it("sends no call of PROXY6's wire again when a replica is killed, and logs no path", async () => {
    await expectNoneTwice();
    await eventually(() => balancer.output().includes('service px6/replica-2'));
    expect(balancer.output()).not.toMatch(/\/api\/|prx_/);
  });

  it('says how to send an order again whose outcome is unknown', () => expectSafeRetry());
});
