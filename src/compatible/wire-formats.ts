import { IP_VERSIONS, type IpVersion, type Money } from '../common';

const WIRE_VERSIONS = { '6': '6', '4': '4', '4s': '3' } as const satisfies Record<IpVersion, string>;

export type WireVersion = (typeof WIRE_VERSIONS)[IpVersion];

export const wireVersionOf = (version: IpVersion): WireVersion => WIRE_VERSIONS[version];
export const VERSIONS: ReadonlyMap<WireVersion, IpVersion> = new Map(
  IP_VERSIONS.map((version) => [wireVersionOf(version), version]),
);

const MOSCOW_OFFSET_S = 3 * 3600;

/** Returns Moscow time without a zone, such as `2016-06-19 16:32:39`. */
export const moscowTime = (unixS: number): string =>
  new Date((unixS + MOSCOW_OFFSET_S) * 1000).toISOString().slice(0, 19).replace('T', ' ');

export const unixSeconds = (date: Date | string | null): number =>
  date === null ? 0 : Math.floor(new Date(date).getTime() / 1000);

/** Converts an amount for a response. The number must not be used in calculations. */
export const roubles = (amount: Money): number => Number(amount.toString());

/** As in PROXY6, returns an object keyed by id, or an array if the list is empty or `nokey` was given. */
export const wireList = <Item extends { readonly id: string | number }>(
  items: readonly Item[],
  withoutKeys: boolean,
): readonly Item[] | Record<string, Item> =>
  withoutKeys || items.length === 0 ? items : Object.fromEntries(items.map((item) => [item.id, item]));

export interface ProxyFields {
  readonly id: string;
  readonly version: string;
  readonly host: string;
  readonly port: string;
  readonly login: string;
  readonly password: string;
  readonly proxyType: string;
  readonly dateStart: Date | string | null;
  readonly dateEnd: Date | string | null;
  readonly active: boolean;
}

export function wireProxy(proxy: ProxyFields) {
  const start = unixSeconds(proxy.dateStart);
  const end = unixSeconds(proxy.dateEnd);
  return {
    id: proxy.id,
    version: wireVersionOf(proxy.version as IpVersion),
    // Report the host, because we do not store the address from which the proxy connects to its targets.
    ip: proxy.host,
    host: proxy.host,
    port: proxy.port,
    user: proxy.login,
    pass: proxy.password,
    type: proxy.proxyType,
    date: moscowTime(start),
    date_end: moscowTime(end),
    unixtime: start,
    unixtime_end: end,
    active: proxy.active ? '1' : '0',
  };
}
