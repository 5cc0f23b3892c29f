import type { IpVersion, ProxyType } from '../../common';

/** A null field restricts nothing. */
export interface ProxyFilter {
  /** In lower case. */
  readonly country: string | null;
  readonly version: IpVersion | null;
  readonly proxyType: ProxyType | null;
  /** Whether the rental is running and the proxy is not withdrawn. */
  readonly active: boolean | null;
  /** Called `descr` in JSON. The label must match exactly. */
  readonly label: string | null;
  /** As `normalTag()` returns it. */
  readonly tag: string | null;
  /** Rentals without an expiry never match this field. */
  readonly endsBefore: Date | null;
  /** The purchase that delivered the proxy. */
  readonly orderId: number | null;
}

export const isUnfiltered = (filter: Partial<ProxyFilter>): boolean =>
  Object.values(filter).every((value) => value === null);

/**
 * Returns a condition in parentheses. The caller's WHERE must also name the user.
 * @param given adds a parameter to the statement and returns its placeholder, e.g. `$3`
 * @param now SQL for the current time, e.g. `$1` or `now()`
 */
export function proxyFilterSql(filter: ProxyFilter, given: (value: unknown) => string, now: string): string {
  const { country, version, proxyType, active, label, tag, endsBefore, orderId } = filter;
  const conditions: string[] = [];
  if (country !== null) conditions.push(`proxies.country = ${given(country)}`);
  if (version !== null) conditions.push(`proxies.version = ${given(version)}`);
  if (proxyType !== null) conditions.push(`proxies.proxy_type = ${given(proxyType)}`);
  if (active !== null) {
    conditions.push(`((proxies.date_end > ${now}) IS TRUE AND proxies.withdrawn_at IS NULL) = ${active}`);
  }
  if (label !== null) conditions.push(`proxies.label = ${given(label)}`);
  if (tag !== null) conditions.push(`${given(tag)} = ANY (proxies.tags)`);
  if (endsBefore !== null) conditions.push(`proxies.date_end < ${given(endsBefore)}`);
  if (orderId !== null) conditions.push(`proxies.order_id = ${given(orderId)}`);
  return conditions.length > 0 ? `(${conditions.join(' AND ')})` : '(true)';
}
