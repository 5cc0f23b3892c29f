import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { AddressRefused, type AddressRules, ownAddressOf } from '../addresses';

/** Timeout per DNS server, in milliseconds, and number of rounds over all servers. */
const DNS = { timeout: 2000, tries: 2 };

export class NameNotFound extends Error {
  constructor() {
    super('the name has no address');
    this.name = NameNotFound.name;
  }
}

/** Unlike `dns.lookup`, a resolver blocks no thread while a DNS server hangs. */
export const systemResolver = (): Resolver => new Resolver(DNS);

/**
 * Refuses a name if any of its addresses is forbidden. Connecting only to the addresses checked here prevents
 * DNS rebinding.
 */
export function checkedLookup(
  resolver: Pick<Resolver, 'resolve4' | 'resolve6'>,
  rules: AddressRules,
): LookupFunction {
  const find = async (name: string): Promise<LookupAddress[]> => {
    const addresses = await addressesOf(name, resolver);
    if (!addresses.every(({ address }) => rules.isAllowed(address))) {
      throw new AddressRefused('the address is not public');
    }
    return addresses;
  };
  const findThen = callbackify(find);
  return (name, { all }, done) => {
    findThen(name, (error, addresses) => {
      const [first] = error ? [] : addresses;
      if (all === true || !first) done(error, error ? [] : addresses);
      else done(null, first.address, first.family);
    });
  };
}

/** IPv4 addresses come first, so that a machine without IPv6 connects at the first attempt. */
async function addressesOf(
  name: string,
  resolver: Pick<Resolver, 'resolve4' | 'resolve6'>,
): Promise<LookupAddress[]> {
  const own = ownAddressOf(name);
  if (own !== null) return [{ address: own, family: 4 }];
  const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const addresses = [
    ...(four.status === 'fulfilled' ? four.value : []).map((address) => ({ address, family: 4 })),
    ...(six.status === 'fulfilled' ? six.value : []).map((address) => ({ address, family: 6 })),
  ];
  if (addresses.length === 0) throw new NameNotFound();
  return addresses;
}
