import { BlockList, isIP, type LookupFunction } from 'node:net';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

export const LOOPBACK_ONLY = 'This is a sandbox proxy: it connects to loopback addresses only';

export function isLoopback(host: string): boolean {
  const address = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  if (address.toLowerCase() === 'localhost') return true;
  const family = isIP(address);
  return family !== 0 && LOOPBACK.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

/** Replaces DNS, so that no name resolves to another machine. */
export const lookupLoopback: LookupFunction = (hostname, options, callback) => {
  if (!isLoopback(hostname)) {
    callback(new Error(LOOPBACK_ONLY), '');
  } else if (options.all) {
    callback(null, [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ]);
  } else {
    callback(null, '127.0.0.1', 4);
  }
};
