import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { connect, createServer as createNetServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSandbox } from '..';
import { forAllTests } from '../../../test/support/fixtures';
import { sandboxForAllTests } from '../../../test/support/sandbox';
import { WireClient } from '../../../test/support/wire-client';
import { listenOnFirstFree, stopListening } from '../system';

interface BoughtProxy {
  id: string;
  host: string;
  port: string;
  user: string;
  pass: string;
}

const GREETING = 'hello from loopback';
let targetPort: number;
const { client, control } = sandboxForAllTests();
const target = forAllTests(() => createServer((_request, response) => response.end(GREETING)), stopListening);
beforeAll(async () => {
  targetPort = await listenOnFirstFree(target, '127.0.0.1', [0]);
});

async function buy(type: 'http' | 'socks', from = client): Promise<BoughtProxy> {
  const { list } = await from.call<{ list: BoughtProxy[] }>(
    `buy?count=1&period=7&country=nl&version=4&type=${type}&nokey`,
  );
  const [proxy] = list;
  if (!proxy) throw new Error('Nothing was bought');
  return proxy;
}

function getThrough(proxy: BoughtProxy, url: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = {
      'proxy-authorization': `Basic ${btoa(`${proxy.user}:${proxy.pass}`)}`,
      host: new URL(url).host,
    };
    const options = { host: proxy.host, port: proxy.port, path: url, headers, agent: false };
    const sent = request(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.on('error', reject).end();
  });
}

async function connectThrough(
  proxy: BoughtProxy,
  destination: string,
): Promise<{ status: number; socket: Socket }> {
  const headers = { 'proxy-authorization': `Basic ${btoa(`${proxy.user}:${proxy.pass}`)}` };
  const sent = request({
    host: proxy.host,
    port: proxy.port,
    method: 'CONNECT',
    path: destination,
    headers,
    agent: false,
  });
  sent.end();
  return new Promise((resolve, reject) => {
    sent.once('connect', (response, socket) => resolve({ status: response.statusCode ?? 0, socket }));
    sent.once('error', reject);
  });
}

async function socksThrough(
  proxy: BoughtProxy,
  address: number[],
  port = targetPort,
): Promise<number | Socket> {
  const socket = connect(Number(proxy.port), proxy.host);
  const messages = [
    [5, 1, 2],
    [1, ...text(proxy.user), ...text(proxy.pass)],
    [5, 1, 0, ...address, port >> 8, port & 0xff],
  ];
  let code = 0;
  for (const [index, message] of messages.entries()) {
    socket.write(Buffer.from(message));
    const [reply]: Buffer[] = await once(socket, 'data');
    code = reply?.[1] ?? -1;
    if (code !== (index === 0 ? 2 : 0)) break;
  }
  if (code === 0) return socket;
  socket.destroy();
  return code;
}

async function talkHttp(socket: Socket): Promise<string> {
  socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  let text = '';
  for await (const chunk of socket.setEncoding('utf8')) text += String(chunk);
  return text;
}

const text = (value: string) => [value.length, ...Buffer.from(value)];
const LOOPBACK = [1, 127, 0, 0, 1];
const ELSEWHERE = [1, 192, 0, 2, 1];
const domain = (name: string) => [3, ...text(name)];

describe('an HTTP proxy', () => {
  test.each(['127.0.0.1', 'localhost'])('forwards a plain request to %s', async (host) => {
    await expect(getThrough(await buy('http'), `http://${host}:${targetPort}/`)).resolves.toEqual({
      status: 200,
      text: GREETING,
    });
  });

  test.each(['127.0.0.1', 'localhost'])('tunnels to %s', async (host) => {
    const { status, socket } = await connectThrough(await buy('http'), `${host}:${targetPort}`);

    expect(status).toBe(200);
    await expect(talkHttp(socket)).resolves.toContain(GREETING);
  });

  test.each(['192.0.2.1', 'example.com', '[2001:db8::1]', '0.0.0.0', '127.0.0.1.example.com'])(
    'refuses to connect to %s and gives the reason',
    async (host) => {
      const proxy = await buy('http');

      await expect(getThrough(proxy, `http://${host}/`)).resolves.toEqual({
        status: 403,
        text: expect.stringContaining('loopback addresses only'),
      });
      const { status, socket } = await connectThrough(proxy, `${host}:443`);
      socket.destroy();
      expect(status).toBe(403);
    },
  );

  test('requires its own login and password', async () => {
    const proxy = await buy('http');
    const other = await buy('http');

    for (const wrong of [
      { pass: other.pass },
      { user: 'nobody' },
      { user: '', pass: '' },
      { user: 'ünknöw' },
    ]) {
      await expect(
        getThrough({ ...proxy, ...wrong }, `http://127.0.0.1:${targetPort}/`),
      ).resolves.toMatchObject({ status: 407 });
    }
  });
});

