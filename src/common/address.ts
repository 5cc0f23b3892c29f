import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The prefix of an IPv4 address that an IPv6 socket reports. */
const MAPPED = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;

/** Normalizes a peer's address: an IPv4 address without its IPv6 prefix, an IPv6 address without a zone. */
export function plainAddress(address: string | undefined): string | null {
  const plain = address?.replace(MAPPED, '').replace(/%.*$/, '') ?? '';
  return isIPv4(plain) || isIPv6(plain) ? plain : null;
}

/** In groups of 16 bits. */
const IPV6_PREFIXES = [4, 3];

/**
 * The networks that count for an address, the narrowest first: an IPv4 address itself, or the /64 and the /48
 * of an IPv6 address. Internet providers assign a whole /64 to one customer, and often a whole /48.
 */
export function networksOf(address: string | null): readonly string[] {
  if (address === null || !isIPv6(address)) return [address ?? 'unknown'];
  const groups = ipaddr.IPv6.parse(address).parts.map((part) => part.toString(16));
  return IPV6_PREFIXES.map((count) => groups.slice(0, count).join(':'));
}
