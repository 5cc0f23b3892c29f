import { EventEmitter } from 'node:events';
import type http from 'node:http';
import { isIP, isIPv6, type Socket } from 'node:net';
import { isWithin } from './network';

export interface ProxyChoice {
  readonly httpsProxy: string | undefined;
  /** Comma-separated hosts, domains, addresses and networks. */
  readonly noProxy: string;
}

const LOOPBACK_NAME = /(^|\.)localhost$/;
const LOOPBACK = ['127.0.0.0/8', '::1'];

export function proxyFor(url: string, { httpsProxy, noProxy }: ProxyChoice): string | undefined {
  if (url === '') return undefined;
  const { protocol, hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$|\.$/g, '');
  const entries = noProxy.toLowerCase().split(/[\s,]+/);
  const isDirect =
    protocol !== 'https:' ||
    LOOPBACK_NAME.test(host) ||
    [...LOOPBACK, ...entries].some((entry) => names(entry, host, port || '443'));
  return isDirect ? undefined : httpsProxy;
}

/** Whether an entry of `NO_PROXY` matches a host. */
function names(entry: string, host: string, port: string): boolean {
  if (entry === '*' || (isIP(host) !== 0 && isWithin([entry], host))) return true;
  const [, name = entry, namedPort = port] = /^\[?(.+?)\]?:(\d+)$/.exec(isIPv6(entry) ? '' : entry) ?? [];
  const domain = name.replace(/^\*?\./, '');
  return namedPort === port && (host === domain || host.endsWith(`.${domain}`));
}

/** Checks the status, because https-proxy-agent passes on the proxy's refusal as the target's response. */
export async function openTunnel(
  proxy: string,
  target: { readonly host: string; readonly port: number },
  signal: AbortSignal,
): Promise<Socket> {
  const { HttpsProxyAgent } = await import('https-proxy-agent');
  const call = new EventEmitter();
  let status: number | undefined;
  call.once('proxyConnect', (response: { readonly statusCode: number }) => (status = response.statusCode));
  const agent = new HttpsProxyAgent(proxy, { signal });
  const socket = await agent.connect(call as http.ClientRequest, { ...target, secureEndpoint: false });
  // Errors are ignored here, because the TLS socket on top of this one reports them.
  socket.on('error', () => undefined);
  if (status === 200) return socket;
  throw Object.assign(new Error('the proxy did not open a tunnel'), { code: `PROXY_${status}` });
}
