import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import {
  Body,
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Header,
  HttpCode,
  type LoggerService,
  Param,
  Post,
  Query,
  Res,
} from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import type { Request, Response } from 'express';
import { forAllTests } from '../../test/support/fixtures';
import { listen } from '../../test/support/listen';
import { DomainError, type DomainErrorOptions, type ErrorKind, requestId, setRequestUser } from '../common';
import type { AppConfig } from '../config';
import { configureHttp } from './configure-http';
import { HttpAdapter } from './http-adapter';
import { LargeBodies } from './large-bodies';
import { oneAtATime } from './pipelining';
import { RequestInputGuard } from './request-input.guard';
import { RequestsUnderWay } from './under-way';
import { IntegerField, StringField } from './validation/fields';
import { InputMistake, RequestInvalid } from './validation/input-mistake';

class Failure extends DomainError {
  constructor(
    readonly kind: ErrorKind,
    options?: DomainErrorOptions,
  ) {
    super(`it is ${kind}`, options);
  }
}

const READER_IDLE_MS = 500;
const KEEP_ALIVE_SECONDS = 620;
const BODY_STALL_MS = 1000;
const MAX_CONNECTIONS = 20;

class PageQuery {
  @StringField({ pattern: '^[a-z]+$', default: 'home' })
  readonly name!: string;
}

class Parcel {
  @IntegerField({ greaterThan: 0 })
  readonly weight!: number;
}

let letGo: () => void;
const released = new Promise<void>((resolve) => (letGo = resolve));

@Controller()
class TestController {
  @Get('pages/:id')
  page(@Param('id') id: string, @Query() query: PageQuery): object {
    return { id, name: query.name };
  }

  @Get('files')
  @Header('Content-Disposition', 'attachment; filename="file.txt"')
  @Header('Content-Type', 'text/plain')
  file(@Query() query: PageQuery): string {
    return query.name;
  }

  parcels = 0;

  @Post('parcels')
  @HttpCode(200)
  send(@Body() parcel: Parcel): Parcel {
    this.parcels += 1;
    return parcel;
  }

  @Get('failures/:kind')
  fail(@Param('kind') kind: ErrorKind): never {
    throw new Failure(
      kind,
      kind === 'unavailable' ? { retryAfterSeconds: 1.2 } : { headers: { 'X-Kind': kind } },
    );
  }

  @Get('invalid-header')
  invalidHeader(): never {
    throw new RequestInvalid([new InputMistake('made_up', 'Made up', 10n ** 20n).at('header', 'X-Made-Up')]);
  }

  @Get('crash')
  crash(): never {
    throw Object.assign(new Error('out of cheese'), { parameters: ['a password'] });
  }

  @Get('replaced')
  failAfterHeaders(@Res({ passthrough: true }) response: Response): never {
    response.set({
      ETag: '"a"',
      'Cache-Control': 'private',
      'Content-Encoding': 'gzip',
      'Content-Length': '5',
    });
    throw new Failure('unavailable');
  }

  @Get('broken-stream')
  breakOff(@Res() response: Response): never {
    response.write('half of ');
    throw new Error('the rest is lost');
  }

  @Get('download')
  async download(@Res() response: Response): Promise<void> {
    await pipeline(Readable.from(endlessLines()), response);
  }

  @Get('sized/:bytes')
  sized(@Param('bytes') bytes: string, @Res() response: Response): void {
    response.end(Buffer.alloc(Number(bytes), 'x'));
  }

  @Get('slow/:ms')
  async slow(@Param('ms') ms: string): Promise<object> {
    this.slowCount += 1;
    const concurrent = this.slowCount;
    await delay(Number(ms));
    this.slowCount -= 1;
    return { concurrent };
  }

  private slowCount = 0;

  @Get('held')
  async held(): Promise<object> {
    await released;
    return {};
  }

  @Get('id')
  async id(): Promise<object> {
    await delay(1);
    setRequestUser(7, { tokenId: 3, issuedBy: 2 });
    return { id: requestId() };
  }
}

function* endlessLines(): Generator<string> {
  for (;;) yield 'one more line\n'.repeat(1000);
}

