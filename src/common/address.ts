import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Prefix that an IPv6 socket adds to an IPv4 peer's address. */
const MAPPED = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;

/** Strips the IPv6 prefix from a mapped IPv4 address, and the zone from an IPv6 address. */
export function plainAddress(address: string | undefined): string | null {
  const plain = address?.replace(MAPPED, '').replace(/%.*$/, '') ?? '';
  return isIPv4(plain) || isIPv6(plain) ? plain : null;
}

/** IPv6 prefix lengths in 16-bit groups: /64 and /48. Each such network usually belongs to one customer. */
const IPV6_PREFIXES = [4, 3];

/** Returns the networks whose limits apply to an address, narrowest first. */
export function networksOf(address: string | null): readonly string[] {
  if (address === null || !isIPv6(address)) return [address ?? 'unknown'];
  const groups = ipaddr.IPv6.parse(address).parts.map((part) => part.toString(16));
  return IPV6_PREFIXES.map((count) => groups.slice(0, count).join(':'));
}
