import { isIPv6 } from 'node:net';
import type { ProxyOut } from '../dto/proxy-out.dto';

export const SOCKS_SCHEMES = ['socks5h', 'socks5'] as const;
/** In most clients, `socks5h` lets the proxy resolve host names. With `socks5`, the client resolves them. */
export type SocksScheme = (typeof SOCKS_SCHEMES)[number];

/** The proxy type `socks` means SOCKS5. */
export const schemeOf = ({ proxy_type: type }: ProxyOut, socks: SocksScheme = 'socks5h'): string =>
  type === 'socks' ? socks : 'http';

/** Escapes all but RFC 3986's unreserved characters, which are safe even in shells and configurations. */
export const percentEncode = (text: string): string =>
  encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

export const authorityOf = ({ host, port }: ProxyOut): string =>
  `${isIPv6(host) ? `[${host}]` : percentEncode(host)}:${percentEncode(port)}`;

export function urlOf(proxy: ProxyOut, socks?: SocksScheme): string {
  const [login, password] = [percentEncode(proxy.login), percentEncode(proxy.password)];
  return `${schemeOf(proxy, socks)}://${login}:${password}@${authorityOf(proxy)}`;
}
