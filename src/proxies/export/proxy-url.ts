import { isIPv6 } from 'node:net';
import type { ProxyOut } from '../dto/proxy-out.dto';

export const SOCKS_SCHEMES = ['socks5h', 'socks5'] as const;
/** For most clients, the proxy resolves host names with `socks5h`, and the client with `socks5`. */
export type SocksScheme = (typeof SOCKS_SCHEMES)[number];

/** `socks` is SOCKS5. */
export const schemeOf = ({ proxy_type: type }: ProxyOut, socks: SocksScheme = 'socks5h'): string =>
  type === 'socks' ? socks : 'http';

/** Escapes all but RFC 3986's unreserved characters, which are safe in shells and configurations, too. */
export const percentEncode = (text: string): string =>
  encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** Returns `host:port`, with an IPv6 address in brackets. */
export const authorityOf = ({ host, port }: ProxyOut): string =>
  `${isIPv6(host) ? `[${host}]` : percentEncode(host)}:${percentEncode(port)}`;

/** `http://login:password@host:port`, with login and password percent-encoded. */
export function urlOf(proxy: ProxyOut, socks?: SocksScheme): string {
  const [login, password] = [percentEncode(proxy.login), percentEncode(proxy.password)];
  return `${schemeOf(proxy, socks)}://${login}:${password}@${authorityOf(proxy)}`;
}
