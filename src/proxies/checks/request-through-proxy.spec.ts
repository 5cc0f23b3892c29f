import http from 'node:http';
import net from 'node:net';
import tls from 'node:tls';
import { forAllTests } from '../../../test/support/fixtures';
import { listen } from '../../../test/support/listen';
import { WireClient } from '../../../test/support/wire-client';
import { startSandbox } from '../../sandbox';
import { type ProxyToCheck, requestThroughProxy } from './request-through-proxy';

const TIMEOUT_MS = 3000;
const sandbox = forAllTests(() => startSandbox({ rateLimitPerSecond: null }));

async function buy(proxyType: 'http' | 'socks'): Promise<ProxyToCheck> {
  const { list } = await new WireClient(sandbox.baseUrl, sandbox.apiKey).call<{
    list: { host: string; port: string; user: string; pass: string }[];
  }>(`buy?count=1&period=7&country=nl&version=4&type=${proxyType}&nokey`);
  const [bought] = list;
  if (!bought) throw new Error('nothing was bought');
  return { proxyType, host: bought.host, port: bought.port, login: bought.user, password: bought.pass };
}

const close = (server: net.Server) => new Promise((resolve) => server.close(resolve));

describe.each(['http', 'socks'] as const)('A request through a proxy of type %s', (type) => {
  it('follows no redirect', async () => {
    const target = http.createServer((_request, response) =>
      response.writeHead(302, { Location: '/elsewhere' }).end(),
    );
    const url = new URL(`http://127.0.0.1:${await listen(target)}/`);
    expect(await requestThroughProxy(await buy(type), url, TIMEOUT_MS)).toMatchObject({
      result: { failure: 'wrong-response' },
    });
    await close(target);
  });

  it('opens a tunnel to an https target, and trusts only valid certificates', async () => {
    let opened = 0;
    const target = tls.createServer({}).on('connection', () => (opened += 1));
    target.on('tlsClientError', () => undefined);
    const url = new URL(`https://127.0.0.1:${await listen(target)}/`);
    expect(await requestThroughProxy(await buy(type), url, TIMEOUT_MS)).toMatchObject({
      connectMs: expect.any(Number),
      firstByteMs: null,
      result: { failure: 'wrong-response' },
    });
    expect(opened).toBe(1);
    await close(target);
  });

  async function requestThroughOther(scheme: string, respond: (socket: net.Socket) => void) {
    let connections = 0;
    const sockets: net.Socket[] = [];
    const other = net.createServer((socket) => {
      connections += 1;
      sockets.push(socket);
      socket.on('error', () => undefined).once('data', () => respond(socket));
    });
    const proxy = { ...(await buy(type)), port: String(await listen(other)) };
    const passage = await requestThroughProxy(proxy, new URL(`${scheme}://127.0.0.1:1/`), 300);
    for (const socket of sockets) socket.destroy();
    await close(other);
    return { connections, passage };
  }

  it.each(['http', 'https'])('gives up in time, after one connection, for a target by %s', async (scheme) => {
    const isPlain = type === 'http' && scheme === 'http';
    for (const [failure, respond] of [
      ['closed', (socket: net.Socket) => socket.destroy()],
      ['timeout', () => undefined],
    ] as const) {
      expect(await requestThroughOther(scheme, respond)).toMatchObject({
        connections: 1,
        // The proxy may have forwarded a plain request.
        passage: { result: { failure }, isAccepted: isPlain },
      });
    }
  });

  it.each(['http', 'https'])('notes acceptance before a target by %s fails', async (scheme) => {
    const target = net.createServer((socket) => socket.on('error', () => undefined).resume());
    const url = new URL(`${scheme}://127.0.0.1:${await listen(target)}/`);
    const proxy = await buy(type);
    expect(await requestThroughProxy(proxy, url, 300)).toMatchObject({
      isAccepted: true,
      result: { failure: 'timeout' },
    });
    target.on('connection', (socket) => void socket.once('data', () => socket.destroy()));
    expect(await requestThroughProxy(proxy, url, TIMEOUT_MS)).toMatchObject({ isAccepted: true });
    expect(await requestThroughProxy({ ...proxy, port: '1' }, url, TIMEOUT_MS)).toMatchObject({
      isAccepted: false,
      result: { failure: 'refused' },
    });
    await close(target);
  });

  it.each(['http', 'https'])('reports a wrong login for a target by %s', async (scheme) => {
    const proxy = { ...(await buy(type)), password: 'wrong' };
    const passage = await requestThroughProxy(proxy, new URL(`${scheme}://127.0.0.1:1/`), TIMEOUT_MS);
    expect(passage.result).toEqual({ failure: 'wrong-login' });
  });

  it.each(['http', 'https'])('reports a target by %s that the proxy does not reach', async (scheme) => {
    const target = net.createServer();
    const port = await listen(target);
    await close(target);
    const passage = await requestThroughProxy(
      await buy(type),
      new URL(`${scheme}://127.0.0.1:${port}/`),
      TIMEOUT_MS,
    );
    expect(passage.result).toEqual({ failure: 'echo-unreachable' });
  });
});