describe('a SOCKS5 proxy', () => {
  test.each([
    ['an address', LOOPBACK],
    ['localhost', domain('localhost')],
  ])('connects to %s of this machine', async (_name, address) => {
    const socket = await socksThrough(await buy('socks'), address);

    if (typeof socket === 'number') throw new Error(`It was refused with ${socket}`);
    await expect(talkHttp(socket)).resolves.toContain(GREETING);
  });

  test.each([
    ['an address elsewhere', ELSEWHERE],
    ['a name', domain('example.com')],
    ['an IPv6 address', [4, 0x20, 1, 0x0d, 0xb8, ...Array<number>(11).fill(0), 1]],
  ])('does not allow %s', async (_name, address) => {
    await expect(socksThrough(await buy('socks'), address)).resolves.toBe(2);
  });

  test('refuses a wrong password', async () => {
    await expect(socksThrough({ ...(await buy('socks')), pass: 'wrong' }, LOOPBACK)).resolves.toBe(1);
  });
});

describe('a proxy that may not be used', () => {
  test.each<[string, (id: string) => Promise<unknown>]>([
    ['expired', (id) => control.changeProxy(Number(id), { unixtimeEnd: Math.floor(Date.now() / 1000) - 1 })],
    ['deleted', (id) => client.call(`delete?ids=${id}`)],
    ['withdrawn', (id) => control.withdrawProxy(Number(id))],
    ['of the other type', (id) => client.call(`settype?ids=${id}&type=socks`)],
  ])('is refused when %s', async (_name, change) => {
    const proxy = await buy('http');
    await expect(getThrough(proxy, `http://127.0.0.1:${targetPort}/`)).resolves.toMatchObject({
      status: 200,
    });

    await change(proxy.id);

    await expect(getThrough(proxy, `http://127.0.0.1:${targetPort}/`)).resolves.toMatchObject({
      status: 407,
    });
  });
});

describe('after a restart', () => {
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sandbox-ports-'));
  });

  afterEach(() => rm(directory, { recursive: true }));

  async function boughtInFirstRun(): Promise<BoughtProxy> {
    const first = await startSandbox({ directory });
    const proxy = await buy('http', new WireClient(first.baseUrl, first.apiKey));
    await first.close();
    return proxy;
  }

  async function listedInNextRun(): Promise<BoughtProxy | undefined> {
    const next = await startSandbox({ directory });
    const { list } = await new WireClient(next.baseUrl, next.apiKey).call<{ list: BoughtProxy[] }>(
      'getproxy?nokey',
    );
    await next.close();
    return list[0];
  }

  test('a proxy keeps its address', async () => {
    const proxy = await boughtInFirstRun();

    await expect(listedInNextRun()).resolves.toMatchObject(proxy);
  });

  test('a proxy whose port was taken moves to another, with the same login and password', async () => {
    const proxy = await boughtInFirstRun();
    const squatter = createNetServer();
    await listenOnFirstFree(squatter, '127.0.0.1', [Number(proxy.port)]);

    const listed = await listedInNextRun();

    expect(listed).toMatchObject({ id: proxy.id, user: proxy.user, pass: proxy.pass });
    expect(listed?.port).not.toBe(proxy.port);
    await stopListening(squatter);
  });
});
