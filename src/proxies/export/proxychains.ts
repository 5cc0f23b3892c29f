import { isIP } from 'node:net';
import type { ProxyOut } from '../dto/proxy-out.dto';

/** With these settings, proxychains uses one proxy per connection, and another one if that proxy fails. */
export const PROXYCHAINS_START = `\
# proxychains4 -f proxychains.conf curl https://example.com/
# Each connection goes through one of these proxies. proxychains reads the first 512 of them.
random_chain
chain_len = 1
proxy_dns
tcp_connect_time_out 10000
tcp_read_time_out 15000
[ProxyList]
`;

/** proxychains copies each word into a buffer of 256 bytes, including the terminating NUL. */
const MAX_BYTES = 255;
/** White space according to C's `isspace`, and NUL. */
const SPACE = /[\0\t-\r ]/;

const isWord = (text: string): boolean =>
  text !== '' && !SPACE.test(text) && Buffer.byteLength(text) <= MAX_BYTES;

/**
 * If proxychains cannot use a proxy, returns the reason. Such proxies are omitted, because proxychains exits
 * if it cannot read a line.
 */
function findObstacle({ host, port, login, password, proxy_type: type }: ProxyOut): string | undefined {
  if (isIP(host) === 0) return 'its host is not numeric';
  if (!/^[1-9]\d{0,4}$/.test(port)) return 'its port is not a number';
  if (!isWord(login) || !isWord(password)) {
    return 'its login or password is empty, is too long or contains a space';
  }
  // proxychains encodes other characters incorrectly in Base64.
  if (type === 'http' && /[^\x21-\x7e]/.test(login + password)) {
    return 'proxychains can log in to HTTP proxies only with ASCII';
  }
  return undefined;
}

export function proxychainsLine(proxy: ProxyOut): string {
  const obstacle = findObstacle(proxy);
  if (obstacle !== undefined) return `# proxy ${proxy.id} is omitted: ${obstacle}\n`;
  const type = proxy.proxy_type === 'socks' ? 'socks5' : 'http';
  return `${type} ${proxy.host} ${proxy.port} ${proxy.login} ${proxy.password}\n`;
}