/** Refuses callers before a body is read, as an authentication guard does. */
class DoorGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<Request>();
    if (headers.authorization === 'none') throw new Failure('not-authenticated');
    if (headers.authorization === 'weak') throw new Failure('forbidden');
    return true;
  }
}

class MemoryLogger implements LoggerService {
  readonly lines: unknown[][] = [];
  /** Shared by all tests, because the first test to cause such a warning may be any of them. */
  readonly warnings: unknown[] = [];

  log(...line: unknown[]): void {
    this.lines.push(['log', ...line]);
  }

  warn(...line: unknown[]): void {
    this.lines.push(['warn', ...line]);
    this.warnings.push(line[0]);
  }

  error(...line: unknown[]): void {
    this.lines.push(['error', ...line]);
  }

  at(level: string): unknown[][] {
    return this.lines.filter(([lineLevel]) => lineLevel === level);
  }
}

const closedConnections: string[] = [];

async function startApplication(
  maxConnections: number,
  trustedProxies: readonly string[],
): Promise<NestExpressApplication> {
  const moduleRef = await Test.createTestingModule({ controllers: [TestController] }).compile();
  const made = moduleRef.createNestApplication<NestExpressApplication>(new HttpAdapter(1000), {
    bodyParser: false,
    logger,
  });
  const onFull = (closed: string) => void closedConnections.push(closed);
  configureHttp(made, {
    maxConnections,
    keepAliveSeconds: KEEP_ALIVE_SECONDS,
    readerIdleMs: READER_IDLE_MS,
    trustedProxies,
    onFull,
  });
  const config = { server: { maxConnections }, tuning: { bodyStallMs: BODY_STALL_MS } } as AppConfig;
  made.useGlobalGuards(
    new DoorGuard(),
    new RequestInputGuard(new RequestsUnderWay(config), new LargeBodies(), config),
  );
  await made.listen(0, '127.0.0.1');
  return made;
}

const logger = new MemoryLogger();
const app = forAllTests(() => startApplication(MAX_CONNECTIONS, ['127.0.0.1']));
let origin: string;
let port: number;

beforeAll(async () => {
  origin = await app.getUrl();
  port = Number(new URL(origin).port);
});

beforeEach(() => {
  logger.lines.length = 0;
});

