import { BlockList, isIPv4, isIPv6 } from 'node:net';

const NETWORK = /^([0-9a-fA-F.:]+)(?:\/(\d{1,3}))?$/;
/** How an IPv6 socket writes an IPv4 address. */
const MAPPED = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;

interface Network {
  readonly address: string;
  readonly prefix: number;
  readonly family: 'ipv4' | 'ipv6';
}

function parseNetwork(text: string): Network | null {
  const [, address = '', prefix] = NETWORK.exec(text) ?? [];
  const family = isIPv4(address) ? 'ipv4' : isIPv6(address) ? 'ipv6' : null;
  if (family === null) return null;
  const bits = family === 'ipv4' ? 32 : 128;
  const length = Number(prefix ?? bits);
  return length <= bits ? { address, prefix: length, family } : null;
}

/**
 * Whether a text is an address or a network in CIDR notation: `203.0.113.7`, `10.0.0.0/8`, `2001:db8::/32`.
 */
export const isNetwork = (text: string): boolean => parseNetwork(text) !== null;

/** The address at the other end as it is compared and kept: IPv4 as such, no zone. */
export function plainAddress(address: string | undefined): string | null {
  const plain = address?.replace(MAPPED, '').replace(/%.*$/, '') ?? '';
  return isIPv4(plain) || isIPv6(plain) ? plain : null;
}

/** Whether an address lies in one of these networks. One that is not known lies in none. */
export function isWithin(networks: readonly string[], address: string | null): boolean {
  if (address === null) return false;
  const list = new BlockList();
  for (const text of networks) {
    const network = parseNetwork(text);
    if (network) list.addSubnet(network.address, network.prefix, network.family);
  }
  return list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
}
