import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { isWithin } from '../common';

/** Lower ports, except web ports, are refused because system services listen on them. */
const FIRST_FREE_PORT = 1024;
const WEB_PORTS: readonly number[] = [80, 443];

/** The only IPv6 range that is allocated to the public internet. */
const GLOBAL_IPV6 = ipaddr.parseCIDR('2000::/3');

/** DNS64 maps IPv4 addresses into this network (RFC 6052). `64:ff9b:1::/48` is deliberately excluded. */
const NAT64 = ipaddr.parseCIDR('64:ff9b::/96');

/** Address of Azure's platform services: nominally public, but reachable only from Azure's machines. */
const AZURE_PLATFORM = '168.63.129.16';

/** Matches names that always mean this machine, regardless of DNS (RFC 6761). */
const LOCALHOST = /(^|\.)localhost\.?$/i;
const LOOPBACK = '127.0.0.1';

/** The message is for customers and must not contain an address. */
export class AddressRefused extends Error {
  constructor(why: string) {
    super(why);
    this.name = AddressRefused.name;
  }
}

/**
 * Allows public addresses and the operator's networks. A NAT64 address is allowed if the IPv4 address in it
 * is allowed. Other IPv6 addresses that contain an IPv4 address are never public.
 */
export class AddressRules {
  /** @param networks addresses and networks in CIDR notation */
  constructor(private readonly networks: readonly string[]) {}

  isAllowed(address: string): boolean {
    if (isIP(address) === 0) return false;
    const ipv4 = translatedIPv4(address);
    return isWithin(this.networks, address) || (ipv4 === null ? isPublic(address) : this.isAllowed(ipv4));
  }

  /** Checks a URL without DNS. @throws AddressRefused */
  checkUrl(text: string): URL {
    if (!URL.canParse(text)) throw new AddressRefused('the URL is not valid');
    const url = new URL(text);
    if (url.protocol !== 'https:' && url.protocol !== 'http:') {
      throw new AddressRefused('the URL must begin with https:// or http://');
    }
    if (url.username !== '' || url.password !== '') {
      throw new AddressRefused('the URL must not contain a login');
    }
    const port = portOf(url);
    if (!WEB_PORTS.includes(port) && port < FIRST_FREE_PORT) {
      throw new AddressRefused('the port must be 80, 443, or 1024 and above');
    }
    const address = addressIn(url);
    if (address !== null && !this.isAllowed(address)) throw new AddressRefused('the address is not public');
    return url;
  }
}

/** Returns the host and port of a URL, in canonical spelling. */
export function receiverOf(text: string): string {
  const url = new URL(text);
  return `${url.hostname.replace(/\.$/, '')}:${portOf(url)}`;
}

/** Returns the loopback address for `localhost` names; null for other names. */
export const ownAddressOf = (name: string): string | null => (LOCALHOST.test(name) ? LOOPBACK : null);

/** Returns null for a host name. URLs put IPv6 addresses in brackets. */
function addressIn({ hostname }: URL): string | null {
  const host = hostname.replace(/^\[|\]$/g, '');
  return isIP(host) === 0 ? ownAddressOf(host) : host;
}

const portOf = ({ port, protocol }: URL): number => {
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
};

function translatedIPv4(address: string): string | null {
  const parsed = ipaddr.parse(address);
  if (!(parsed instanceof ipaddr.IPv6) || !parsed.match(NAT64)) return null;
  return new ipaddr.IPv4(parsed.toByteArray().slice(-4)).toString();
}

function isPublic(address: string): boolean {
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast' || parsed.toString() === AZURE_PLATFORM) return false;
  return parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_IPV6);
}
