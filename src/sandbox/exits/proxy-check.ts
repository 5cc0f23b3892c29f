import { request as httpRequest } from 'node:http';
import type { Socket } from 'node:net';
import { SocksClient } from 'socks';
import type { ProxyType } from '../state/state-event';
import { isLoopback } from './loopback';

const TIMEOUT_MS = 3000;
const PROTOCOLS: readonly ProxyType[] = ['http', 'socks'];

export interface ProxyToTry {
  host: string;
  port: number;
  login: string;
  password: string;
}

/** As {@link tryProxy}, for a proxy whose protocol is not known: the first one that works counts. */
export async function tryProtocols(proxy: ProxyToTry, targetPort: number): Promise<number | null> {
  const attempts = PROTOCOLS.map(async (protocol) => {
    const tookMs = await tryProxy(protocol, proxy, targetPort);
    if (tookMs === null) throw new Error(`Not a proxy of type ${protocol}`);
    return tookMs;
  });
  return Promise.any(attempts).catch(() => null);
}

/**
 * Connects through the proxy to a local port. Gives the time in milliseconds, or null when it fails or takes
 * longer than `timeoutMs`.
 */
export async function tryProxy(
  protocol: ProxyType,
  proxy: ProxyToTry,
  targetPort: number,
  timeoutMs = TIMEOUT_MS,
): Promise<number | null> {
  if (!isLoopback(proxy.host)) return null;
  const startedAt = performance.now();
  try {
    const socket = await CONNECT[protocol](proxy, targetPort, timeoutMs);
    socket.destroy();
    return performance.now() - startedAt;
  } catch {
    return null;
  }
}

type Connect = (proxy: ProxyToTry, targetPort: number, timeoutMs: number) => Promise<Socket>;

const TARGET_HOST = '127.0.0.1';

const CONNECT: Record<ProxyType, Connect> = {
  http: ({ host, port, login, password }, targetPort, timeoutMs) =>
    new Promise((resolve, reject) => {
      const target = `${TARGET_HOST}:${targetPort}`;
      const request = httpRequest({
        host,
        port,
        method: 'CONNECT',
        path: target,
        agent: false,
        headers: {
          host: target,
          'proxy-authorization': `Basic ${Buffer.from(`${login}:${password}`).toString('base64')}`,
        },
        signal: AbortSignal.timeout(timeoutMs),
      });
      request.once('connect', ({ statusCode }, socket: Socket) => {
        if (statusCode === 200) return resolve(socket);
        socket.destroy();
        reject(new Error(`The proxy responds with ${statusCode}`));
      });
      request.on('error', reject).end();
    }),

  async socks({ host, port, login, password }, targetPort, timeoutMs) {
    const { socket } = await SocksClient.createConnection({
      proxy: { host, port, type: 5, userId: login, password },
      command: 'connect',
      destination: { host: TARGET_HOST, port: targetPort },
      timeout: timeoutMs,
    });
    return socket;
  },
};
