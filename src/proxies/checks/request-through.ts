import { lookup } from 'node:dns/promises';
import net from 'node:net';
import { callbackify } from 'node:util';
import { SocksClient } from 'socks';
import type * as Undici from 'undici';
import type { buildConnector, Client, Dispatcher } from 'undici';
import { isOverWithin } from '../../common';
import type { Proxy } from '../proxy';
import { isFaultOfPeer } from '../tcp-ping';
import type { ProxyCheckReason } from './verdict';

/** The other reasons are not those of the proxy's own work. */
export type ThroughFailure = Exclude<ProxyCheckReason, 'leaks-forwarded-for' | 'exit-differs' | 'echo-down'>;

export type ProxyToCheck = Pick<Proxy, 'proxyType' | 'host' | 'port' | 'login' | 'password'>;

/** The progress of a request through a proxy. Times are milliseconds since its start. */
export interface Passage {
  /** When the TCP connection to the proxy was open. */
  readonly connectMs: number | null;
  /** When the first byte of a response arrived, from the target or the proxy. */
  readonly firstByteMs: number | null;
  readonly result: { readonly text: string } | { readonly failure: ThroughFailure };
}

interface Watch {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Called when a connection is open. */
  readonly onConnected: () => void;
}

/** A resolver that takes longer is at fault itself. It takes nothing from a host that is an address. */
const LOOKUP_TIMEOUT_MS = 1500;

const MAX_RESPONSE_BYTES = 4096;

/** Statuses with which a proxy reports that it did not reach the target. */
const UNREACHED: readonly number[] = [403, 500, 502, 503, 504];

/** The proxy was reached and understood, and refused or failed. */
class ProxyFailure extends Error {
  constructor(readonly failure: ThroughFailure) {
    super(failure);
  }
}

/** An IPv6 address without its brackets. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');

/**
 * Makes a GET request through a proxy, without following redirects, and closes the connection. Like browsers,
 * it sends an HTTP proxy a plain request for an http URL, and CONNECT for https. A SOCKS proxy resolves the
 * name of the target itself. Never rejects.
 */
export async function requestThrough(proxy: ProxyToCheck, url: URL, timeoutMs: number): Promise<Passage> {
  // Loaded on first use, because it takes 20 MB.
  const undici = await import('undici');
  const startedAt = performance.now();
  const sinceStart = () => Math.ceil(performance.now() - startedAt);
  const signal = AbortSignal.timeout(timeoutMs);
  let connectMs: number | null = null;
  let firstByteMs: number | null = null;
  const watch: Watch = { timeoutMs, signal, onConnected: () => (connectMs ??= sinceStart()) };
  let dispatcher: Dispatcher | undefined;
  try {
    if (!(await isOverWithin(LOOKUP_TIMEOUT_MS, lookup(proxy.host)))) {
      return { connectMs, firstByteMs, result: { failure: 'network-down' } };
    }
    dispatcher = (proxy.proxyType === 'socks' ? throughSocks : throughHttp)(undici, proxy, url, watch);
    const response = await dispatcher.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'GET',
      headers: { accept: 'application/json' },
      signal,
    });
    firstByteMs = sinceStart();
    const text = await readResponse(response);
    return { connectMs, firstByteMs, result: { text } };
  } catch (error) {
    return { connectMs, firstByteMs, result: { failure: failureOf(error, signal, connectMs !== null) } };
  } finally {
    // Not awaited: a connection may still be opening.
    void dispatcher?.destroy().catch(() => undefined);
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

function throughHttp(
  undici: typeof Undici,
  { host, port, login, password }: ProxyToCheck,
  url: URL,
  { timeoutMs, onConnected }: Watch,
): Dispatcher {
  const client = (origin: string | URL, options: Client.Options) =>
    new undici.Client(origin, { ...options, connect: noting(options.connect, onConnected) });
  return new undici.ProxyAgent({
    uri: `http://${net.isIPv6(host) ? `[${host}]` : host}:${port}`,
    token: `Basic ${Buffer.from(`${login}:${password}`).toString('base64')}`,
    proxyTunnel: url.protocol === 'https:',
    proxyTls: { timeout: timeoutMs },
    clientFactory: client,
    factory: client,
  });
}

/** The first connection that is opened is the one to the proxy; a second one is the tunnel through it. */
function noting(connect: Client.Options['connect'], onConnected: () => void): buildConnector.connector {
  if (typeof connect !== 'function') throw new Error('undici connects otherwise than it did');
  return (options, callback) =>
    connect(options, (...result: Parameters<buildConnector.Callback>) => {
      if (!result[0]) onConnected();
      callback(...result);
    });
}

function throughSocks(undici: typeof Undici, proxy: ProxyToCheck, url: URL, watch: Watch): Dispatcher {
  const overTls = undici.buildConnector({});
  const open = callbackify(() => openSocks(proxy, url, watch));
  const connect: buildConnector.connector = (options, callback) =>
    open((error: Error | null, socket) => {
      if (error) callback(error, null);
      else if (url.protocol === 'https:') overTls({ ...options, httpSocket: socket }, callback);
      else callback(null, socket);
    });
  return new undici.Client(url.origin, { connect });
}

async function openSocks(
  { host, port, login, password }: ProxyToCheck,
  url: URL,
  { timeoutMs, signal, onConnected }: Watch,
): Promise<net.Socket> {
  const socket = net.connect({ host, port: Number(port) }).once('connect', onConnected);
  // The code that waits for the socket handles its errors.
  socket.on('error', () => undefined);
  signal.addEventListener('abort', () => socket.destroy(new Error('timeout')), { once: true });
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  const defaultPort = url.protocol === 'https:' ? 443 : 80;
  await SocksClient.createConnection({
    command: 'connect',
    existing_socket: socket,
    timeout: timeoutMs,
    proxy: { host, port: Number(port), type: 5, userId: login, password },
    destination: { host: hostOf(url), port: Number(url.port || defaultPort) },
  });
  return socket;
}

/** undici and socks report the responses of a proxy only in the texts of their errors; tests check these. */
const FAILURE_PATTERNS: readonly (readonly [RegExp, ThroughFailure])[] = [
  [/\b407\b|Socks5 Authentication failed|no accepted authentication type/i, 'wrong-login'],
  [/Proxy response \(\d+\)|Socks5 proxy rejected connection/i, 'echo-unreachable'],
  [/CERT|certificate|SSL|TLS|HPE_|Invalid Socks5|invalid socks version|Parse Error/i, 'wrong-response'],
];

function failureOf(error: unknown, signal: AbortSignal, isConnected: boolean): ThroughFailure {
  if (error instanceof ProxyFailure) return error.failure;
  if (signal.aborted) return 'timeout';
  const { message = '', code = '' } = error as { message?: string; code?: string };
  if (/TIMEOUT|ETIMEDOUT/.test(code)) return 'timeout';
  if (!isConnected) return isFaultOfPeer(error) ? 'refused' : 'network-down';
  return FAILURE_PATTERNS.find(([text]) => text.test(`${code} ${message}`))?.[1] ?? 'closed';
}
