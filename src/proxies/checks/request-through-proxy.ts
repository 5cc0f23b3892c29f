import { lookup } from 'node:dns/promises';
import { request } from 'node:http';
import net from 'node:net';
import { callbackify } from 'node:util';
import { SocksClient } from 'socks';
import type { buildConnector, Dispatcher } from 'undici';
import { isOverWithin } from '../../common';
import type { Proxy } from '../proxy';
import { isFaultOfPeer } from '../tcp-ping';
import type { ProxyCheckReason } from './verdict';

/** Why a proxied request failed. Excludes the reasons that a single request cannot reveal. */
export type ProxiedRequestFailure = Exclude<
  ProxyCheckReason,
  'leaks-forwarded-for' | 'exit-differs' | 'echo-down'
>;

export type ProxyToCheck = Pick<Proxy, 'proxyType' | 'host' | 'port' | 'login' | 'password'>;

/** Times are milliseconds since the request's start. */
export interface ProxiedRequest {
  readonly connectMs: number | null;
  /** Whether the proxy accepted the tunnel or, for plain HTTP, the connection. */
  readonly isAccepted: boolean;
  /** Time of the response's first byte, from the target or the proxy. */
  readonly firstByteMs: number | null;
  readonly result: { readonly text: string } | { readonly failure: ProxiedRequestFailure };
}

/** If a lookup takes longer, our resolver is at fault, not the proxy. */
const LOOKUP_TIMEOUT_MS = 1500;

const MAX_RESPONSE_BYTES = 4096;

/** Statuses that a proxy returns if it did not reach the target. */
const UNREACHED: readonly number[] = [403, 500, 502, 503, 504];

/** The proxy responded, but with a refusal or an error. */
class ProxyFailure extends Error {
  constructor(readonly failure: ProxiedRequestFailure) {
    super(failure);
  }
}

/** Removes the brackets of an IPv6 address. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');

/**
 * Makes one GET request without following redirects. Like browsers, uses CONNECT only for https. A SOCKS
 * proxy resolves the target's name. Never rejects.
 */
export async function requestThroughProxy(
  proxy: ProxyToCheck,
  url: URL,
  timeoutMs: number,
): Promise<ProxiedRequest> {
  // Loaded on first use, because undici takes 20 MB of memory.
  const { buildConnector, Client } = await import('undici');
  const startedAt = performance.now();
  const sinceStart = () => Math.ceil(performance.now() - startedAt);
  const signal = AbortSignal.timeout(timeoutMs);
  const isPlain = proxy.proxyType !== 'socks' && url.protocol === 'http:';
  let connectMs: number | null = null;
  let isAccepted = false;
  let firstByteMs: number | null = null;
  const progress = () => ({ connectMs, isAccepted, firstByteMs });

  const overTls = buildConnector({});
  const open = callbackify(async () => {
    const socket = await connectTo(proxy, signal);
    connectMs = sinceStart();
    if (proxy.proxyType === 'socks') await openSocks(socket, proxy, url, timeoutMs);
    else if (!isPlain) await openTunnel(socket, proxy, url);
    isAccepted = true;
    return socket;
  });
  const connect: buildConnector.connector = (options, callback) =>
    open((error: Error | null, socket) => {
      if (error) callback(error, null);
      else if (url.protocol === 'https:') overTls({ ...options, httpSocket: socket }, callback);
      else callback(null, socket);
    });
  const client = new Client(url.origin, { connect });
  try {
    if (!(await isOverWithin(LOOKUP_TIMEOUT_MS, lookup(proxy.host)))) {
      return { ...progress(), result: { failure: 'network-down' } };
    }
    const response = await client.request({
      path: isPlain ? url.href : url.pathname + url.search,
      method: 'GET',
      headers: { accept: 'application/json', ...(isPlain && { 'proxy-authorization': basicOf(proxy) }) },
      signal,
    });
    firstByteMs = sinceStart();
    const text = await readResponse(response);
    return { ...progress(), result: { text } };
  } catch (error) {
    return { ...progress(), result: { failure: failureOf(error, signal, connectMs !== null) } };
  } finally {
    // Not awaited, because a connection may still be opening.
    void client.destroy().catch(() => undefined);
  }
}

/** @throws ProxyFailure */
async function readResponse({ statusCode, body }: Dispatcher.ResponseData): Promise<string> {
  let text = '';
  for await (const chunk of body as AsyncIterable<Buffer>) {
    text += chunk.toString('latin1');
    if (text.length > MAX_RESPONSE_BYTES) throw new ProxyFailure('wrong-response');
  }
  if (statusCode === 200) return text;
  if (statusCode === 407) throw new ProxyFailure('wrong-login');
  throw new ProxyFailure(UNREACHED.includes(statusCode) ? 'echo-unreachable' : 'wrong-response');
}

const basicOf = ({ login, password }: ProxyToCheck): string =>
  `Basic ${Buffer.from(`${login}:${password}`).toString('base64')}`;

async function connectTo({ host, port }: ProxyToCheck, signal: AbortSignal): Promise<net.Socket> {
  const socket = net.connect({ host, port: Number(port) });
  // The code that waits for the socket handles errors; without a listener, Node would exit.
  socket.on('error', () => undefined);
  signal.addEventListener('abort', () => socket.destroy(new Error('timeout')), { once: true });
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  return socket;
}

/** @throws ProxyFailure */
async function openTunnel(socket: net.Socket, proxy: ProxyToCheck, { host, port }: URL): Promise<void> {
  const authority = port === '' ? `${host}:443` : host;
  const asked = request({
    createConnection: () => socket,
    method: 'CONNECT',
    path: authority,
    headers: { Host: authority, 'Proxy-Authorization': basicOf(proxy) },
  });
  const status = await new Promise<number | undefined>((resolve, reject) => {
    asked.once('connect', ({ statusCode }) => resolve(statusCode)).once('error', reject);
    asked.end();
  });
  if (status === 200) return;
  socket.destroy();
  throw new ProxyFailure(status === 407 ? 'wrong-login' : 'echo-unreachable');
}

async function openSocks(
  socket: net.Socket,
  { host, port, login, password }: ProxyToCheck,
  url: URL,
  timeoutMs: number,
): Promise<void> {
  const defaultPort = url.protocol === 'https:' ? 443 : 80;
  await SocksClient.createConnection({
    command: 'connect',
    existing_socket: socket,
    timeout: timeoutMs,
    proxy: { host, port: Number(port), type: 5, userId: login, password },
    destination: { host: hostOf(url), port: Number(url.port || defaultPort) },
  });
}

/** The libraries report a proxy's responses only in error messages. Tests check these messages. */
const FAILURE_PATTERNS: readonly (readonly [RegExp, ProxiedRequestFailure])[] = [
  [/Socks5 Authentication failed|no accepted authentication type/i, 'wrong-login'],
  [/Socks5 proxy rejected connection/i, 'echo-unreachable'],
  [/CERT|certificate|SSL|TLS|HPE_|Invalid Socks5|invalid socks version|Parse Error/i, 'wrong-response'],
];

function failureOf(error: unknown, signal: AbortSignal, isConnected: boolean): ProxiedRequestFailure {
  if (error instanceof ProxyFailure) return error.failure;
  if (signal.aborted) return 'timeout';
  const { message = '', code = '' } = error as { message?: string; code?: string };
  if (/TIMEOUT|ETIMEDOUT/.test(code)) return 'timeout';
  if (!isConnected) return isFaultOfPeer(error) ? 'refused' : 'network-down';
  return FAILURE_PATTERNS.find(([text]) => text.test(`${code} ${message}`))?.[1] ?? 'closed';
}
