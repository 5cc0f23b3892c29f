import { isIPv6 } from 'node:net';
import type { ProxyOut } from '../dto/proxy-out.dto';

/** `socks` is SOCKS5. With `socks5h` the proxy resolves host names, with `socks5` the client does. */
export const schemeOf = ({ proxy_type: type }: ProxyOut): 'http' | 'socks5h' =>
  type === 'socks' ? 'socks5h' : 'http';

/** Escapes all but RFC 3986's unreserved characters, which are safe in shells and configurations, too. */
const encode = (text: string): string =>
  encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** `host:port`, with an IPv6 address in brackets. */
export const authorityOf = ({ host, port }: ProxyOut): string =>
  `${isIPv6(host) ? `[${host}]` : encode(host)}:${encode(port)}`;

/** `http://login:password@host:port`, with login and password percent-encoded. */
export const urlOf = (proxy: ProxyOut): string =>
  `${schemeOf(proxy)}://${encode(proxy.login)}:${encode(proxy.password)}@${authorityOf(proxy)}`;
