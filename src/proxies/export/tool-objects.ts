import type { ProxyOut } from '../dto/proxy-out.dto';
import { authorityOf } from './proxy-url';

/** Returns a name that is unique within a list. */
export const proxyName = ({ country, id }: ProxyOut): string => `${country}-${id}`;

export const playwrightObject = (proxy: ProxyOut): string =>
  JSON.stringify({
    // With Playwright's `socks5`, Chromium lets the proxy resolve host names.
    server: `${proxy.proxy_type === 'socks' ? 'socks5' : 'http'}://${authorityOf(proxy)}`,
    username: proxy.login,
    password: proxy.password,
  });

export const singBoxObject = (proxy: ProxyOut): string =>
  JSON.stringify({
    type: proxy.proxy_type === 'socks' ? 'socks' : 'http',
    tag: proxyName(proxy),
    server: proxy.host,
    server_port: Number(proxy.port),
    ...(proxy.proxy_type === 'socks' && { version: '5' }),
    username: proxy.login,
    password: proxy.password,
  });

/** Characters that JSON allows unescaped, but YAML forbids or treats as line breaks. */
const NOT_YAML = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;

const escape = (character: string): string =>
  String.raw`\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Writes JSON, which is valid YAML once some characters are escaped. */
export const toYaml = (value: object): string => JSON.stringify(value).replaceAll(NOT_YAML, escape);

export const clashObject = (proxy: ProxyOut): string =>
  toYaml({
    name: proxyName(proxy),
    type: proxy.proxy_type === 'socks' ? 'socks5' : 'http',
    server: proxy.host,
    port: Number(proxy.port),
    username: proxy.login,
    password: proxy.password,
  });
