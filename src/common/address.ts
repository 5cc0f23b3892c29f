import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The prefix of an IPv4 address that an IPv6 socket reports. */
const MAPPED = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;

/** Normalizes a peer's address: an IPv4 address without its IPv6 prefix, an IPv6 address without a zone. */
export function plainAddress(address: string | undefined): string | null {
  const plain = address?.replace(MAPPED, '').replace(/%.*$/, '') ?? '';
  return isIPv4(plain) || isIPv6(plain) ? plain : null;
}

/** An IPv4 address, or the /64 of an IPv6 address: internet providers assign a whole /64 to one customer. */
export function networkOf(address: string | null): string {
  if (address === null || !isIPv6(address)) return address ?? 'unknown';
  const { parts } = ipaddr.IPv6.parse(address);
  return parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':');
}
