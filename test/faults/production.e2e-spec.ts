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
import { BUILD_TIMEOUT_MS, type BuiltService, eventually, killLeftovers } from '../support/built-service';
import { inLongForm } from '../support/long-form';
import { CLIENT_METADATA, placeOrderByOAuth } from '../support/oauth-purchase';
import { describeWith, findProgram } from '../support/programs';
import { type Customer, Replicas } from '../support/replicas';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';

const OPERATIONS = join(__dirname, '..', '..', 'operations');
const OUTSIDE = '127.0.0.2';
const STAFF = '127.0.0.3';
const MCP_TYPES = 'application/json, text/event-stream';
const KILLS = inLongForm(20, 2);

/** A third of what the slow requests would take. */
const MAX_CONNECTIONS = '100';
const SLOW_REQUESTS = 300;
const BODY_STALL_MS = 2000;

/** The bodies, short or long, never arrive. Returns the statuses of the responses. */
function sendSlowly(open: () => Socket, count: number, token: string): Promise<string[]> {
  const head = [
    'POST /proxies/buy HTTP/1.1',
    'Host: localhost',
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
  ];
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
  return Promise.all(Array.from({ length: count }, sendOne));
}

interface ServiceResponse {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

interface SendOptions {
  readonly from?: string;
  readonly key?: string;
  readonly body?: string;
  readonly headers?: Record<string, string>;
}

interface Balancer {
  readonly port: number;
  /** Without the certificate of its authority, the balancer is reached without TLS. */
  readonly authority?: string;
  readonly token?: string;
}

async function sendTo(
  { port, authority, token }: Balancer,
  path: string,
  { from = OUTSIDE, key, body, headers = {} }: SendOptions = {},
): Promise<ServiceResponse> {
  const sent = body ?? (key === undefined ? undefined : '{"country":"ru","period":30}');
  const send = authority === undefined ? requestHttp : requestHttps;
  const request = send({
    host: LOOPBACK,
    servername: 'localhost',
    port,
    path,
    localAddress: from,
    agent: false,
    ca: authority,
    method: sent === undefined ? 'GET' : 'POST',
    headers: {
      Host: `localhost:${port}`,
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...(sent !== undefined && { 'Content-Type': 'application/json' }),
      ...(key !== undefined && { 'Idempotency-Key': key }),
      ...headers,
    },
  });
  request.end(sent);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) };
}

async function expectNoneTwice(
  replicas: Replicas,
  victim: BuiltService | undefined,
  get: (path: string) => Promise<{ readonly status: number }>,
  post?: (token: string) => Promise<{ readonly status: number }>,
): Promise<void> {
  const buyer = await replicas.createCustomer();
  const countOrders = async (): Promise<number> =>
    (await replicas.query('SELECT FROM orders WHERE user_id = $1', [buyer.id])).length;
  const buy = (n: number) => [
    get(`/api/${buyer.token}/buy/?count=1&period=30&country=ru&version=4&descr=${n}`),
    ...(post ? [post(buyer.token)] : []),
  ];
  // Known prices and stock need no permit.
  const known = await Promise.all([...buy(1), ...buy(2)]);
  const requests = await replicas.holdPermits(async () => {
    const sent = [3, 4, 5, 6, 7, 8].flatMap(buy);
    await eventually(async () => (await countOrders()) === known.length + sent.length);
    victim?.kill('SIGKILL');
    await victim?.ended();
    return sent;
  });
  const statuses = (await Promise.all(requests)).map(({ status }) => status);
  // On a busy machine the other replica may not know the outcome in time, either.
  expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
  await replicas.untilSettled();
  expect(await countOrders()).toBe(known.length + requests.length);
  await eventually(async () => (await get(`/api/${buyer.token}/getproxy`)).status === 200);
}