function post(
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<globalThis.Response> {
  return fetch(`${origin}/parcels`, {
    method: 'POST',
    body,
    headers: { 'Content-Type': 'application/json', ...headers },
  });
}

async function exchange(text: string, { halfClose = false, to = port } = {}): Promise<string> {
  const socket = connect(to, '127.0.0.1');
  let response = '';
  socket.setEncoding('utf8').on('data', (part: string) => (response += part));
  if (halfClose) socket.end(text);
  else socket.write(text);
  await once(socket, 'close');
  return response;
}

const CLOSE = 'Connection: close\r\n';
const CHUNKED = 'Transfer-Encoding: chunked\r\n';
const LARGE_CHUNK = `${(120_000).toString(16)}\r\n${'x'.repeat(120_000)}\r\n`;
const get = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
const postHead = (more: string): string => `POST /parcels HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
const bodyOf = (rawResponse: string): unknown =>
  JSON.parse(rawResponse.slice(rawResponse.lastIndexOf('\r\n\r\n')));

/** Waits for the path's line. Earlier tests' lines may come too, because lines follow responses. */
async function accessLines(path: string): Promise<unknown[][]> {
  for (;;) {
    const lines = logger.at('log').filter(([, , line]) => (line as { path?: string }).path === path);
    if (lines.length > 0) return lines;
    await delay(1);
  }
}

describe('The router', () => {
  it.each(['HEAD', 'GET'])('serves %s wherever it serves GET', async (method) => {
    expect((await fetch(`${origin}/pages/1`, { method })).status).toBe(200);
  });

  it.each([
    ['%zz', '%zz'],
    ['%', '%'],
    ['%FF', '\ufffd'],
    ['%00', '\u0000'],
    ['a+b', 'a+b'],
    ['a'.repeat(5000), 'a'.repeat(5000)],
  ])('accepts %s in a path', async (segment, id) => {
    const response = await fetch(`${origin}/pages/${segment}?name=%66`);
    expect(await response.json()).toEqual({ id, name: 'f' });
  });
});

it('A connection is kept for as long as it is set', async () => {
  const response = await fetch(`${origin}/pages/a?name=%66`);
  expect(response.headers.get('keep-alive')).toBe(`timeout=${KEEP_ALIVE_SECONDS}`);
});

describe('An error', () => {
  it.each<[ErrorKind, number]>([
    ['bad-request', 400],
    ['not-authenticated', 401],
    ['invalid-token', 401],
    ['forbidden', 403],
    ['not-found', 404],
    ['conflict', 409],
    ['body-too-large', 413],
    ['unsupported-encoding', 415],
    ['rate-limited', 429],
    ['unavailable', 503],
  ])('of the kind %s has the response %i', async (kind, status) => {
    const response = await fetch(`${origin}/failures/${kind}`);
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({ detail: `it is ${kind}`, code: 'failure' });
    expect(response.headers.get('x-kind') ?? response.headers.get('retry-after')).toBe(
      kind === 'unavailable' ? '2' : kind,
    );
    expect(logger.at('error')).toEqual([]);
  });

  it('of validation lists its items, with exact numbers', async () => {
    const response = await fetch(`${origin}/invalid-header`);
    expect(response.status).toBe(422);
    expect(await response.text()).toBe(
      '{"detail":[{"type":"made_up","loc":["header","X-Made-Up"],"msg":"Made up",' +
        '"input":100000000000000000000}]}',
    );
  });

  it('has no header of the response that it replaces', async () => {
    const response = await fetch(`${origin}/replaced`);
    expect(await response.json()).toMatchObject({ detail: 'it is unavailable' });
    for (const name of ['ETag', 'Cache-Control', 'Content-Encoding']) {
      expect([name, response.headers.get(name)]).toEqual([name, null]);
    }
  });

  it('that is unexpected shows the caller nothing and is logged once, with its stack only', async () => {
    const response = await fetch(`${origin}/crash?token=secret`, {
      headers: { authorization: 'Bearer secret' },
    });
    expect(response.status).toBe(500);
    expect(await response.text()).toBe('{"detail":"Internal Server Error","code":"internal-server-error"}');
    expect(logger.at('error')).toEqual([
      ['error', 'unforeseen error', expect.stringMatching(/^Error: out of cheese\n +at /), 'Errors'],
    ]);
    expect(JSON.stringify(logger.lines)).not.toMatch(/password|secret/);
  });

  it('in the middle of a response cuts the connection', async () => {
    await expect(fetch(`${origin}/broken-stream`).then((response) => response.text())).rejects.toThrow(
      /terminated|fetch failed/,
    );
    expect(logger.at('error')).toHaveLength(1);
  });
});

describe('A caller who disconnects in the middle of a response', () => {
  it('causes no error', async () => {
    const socket = connect(port, '127.0.0.1');
    socket.write(get('/download'));
    await once(socket, 'data');
    socket.destroy();
    expect(await accessLines('/download')).toMatchObject([['log', 'request', { status: 'aborted' }, 'Http']]);
    await delay(1);
    expect(logger.at('error')).toEqual([]);
  });
});

const countConnections = (server: Server = app.getHttpServer()): Promise<number> =>
  new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
  });

describe('A client that reads nothing of its response', () => {
  beforeEach(async () => {
    // Connections left by other tests could end while a test counts its own.
    const server: Server = app.getHttpServer();
    server.closeIdleConnections();
    while ((await countConnections()) > 0) await delay(5);
  });

  it.each(['/download', '/sized/20000000'])('is disconnected: %s', async (path) => {
    const before = await countConnections();
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined).write(get(path));
    await once(socket, 'readable');
    expect(await countConnections()).toBe(before + 1);
    while ((await countConnections()) > before) await delay(5);
    socket.destroy();
  });

  it('is not one that reads slowly', async () => {
    const socket = connect(port, '127.0.0.1');
    const size = 16_000_000;
    socket.write(get(`/sized/${size}`, CLOSE));
    const startedAtMs = performance.now();
    let byteCount = 0;
    for await (const piece of socket as AsyncIterable<Buffer>) {
      byteCount += piece.length;
      // Pauses between the pieces would grow with the machine's load, until nothing is read for too long.
      const aheadMs = (byteCount / size) * 3 * READER_IDLE_MS - (performance.now() - startedAtMs);
      if (aheadMs > 0) await delay(aheadMs);
    }
    expect(byteCount).toBeGreaterThan(size);
    expect(performance.now() - startedAtMs).toBeGreaterThan(2 * READER_IDLE_MS);
  });

  it('is not one whose response takes long to build, nor one between two requests', async () => {
    const socket = connect(port, '127.0.0.1');
    for (const time of [2 * READER_IDLE_MS, 0]) {
      socket.write(get(`/slow/${time}`));
      const [response] = (await once(socket, 'data')) as [Buffer];
      expect(response.toString()).toMatch(/^HTTP\/1.1 200 /);
      await delay(1.5 * READER_IDLE_MS);
    }
    expect(socket.destroyed).toBe(false);
    socket.destroy();
  });
});

describe('Requests that are pipelined on a connection', () => {
  it('are served one after the other, and return in their order', async () => {
    const pages = Array.from({ length: 40 }, (_, n) => `/pages/${n}`);
    // More than Node reads from a connection at once.
    const padding = `X-Padding: ${'x'.repeat(5000)}\r\n`;
    const requests = pages.map((path) => get(path, padding)).join('');
    const responses = await exchange(requests + get('/pages/last', CLOSE));
    const ids = [...responses.matchAll(/"id":"(\w+)"/g)].map(([, id]) => id);
    expect(ids).toEqual([...pages.map((_, n) => String(n)), 'last']);
    const slow = await exchange(get('/slow/5').repeat(3) + get('/slow/5', CLOSE));
    expect(slow.match(/"concurrent":\d/g)).toEqual(Array<string>(4).fill('"concurrent":1'));
  });

  it('may have bodies', async () => {
    const body = JSON.stringify({ weight: 7, padding: 'x'.repeat(70_000) });
    const length = `Content-Length: ${body.length}\r\n`;
    const parcels = (postHead(length) + body).repeat(5) + postHead(length + CLOSE) + body;
    const responses = await exchange(get('/slow/5') + parcels);
    expect(responses.match(/HTTP\/1.1 200|"weight":7/g)).toHaveLength(1 + 2 * 6);
  });

  it('let others come between', async () => {
    const crowd = exchange(get('/pages/1').repeat(200) + get('/pages/1', CLOSE));
    const served = new AbortController();
    void crowd.then(() => served.abort());
    let others = 0;
    for (; !served.signal.aborted; others += 1) await (await fetch(`${origin}/pages/2`)).text();
    expect(others).toBeGreaterThan(8);
  });

  it('are not served once their connection is closed', async () => {
    const before = await countConnections();
    const socket = connect(port, '127.0.0.1');
    socket.write(get('/slow/5').repeat(1000));
    await accessLines('/slow/5');
    socket.destroy();
    while ((await countConnections()) > before) await delay(5);
    // Node notices a closed connection when it writes a response.
    expect((await accessLines('/slow/5')).length).toBeLessThan(200);
    expect((await exchange(get('/slow/5') + get('/slow/5', CLOSE))).match(/"concurrent":1/g)).toHaveLength(2);
  });

  it('are limited in number, and forgotten with their connection', async () => {
    const server = createServer(oneAtATime((_, response) => void setTimeout(() => response.end(), 5), 10));
    const to = await listen(server);
    for (let n = 0; n < 3; n += 1) {
      const socket = connect(to, '127.0.0.1');
      socket.write(get('/').repeat(9));
      await once(socket, 'data');
      socket.destroy();
      while ((await countConnections(server)) > 0) await delay(5);
    }
    const responses = await exchange(get('/').repeat(9) + get('/', CLOSE), { to });
    expect(responses.match(/HTTP\/1.1 200/g)).toHaveLength(10);
    expect(await exchange(get('/').repeat(20), { to })).toBe('');
    server.close();
  });
});

it('Connections above the limit are refused, and the log says so once', async () => {
  const before = await countConnections();
  const sockets = Array.from({ length: MAX_CONNECTIONS + 5 - before }, () => connect(port, '127.0.0.1'));
  const ends = sockets.map(
    (socket) =>
      new Promise<void>((resolve) => void socket.on('error', () => undefined).once('close', resolve)),
  );
  await Promise.race(ends);
  while (logger.at('warn').length === 0) await delay(1);
  // One connection is reserved for peers that are not load balancers.
  expect(await countConnections()).toBe(MAX_CONNECTIONS - 1);
  for (const socket of sockets) socket.destroy();
  await Promise.all(ends);
  expect(logger.at('warn')).toEqual([
    ['warn', 'load balancers have 19 connections, the maximum: new ones are refused', 'Http'],
  ]);
  while ((await countConnections()) > before) await delay(5);
});

describe('An address', () => {
  /** An address may have three of these. */
  const MOST_OF_ALL = 6;
  const bounded = forAllTests(() => startApplication(MOST_OF_ALL, []));
  const sockets: Socket[] = [];
  afterEach(() => sockets.splice(0).forEach((socket) => socket.destroy()));

  async function open(
    text = '',
    localAddress = '127.0.0.1',
  ): Promise<{ socket: Socket; response: Promise<string> }> {
    const server: Server = bounded.getHttpServer();
    const boundedPort = Number(new URL(await bounded.getUrl()).port);
    const arrived = text === '' ? once(server, 'connection') : once(server, 'request');
    const socket = connect({ port: boundedPort, host: '127.0.0.1', localAddress });
    sockets.push(socket);
    socket.on('error', () => undefined).write(text);
    const response = once(socket, 'data').then(([data]) => String(data));
    response.catch(() => undefined);
    await arrived;
    return { socket, response };
  }

  it('has a share of all connections: a new one replaces the one idle for longest', async () => {
    const used = await open();
    const { socket: silent } = await open();
    used.socket.write(get('/pages/1'));
    await used.response;
    await open();
    const ended = once(silent, 'close');
    expect(await (await open(get('/pages/2'))).response).toMatch(/^HTTP\/1.1 200 /);
    await ended;
    expect(used.socket.destroyed).toBe(false);
    expect(
      logger.warnings.filter((text) => String(text).includes(' has 3 connections, the maximum')),
    ).toEqual([expect.stringContaining('127.0.0.')]);
  });

  it('opens no more connections when its share is in use, and other addresses still connect', async () => {
    const busy = [await open(get('/held')), await open(get('/held')), await open(get('/held'))];
    await once((await open()).socket, 'close');
    expect(closedConnections.at(-1)).toBe('of-fullest');
    expect(await (await open(get('/pages/1'), '127.0.0.2')).response).toMatch(/^HTTP\/1.1 200 /);
    letGo();
    for (const { response } of busy) expect(await response).toMatch(/^HTTP\/1.1 200 /);
  });
});

describe('Connections that are all taken', () => {
  const bounded = forAllTests(() => startApplication(6, ['127.0.0.9']));
  const sockets: Socket[] = [];
  afterEach(async () => {
    sockets.splice(0).forEach((socket) => socket.destroy());
    while ((await countConnections(bounded.getHttpServer())) > 0) await delay(5);
  });

  async function open(localAddress: string, text = ''): Promise<{ socket: Socket; data: Promise<string> }> {
    const arrived = once(bounded.getHttpServer(), text === '' ? 'connection' : 'request');
    const boundedPort = Number(new URL(await bounded.getUrl()).port);
    const socket = connect({ port: boundedPort, host: '127.0.0.1', localAddress });
    sockets.push(socket);
    socket.on('error', () => undefined).write(text);
    const data = once(socket, 'data').then(([bytes]) => String(bytes));
    data.catch(() => undefined);
    await arrived;
    return { socket, data };
  }

  it('leave room for a new one: the longest idle one of the address with most idle ones ends', async () => {
    const honest = await open('127.0.0.2', get('/pages/1'));
    await honest.data;
    const silent = [await open('127.0.0.3'), await open('127.0.0.4'), await open('127.0.0.3')];
    for (const address of ['127.0.0.4', '127.0.0.4']) silent.push(await open(address));
    const ends = Promise.race(silent.map(({ socket }, at) => once(socket, 'close').then(() => at)));
    const next = await open('127.0.0.5', get('/pages/2'));
    expect(await next.data).toMatch(/^HTTP\/1.1 200 /);
    expect([await ends, closedConnections.at(-1), honest.socket.destroyed]).toEqual([1, 'of-fullest', false]);
  });

  it('of a load balancer never end, and neither do those with a request', async () => {
    const balancer = await Promise.all([1, 2, 3, 4].map(() => open('127.0.0.9')));
    const busy = await open('127.0.0.3', get('/slow/500'));
    const other = await open('127.0.0.4', get('/slow/500'));
    const { socket: refused } = await open('127.0.0.5');
    if (!refused.closed) await new Promise((resolve) => refused.once('close', resolve));
    expect(closedConnections.at(-1)).toBe('of-any');
    for (const { data } of [busy, other]) expect(await data).toMatch(/^HTTP\/1.1 200 /);
    expect(balancer.some(({ socket }) => socket.destroyed)).toBe(false);
  });

  it('are never all held by a load balancer, and a newcomer is served', async () => {
    const balancer = await Promise.all([1, 2, 3, 4, 5].map(() => open('127.0.0.9')));
    closedConnections.length = 0;
    await once((await open('127.0.0.9')).socket, 'close');
    expect(closedConnections).toEqual(['of-any']);
    for (const address of ['127.0.0.5', '127.0.0.6']) {
      expect(await (await open(address, get('/pages/1'))).data).toMatch(/^HTTP\/1.1 200 /);
    }
    expect(balancer.some(({ socket }) => socket.destroyed)).toBe(false);
  });
});

describe('A body that arrives slowly', () => {
  const start = `${postHead('Content-Length: 500\r\n')}{`;

  it('is one of a few at a time: others are refused unless they arrive at once', async () => {
    const held = [exchange(start), exchange(start)];
    await delay(400);
    expect(await exchange(start)).toMatch(/^HTTP\/1.1 429 .*Retry-After: 5/s);
    expect((await post('{"weight": 1}')).status).toBe(200);
    for (const response of await Promise.all(held)) expect(response).toMatch(/^HTTP\/1.1 408 /);
  });

  it('may take longer than a pause without progress', async () => {
    const socket = connect(port, '127.0.0.1');
    const response = once(socket, 'data');
    socket.write(postHead('Content-Length: 13\r\n'));
    for (const piece of ['{"', 'we', 'ig', 'ht', '": 7}']) {
      socket.write(piece);
      await delay(0.3 * BODY_STALL_MS);
    }
    expect(String(await response)).toMatch(/^HTTP\/1.1 200 /);
    socket.destroy();
  });
});

describe('A body', () => {
  it.each([
    ['NaN', 'NaN', 'finite_number'],
    ['1e400', '1e400', 'finite_number'],
    ['half a surrogate pair', '"\\ud800"', 'string_unicode'],
    ['deep nesting', '['.repeat(500) + ']'.repeat(500), 'int_type'],
  ])('with %s can be repeated in the response', async (_, weight, type) => {
    const response = await post(`{"weight": ${weight}}`);
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ detail: [{ type, loc: ['body', 'weight'] }] });
  });

  it.each([
    ['too deeply nested', '['.repeat(50_000)],
    ['not UTF-8', new Uint8Array([0x22, 0xff, 0x22])],
  ])('that is %s cannot be read', async (_, body) => {
    const response = await post(body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ detail: 'There was an error parsing the body' });
  });

  it('that is not JSON by its content type is text', async () => {
    const response = await post('{"weight": 1}', { 'Content-Type': 'text/plain' });
    expect(await response.json()).toMatchObject({
      detail: [{ type: 'model_attributes_type', input: '{"weight": 1}' }],
    });
  });

  it('is refused with a Content-Encoding, and read without one or with identity', async () => {
    const ask = (encoding: string) =>
      exchange(`${postHead(`${CLOSE}Content-Encoding: ${encoding}\r\nContent-Length: 2\r\n`)}{}`);
    for (const encoding of ['gzip', 'identity, br', 'made-up']) {
      const response = await ask(encoding);
      expect(response).toMatch(/^HTTP\/1.1 415 /);
      expect(response).toMatch(/^Accept-Encoding: identity\r$/m);
      expect(bodyOf(response)).toEqual({
        detail: 'The body must be sent without Content-Encoding',
        code: 'content-encoding-unsupported',
      });
    }
    for (const encoding of ['', 'Identity']) expect(await ask(encoding)).not.toMatch(/^HTTP\/1.1 415 /);
    const empty = await exchange(postHead(`${CLOSE}Content-Encoding: gzip\r\nContent-Length: 0\r\n`));
    expect(empty).not.toMatch(/^HTTP\/1.1 415 /);
  });

  it('in chunks is subject to the limit too', async () => {
    const response = await exchange(`${postHead(CLOSE + CHUNKED)}${LARGE_CHUNK}0\r\n\r\n`);
    expect(response).toMatch(/^HTTP\/1.1 413 /);
    expect(bodyOf(response)).toMatchObject({ detail: 'Request Entity Too Large' });
  });

  it('that is announced as too large is refused without being awaited', async () => {
    const head = postHead(`${CLOSE}Content-Length: 9999999\r\n`);
    expect(await exchange(`${head}{`)).toMatch(/^HTTP\/1.1 413 /);
  });

  it('that ends early causes no error', async () => {
    const start = `${postHead('Content-Length: 500\r\n')}{`;
    expect(await exchange(start, { halfClose: true })).toMatch(/^HTTP\/1.1 400 /);
    const socket = connect(port, '127.0.0.1');
    socket.write(start, () => socket.resetAndDestroy());
    await once(socket, 'close');
    expect([(await post('{"weight": 1}')).status, logger.at('error')]).toEqual([200, []]);
  });

  it('that is refused leaves the connection usable', async () => {
    const body = 'x'.repeat(150_000);
    const parcel = postHead(`Content-Length: ${body.length}\r\n`) + body;
    const responses = await exchange(parcel + get('/pages/1', CLOSE));
    expect(responses.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200']);
  });
});

describe('A request that is not valid HTTP', () => {
  it.each([
    ['a word', 'NONSENSE\r\n\r\n', 400],
    ['an unknown method', 'FOO / HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['two lengths', postHead(`Content-Length: 1\r\n${CHUNKED}`), 400],
    ['endless headers', get('/', `A: ${'a'.repeat(20_000)}\r\n`), 431],
  ])('has a response in the form of all others: %s', async (_, text, status) => {
    const response = await exchange(text);
    expect(response).toMatch(new RegExp(`^HTTP/1.1 ${status} .*\r\nX-Request-Id: \\S{36}\r\n`, 's'));
    expect(bodyOf(response)).toEqual({ detail: expect.any(String) });
  });

  it('has the id of the request in its response when its body is at fault', async () => {
    const response = await exchange(`${postHead(`X-Request-Id: mine\r\n${CHUNKED}`)}zz\r\n`);
    expect(response).toMatch(/^HTTP\/1.1 400 .*X-Request-Id: mine\r\n/s);
  });

  it('gets no second response', async () => {
    const response = await exchange(`${postHead(CHUNKED)}${LARGE_CHUNK}zz\r\n`);
    expect(response.match(/HTTP\/1.1/g) ?? []).not.toHaveLength(2);
  });

  it('is not one with an unknown expectation', async () => {
    expect(await exchange(get('/pages/1', `Expect: tea\r\n${CLOSE}`))).toMatch(/^HTTP\/1.1 200 /);
  });
});

describe('A client that is silent and does not close its connection', () => {
  const server = (): Server => app.getHttpServer();
  const usual = { headersTimeout: 0, requestTimeout: 0 };

  beforeAll(() => {
    const { headersTimeout, requestTimeout } = server();
    Object.assign(usual, { headersTimeout, requestTimeout });
  });
  afterEach(() => void Object.assign(server(), usual));

  async function leave(
    text: string,
  ): Promise<{ client: Socket; response: () => string; ended: Promise<unknown> }> {
    const accepted = once(server(), 'connection') as Promise<[Socket]>;
    const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    let response = '';
    client.setEncoding('utf8').on('data', (part: string) => (response += part));
    client.on('error', () => undefined).write(text);
    const [socket] = await accepted;
    return { client, response: () => response, ended: once(socket, 'close') };
  }

  it.each([
    [
      'because its request does not arrive in time',
      { headersTimeout: 200, requestTimeout: 400 },
      [
        [408, ''],
        [408, 'GET / HTTP/1.1\r\nHost: x\r\n'],
        [408, `${postHead('Content-Length: 500\r\n')}{`],
        [408, `${postHead(CHUNKED)}1\r\n{`],
      ],
    ],
    [
      'because its request is refused',
      {},
      [
        [400, 'NONSENSE\r\n\r\n'],
        [400, `${postHead(CHUNKED)}zz\r\n`],
        [431, `GET / HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(20_000)}\r\n`],
        [413, `${postHead('Content-Length: 9999999\r\n')}{`],
        [413, `${postHead(CHUNKED)}1d4c1\r\n${'x'.repeat(110_000)}`],
        [401, `${postHead('Authorization: none\r\nContent-Length: 500\r\n')}{`],
      ],
    ],
  ] as const)(
    'gets a response, and its connection ends soon, %s',
    async (_, limits, requests) => {
      Object.assign(server(), limits);
      const clients: [status: number, left: Awaited<ReturnType<typeof leave>>][] = [];
      for (const [status, text] of requests) clients.push([status, await leave(text)]);
      await Promise.all(clients.map(([, { ended }]) => ended));
      for (const [status, { client, response }] of clients) {
        expect(response()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
        client.destroy();
      }
    },
    20_000,
  );

  it('is not served any more once it got 408', async () => {
    Object.assign(server(), { headersTimeout: 200, requestTimeout: 400 });
    const { parcels } = app.get(TestController);
    const { client, ended } = await leave(postHead('Content-Length: 13\r\n'));
    client.once('data', () => client.write('{"weight": 7}'));
    await ended;
    expect(await accessLines('/parcels')).toEqual([
      ['log', 'request', expect.objectContaining({ status: 'aborted' }), 'Http'],
    ]);
    expect(app.get(TestController).parcels).toBe(parcels);
    client.destroy();
  });
});

describe('The id of a request', () => {
  it('is available to the code that serves the request', async () => {
    const response = await fetch(`${origin}/id`);
    expect(await response.json()).toEqual({ id: response.headers.get('x-request-id') });
  });
});

describe('The access log', () => {
  it('has one line per request, without the query and with the user if known', async () => {
    await fetch(`${origin}/id?access_token=secret`);
    const user = { userId: '7', tokenId: 3, issuedBy: 2 };
    const line = { method: 'GET', path: '/id', status: 200, durationMs: expect.any(Number), ...user };
    expect(await accessLines('/id')).toEqual([['log', 'request', line, 'Http']]);
  });

  it('has a line for an unknown path too', async () => {
    await fetch(`${origin}/%6eowhere`, { method: 'PUT' });
    const line = { method: 'PUT', path: '/nowhere', status: 404, durationMs: expect.any(Number) };
    expect(await accessLines('/nowhere')).toEqual([['log', 'request', line, 'Http']]);
  });
});

it('A response neither names the framework nor has an ETag of its content', async () => {
  const { headers } = await fetch(`${origin}/pages/1`);
  expect([headers.get('x-powered-by'), headers.get('etag')]).toEqual([null, null]);
  expect(headers.get('x-content-type-options')).toBe('nosniff');
});
