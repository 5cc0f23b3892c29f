import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Prefix that an IPv6 socket adds to an IPv4 peer's address. */
const MAPPED = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;

/**
 * Normalizes a peer's address: removes the IPv6 prefix of an IPv4 address, and the zone of an IPv6 address.
 */
export function plainAddress(address: string | undefined): string | null {
  const plain = address?.replace(MAPPED, '').replace(/%.*$/, '') ?? '';
  return isIPv4(plain) || isIPv6(plain) ? plain : null;
}

/** Prefix lengths in groups of 16 bits: /64 and /48. */
const IPV6_PREFIXES = [4, 3];

/**
 * Returns the networks whose limits apply to an address, the narrowest first: an IPv4 address itself, or the
 * /64 and the /48 of an IPv6 address. Internet providers assign a whole /64 to one customer, and often a
 * whole /48.
 */
export function networksOf(address: string | null): readonly string[] {
  if (address === null || !isIPv6(address)) return [address ?? 'unknown'];
  const groups = ipaddr.IPv6.parse(address).parts.map((part) => part.toString(16));
  return IPV6_PREFIXES.map((count) => groups.slice(0, count).join(':'));
}