async function expectSafeRetry(
  replicas: Replicas,
  last: BuiltService | undefined,
  { token }: Customer,
  send: (path: string, body?: string) => Promise<{ readonly status: number; readonly body: string }>,
): Promise<void> {
  const agent = await connectAgent(last?.baseUrl ?? '', token);
  const order = { country: 'ru', period: 30, count: 1 };
  const { order_ref } = (await agent.call('prepare_purchase', order)).result ?? {};
  await agent.close();
  const params = { name: 'place_order', arguments: { order_ref } };
  const countOrders = async () => (await replicas.query('SELECT FROM orders')).length;
  const before = await countOrders();
  const responses = await replicas.holdPermits(async () => {
    const sent = [
      send('/proxies/buy', JSON.stringify(order)),
      send('/mcp', JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })),
      send(`/api/${token}/buy?count=1&period=30&country=ru&version=6`),
    ];
    await eventually(async () => (await countOrders()) === before + sent.length);
    last?.kill('SIGKILL');
    return Promise.all(sent);
  });
  expect(responses.map(({ status }) => status)).toEqual([503, 503, 503]);
  expect(
    responses.map(
      ({ body }) => /^\{"detail":"The outcome of the request is unknown: (.*)"\}$/.exec(body)?.[1],
    ),
  ).toEqual([
    'retry it with the same Idempotency-Key',
    'call again with the same arguments, place_order with the same order_ref',
    'buy again only with the same descr=key:NAME, otherwise look for the order with getproxy',
  ]);
}

async function expectAgentConnects(replicas: Replicas, publicUrl: string, balancer: Balancer): Promise<void> {
  const { token } = await replicas.createCustomer();
  const send = (path: string, options?: SendOptions) => sendTo(balancer, path, options);
  expect(await placeOrderByOAuth(publicUrl, token, send)).toMatchObject({ price_charged: '25.08' });
  const register = async (from: string): Promise<number> => {
    const headers = { 'X-Forwarded-For': `198.51.100.${randomInt(250)}` };
    return (await send('/register', { from, headers, body: CLIENT_METADATA })).status;
  };
  // More than two replicas accept at the turn of a minute.
  const statuses = await Promise.all(Array.from({ length: 90 }, () => register('127.0.0.5')));
  expect(statuses).toContain(429);
  expect(await register('127.0.0.6')).toBe(201);
}

const WITH_OAUTH = { MCP_OAUTH: 'on', TRUSTED_PROXIES: LOOPBACK };

