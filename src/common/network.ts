import { BlockList, isIPv4, isIPv6 } from 'node:net';
import { plainAddress } from './address';

const NETWORK = /^([0-9a-fA-F.:]+)(?:\/(0|[1-9]\d{0,2}))?$/;

/** Spelled as in {@link URL.hostname}. */
export const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

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

/** Accepts an address, or a network in CIDR notation, such as `2001:db8::/32`. */
export const isNetwork = (text: string): boolean => parseNetwork(text) !== null;

/** Returns the prefix length in IPv6 terms, where all IPv4 addresses together form a /96 network. */
const widePrefix = ({ prefix, family }: Network): number => (family === 'ipv4' ? 96 + prefix : prefix);

export function liesWithin(outer: readonly string[], inner: string): boolean {
  const network = parseNetwork(inner);
  if (!network) return false;
  return outer.some((text) => {
    const around = parseNetwork(text);
    if (!around || widePrefix(network) < widePrefix(around)) return false;
    return isWithin([text], plainAddress(network.address));
  });
}

export function isWithin(networks: readonly string[], address: string | null): boolean {
  if (address === null) return false;
  const list = new BlockList();
  for (const text of networks) {
    const network = parseNetwork(text);
    if (network) list.addSubnet(network.address, network.prefix, network.family);
  }
  return list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
}