const WIRE = {
  PX6_COMPATIBLE: 'on',
  PURCHASE_WAIT_MS: '60000',
  PROVIDER_RATE_PER_SECOND: '100',
  PROVIDER_TIMEOUT_MS: '20000',
};

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
  let replicas: Replicas;
  let running: BuiltService[];
  let caddy: Daemon;
  let customer: Customer;
  let directory: string;
  let authority: string;
  let httpPort = 0;
  let httpsPort = 0;

  const send = (path: string, options: SendOptions = {}): Promise<ServiceResponse> =>
    sendTo({ port: httpsPort, authority, token: customer.token }, path, options);

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
    const [http = 0, https = 0, admin = 0, one = 0, other = 0] = await freePorts(5);
    [httpPort, httpsPort] = [http, https];
    const publicUrl = `https://localhost:${https}`;
    replicas = await Replicas.open({
      environment: {
        ...WITH_OAUTH,
        PUBLIC_URL: publicUrl,
        ECHO_URL: `${publicUrl}/echo`,
        DRAIN_SECONDS: '3',
        LOG_LEVEL: 'info',
        MAX_CONNECTIONS,
        ...WIRE,
      },
      tuning: { bodyStallMs: BODY_STALL_MS, px6CallsPerSecond: 1000 },
    });
    running = await Promise.all(
      [one, other].map((port) => replicas.start({ environment: { PORT: String(port) } })),
    );
    customer = await replicas.createCustomer();
    directory = await createTestDirectory('caddy-');
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
    caddy = await startDaemon({
      program: DEBIAN.caddy.path,
      parameters: ['run', '--config', file, '--adapter', 'caddyfile'],
      directory,
      environment: {
        XDG_DATA_HOME: directory,
        XDG_CONFIG_HOME: directory,
        PUBLIC_URL: publicUrl,
        HTTP_PORT: String(http),
        HTTPS_PORT: String(https),
        CADDY_ADMIN: `${LOOPBACK}:${admin}`,
        REPLICAS: running.map(({ baseUrl }) => new URL(baseUrl).host).join(' '),
        STAFF_NETWORKS: `203.0.113.0/24 ${STAFF}`,
      },
    });
    authority = await eventually(() =>
      readFile(join(directory, 'caddy/pki/authorities/local/root.crt'), 'utf8').catch(() => null),
    );
    await eventually(() =>
      send('/health').then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
  }, BUILD_TIMEOUT_MS);
  afterAll(async () => {
    await caddy.stop();
    await killLeftovers();
    await replicas.audit();
    await replicas.close();
    await removeTestDirectory(directory);
  });

  it('serves by TLS, and leads there from HTTP', async () => {
    expect((await send('/health')).body).toBe('{"status":"ok"}');
    const request = requestHttp({
      host: LOOPBACK,
      port: httpPort,
      path: '/docs',
      agent: false,
      headers: { Host: 'localhost' },
    });
    request.end();
    const [{ statusCode, headers }] = (await once(request, 'response')) as [IncomingMessage];
    expect({ statusCode, location: headers.location }).toEqual({
      statusCode: 308,
      // A container does not know its port outside.
      location: 'https://localhost/docs',
    });
  });

  it('has no /staff for others than its networks, however it is written', async () => {
    for (const path of ['/staff', '/staff/docs', '/STAFF/users', '/%73taff/users', '//staff/users']) {
      expect([path, await send(path)]).toMatchObject([path, { status: 404, body: '{"detail":"Not Found"}' }]);
      const forged = await send(path, { headers: { 'X-Forwarded-For': STAFF } });
      expect([path, forged.status]).toEqual([path, 404]);
    }
    expect((await send('/staff/docs/', { from: STAFF })).status).toBe(200);
    expect((await send('/staff/users', { from: STAFF })).status).toBe(403);
  });

  it("passes the client's address on, and not what the client says of it", async () => {
    const forged = await send('/echo?nonce=ab', { headers: { 'X-Forwarded-For': '198.51.100.7' } });
    expect(JSON.parse(forged.body)).toMatchObject({ address: OUTSIDE });
  });

  it('connects an agent by OAuth, and counts registrations against its address', () =>
    expectAgentConnects(replicas, `https://localhost:${httpsPort}`, { port: httpsPort, authority }));

  const open = (): Socket =>
    connectTls({
      socket: connect({ host: LOOPBACK, port: httpsPort, localAddress: '127.0.0.4' }),
      servername: 'localhost',
      ca: authority,
    });

  it('serves others while malformed bodies arrive', async () => {
    const head = ['POST /proxies/buy HTTP/1.1', 'Host: localhost', `Authorization: Bearer ${customer.token}`];
    const malformed = [...head, 'Transfer-Encoding: chunked', '', '?\r\n'].join('\r\n');
    const done = new AbortController();
    const sendMalformed = async (): Promise<void> => {
      while (!done.signal.aborted) {
        const socket = open();
        socket.write(malformed);
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
    const counts = await useDuring(
      async () => (slow = await sendSlowly(open, SLOW_REQUESTS, customer.token)),
    );
    expect(counts).toEqual({ 200: expect.any(Number) });
    // On a busy machine a handshake may take longer than the patience, so that some get no response.
    expect([...new Set(slow)]).toEqual(expect.arrayContaining(['408', '429']));
    expect(slow).not.toContain('200');
  });

  it("sends no call of PROXY6's wire again when a replica is killed", async () => {
    const victim = running[0];
    await expectNoneTwice(replicas, victim, (path) => send(path));
    const port = new URL(victim?.baseUrl ?? '').port;
    running[0] = await replicas.start({ environment: { PORT: port } });
  });

  it('sends each purchase that a killed replica did not get to the other one', async () => {
    const buy = (name: string): Promise<ServiceResponse[]> =>
      Promise.all([1, 2, 3, 4, 5, 6].map((n) => send('/proxies/buy', { key: `${name}-${n}` })));
    for (let kill = 0; kill < KILLS; kill += 1) {
      const at = kill % running.length;
      const victim = running[at];
      const isIdle = kill % 4 < 2;
      const earlier = await replicas.holdPermits(async () => {
        const orders = (await replicas.query('SELECT FROM orders')).length + (isIdle ? 0 : 6);
        const sent = isIdle ? Promise.resolve([]) : buy(`before-${kill}`);
        await eventually(async () => (await replicas.query('SELECT FROM orders')).length === orders);
        victim?.kill('SIGKILL');
        await victim?.ended();
        return { sent };
      });
      for (const { status, body } of await buy(`after-${kill}`)) expect([status, body]).toEqual([200, body]);
      for (const { status, body } of await earlier.sent) {
        if (status !== 200) expect(body).toMatch(/^\{"detail":"The outcome of the request is unknown/);
      }
      const next = await replicas.start({ environment: { PORT: new URL(victim?.baseUrl ?? '').port } });
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

  it('says how to send an order again whose outcome is unknown', () =>
    expectSafeRetry(replicas, running.at(-1), customer, (path, body) =>
      send(path, body === undefined ? {} : { key: 'unknown', body, headers: { Accept: MCP_TYPES } }),
    ));

  it('responds as the service does while no replica is there', async () => {
    const unavailable = await eventually(async () => {
      const response = await send('/me');
      return response.body.includes('temporarily') && response;
    });
    expect(unavailable).toMatchObject({
      status: 503,
      body: '{"detail":"Service temporarily unavailable"}',
      headers: { 'retry-after': '2', 'content-type': 'application/json; charset=utf-8' },
    });
    expect(caddy.output()).not.toMatch(/\/me|\/api\//);
  });
});

describeWith(missingPackages('nginx'), 'The configuration of nginx', () => {
  let replicas: Replicas;
  let running: BuiltService[];
  let nginx: Daemon;
  let customer: Customer;
  let directory: string;
  let authority: string;
  let httpPort = 0;
  let httpsPort = 0;

  const sendAs = (token: string, path: string, options: SendOptions = {}): Promise<ServiceResponse> =>
    sendTo({ port: httpsPort, authority, token }, path, options);
  const send = (path: string, options?: SendOptions): Promise<ServiceResponse> =>
    sendAs(customer.token, path, options);

  beforeAll(async () => {
    [httpPort = 0, httpsPort = 0] = await freePorts(2);
    replicas = await Replicas.open({
      environment: {
        ...WITH_OAUTH,
        PUBLIC_URL: `https://localhost:${httpsPort}`,
        ECHO_URL: `https://localhost:${httpsPort}/echo`,
        MAX_CONNECTIONS,
        ...WIRE,
      },
      tuning: { px6CallsPerSecond: 1000 },
    });
    running = await Promise.all([replicas.start(), replicas.start()]);
    customer = await replicas.createCustomer();
    directory = await createTestDirectory('nginx-');
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
      ['listen 443', `listen ${LOOPBACK}:${httpsPort}`],
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
    nginx = await startDaemon({
      program: DEBIAN.nginx.path,
      parameters: ['-p', directory, '-e', 'stderr', '-c', join(directory, 'nginx.conf')],
      directory,
      isReady: () => isListening(httpsPort),
    });
  }, BUILD_TIMEOUT_MS);
  afterAll(async () => {
    await nginx.stop();
    await killLeftovers();
    await replicas.audit();
    await replicas.close();
    await removeTestDirectory(directory);
  });

  it('serves by TLS, and leads there from HTTP', async () => {
    expect((await send('/health')).body).toBe('{"status":"ok"}');
    const { status, headers } = await fetch(`http://${LOOPBACK}:${httpPort}/docs?a=b`, {
      redirect: 'manual',
    });
    expect([status, headers.get('location')]).toEqual([308, `https://${LOOPBACK}/docs?a=b`]);
  });

  it('has no /staff for others than its networks, however it is written', async () => {
    for (const path of ['/staff', '/staff/docs', '/STAFF/users', '/%73taff/users', '//staff/users']) {
      const forged = { headers: { 'X-Forwarded-For': STAFF } };
      for (const response of [await send(path), await send(path, forged)]) {
        expect([path, response]).toMatchObject([path, { status: 404, body: '{"detail":"Not Found"}' }]);
      }
    }
    expect((await send('/staff/docs/', { from: STAFF })).status).toBe(200);
  });

  it("passes the client's address on, and not what the client says of it", async () => {
    const forged = await send('/echo?nonce=ab', { headers: { 'X-Forwarded-For': '198.51.100.7' } });
    expect(JSON.parse(forged.body)).toMatchObject({ address: OUTSIDE, forwarded_for: true });
    expect(JSON.parse((await send('/echo?nonce=ab')).body)).toMatchObject({ forwarded_for: false });
  });

  it('connects an agent by OAuth, and counts registrations against its address', () =>
    expectAgentConnects(replicas, `https://localhost:${httpsPort}`, { port: httpsPort, authority }));

  it('accepts bodies up to the size that the service does', async () => {
    const bodyOf = (length: number): string => '{"country":"ru","period":0}'.padEnd(length);
    expect(await send('/proxies/buy', { body: bodyOf(MAX_BODY_BYTES) })).toMatchObject({ status: 422 });
    expect(await send('/proxies/buy', { body: bodyOf(MAX_BODY_BYTES + 1) })).toMatchObject({
      status: 413,
      body: '{"detail":"Request Entity Too Large"}',
    });
  });

  it('passes an event on while the stream is open', async () => {
    const client = connectTls({ host: LOOPBACK, port: httpsPort, servername: 'localhost', ca: authority });
    const head = ['GET /events HTTP/1.1', 'Host: localhost', `Authorization: Bearer ${customer.token}`];
    client.write([...head, 'Accept: text/event-stream', '', ''].join('\r\n'));
    let received = '';
    client.setEncoding('utf8').on('data', (part: string) => (received += part));
    await eventually(() => received.includes('event: balance.credited'));
    client.destroy();
  });

  it('serves others while the bodies of one address do not arrive', async () => {
    const open = (): Socket =>
      connectTls({
        socket: connect({ host: LOOPBACK, port: httpsPort, localAddress: '127.0.0.4' }),
        servername: 'localhost',
        ca: authority,
      });
    const slow = sendSlowly(open, SLOW_REQUESTS, customer.token);
    const isOver = slow.then(() => true);
    const statuses: number[] = [];
    while (!(await Promise.race([isOver, pause(20)]))) statuses.push((await send('/me')).status);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(await slow).not.toContain('200');
  });

  it('sends no order again when a replica is killed, and logs no path', async () => {
    await expectNoneTwice(
      replicas,
      running[0],
      (path) => send(path),
      (token) => sendAs(token, '/proxies/buy', { body: '{"country":"ru","period":30}' }),
    );
    const log = await readFile(join(directory, 'proxy-rental.log'), 'utf8');
    expect(log).toContain(`${OUTSIDE} [`);
    expect(log + nginx.output()).not.toMatch(/\/api\/|prx_/);
  });

  it('sends each purchase that a dead replica did not get to the other one', async () => {
    const bought = await Promise.all([1, 2, 3, 4].map((n) => send('/proxies/buy', { key: `dead-${n}` })));
    expect(bought.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });

  it('says how to send an order again whose outcome is unknown', () =>
    expectSafeRetry(replicas, running[1], customer, (path, body) =>
      send(path, body === undefined ? {} : { body, headers: { Accept: MCP_TYPES } }),
    ));

  it('responds as the service does while no replica is there', async () => {
    expect(await send('/me')).toMatchObject({
      status: 503,
      body: '{"detail":"Service temporarily unavailable"}',
      headers: { 'retry-after': '2', 'content-type': 'application/json; charset=utf-8' },
    });
  });
});

describeWith(missingPackages('haproxy'), 'The configuration of HAProxy', () => {
  let replicas: Replicas;
  let running: BuiltService[];
  let customer: Customer;
  let balancer: Daemon;
  let directory: string;
  let servicePort = 0;

  const send = (path: string, options?: SendOptions): Promise<ServiceResponse> =>
    sendTo({ port: servicePort, token: customer.token }, path, options);

  beforeAll(async () => {
    const [service = 0, databasePort = 0, statePort = 0, unused = 0] = await freePorts(4);
    servicePort = service;
    replicas = await Replicas.open({
      environment: { ...WITH_OAUTH, PUBLIC_URL: `http://localhost:${servicePort}`, MAX_CONNECTIONS, ...WIRE },
      tuning: { px6CallsPerSecond: 1000 },
    });
    running = await Promise.all([replicas.start(), replicas.start()]);
    customer = await replicas.createCustomer();
    directory = await createTestDirectory('haproxy-');
    await cp(join(__dirname, '..', '..', 'docker', 'cluster'), directory, { recursive: true });
    const file = join(directory, 'haproxy.cfg');
    await writeFile(file, (await readFile(file, 'utf8')).replace('local0 notice', 'local0 info'));
    balancer = await startBalancer({
      servicePort,
      databasePort,
      statePort,
      replicaPorts: [...running.map(({ baseUrl }) => Number(new URL(baseUrl).port)), unused],
      nodes: [1, 2, 3].map(() => ({ databasePort: unused, restPort: unused })),
      files: directory,
    });
    await eventually(() =>
      send('/health/ready').then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
  }, BUILD_TIMEOUT_MS);
  afterAll(async () => {
    await balancer.stop();
    await killLeftovers();
    await replicas.audit();
    await replicas.close();
    await removeTestDirectory(directory);
  });

  it('connects an agent by OAuth, and counts registrations against its address', () =>
    expectAgentConnects(replicas, `http://localhost:${servicePort}`, { port: servicePort }));

  it('serves others while the bodies of one address do not arrive, and responds to those', async () => {
    const open = (): Socket => connect({ host: LOOPBACK, port: servicePort, localAddress: '127.0.0.4' });
    const slow = sendSlowly(open, SLOW_REQUESTS, customer.token);
    const isOver = slow.then(() => true);
    const statuses: number[] = [];
    while (!(await Promise.race([isOver, pause(20)]))) {
      statuses.push((await send('/me')).status, (await send('/health/ready')).status);
    }
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(new Set(await slow)).toEqual(new Set(['408']));
  });

  it("sends no call of PROXY6's wire again when a replica is killed, and logs no path", async () => {
    await expectNoneTwice(replicas, running[0], (path) => send(path));
    await eventually(() => balancer.output().includes('service px6/replica-2'));
    expect(balancer.output()).not.toMatch(/\/api\/|prx_/);
  });

  it('says how to send an order again whose outcome is unknown', () =>
    expectSafeRetry(replicas, running[1], customer, (path, body) =>
      send(path, body === undefined ? {} : { body, headers: { Accept: MCP_TYPES } }),
    ));
});
