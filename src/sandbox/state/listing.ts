import type { SaleRecord, SoldProxy } from './sale-record';

const DAY_S = 86_400;
/** An expired proxy is listed and can be prolonged for a week; after that the provider does not know it. */
const GRACE_S = 7 * DAY_S;
/** `state=expiring` lists active proxies that end within this time. */
const EXPIRING_S = 3 * DAY_S;

export const LISTING_STATES = ['active', 'expired', 'expiring', 'all'] as const;
export type ListingState = (typeof LISTING_STATES)[number];

export interface ListingQuery {
  state: ListingState;
  /** Null: any comment. */
  descr: string | null;
  page: number;
  limit: number;
}

const IS_IN: Record<ListingState, (remainingS: number) => boolean> = {
  active: (remainingS) => remainingS > 0,
  expired: (remainingS) => remainingS <= 0,
  expiring: (remainingS) => remainingS > 0 && remainingS <= EXPIRING_S,
  all: () => true,
};

/** Whether the provider still knows the proxy, active or expired. */
export function isKnown(proxy: SoldProxy, nowMs: number): boolean {
  return proxy.goneAtMs === null && proxy.endsAtS + GRACE_S > nowMs / 1000;
}

export function isActive(proxy: SoldProxy, nowMs: number): boolean {
  return proxy.goneAtMs === null && proxy.endsAtS > nowMs / 1000;
}

/**
 * The end that getproxy shows: the earlier one for a time after a prolongation under the late-listing fault.
 */
export function shownEndS({ shownEarlier, endsAtS }: SoldProxy, nowMs: number): number {
  return shownEarlier && shownEarlier.untilMs > nowMs ? shownEarlier.endsAtS : endsAtS;
}

/** One page of getproxy, in the order of the records. */
export function listPage(records: Iterable<SaleRecord>, query: ListingQuery, nowMs: number): SoldProxy[] {
  const isListed = (proxy: SoldProxy) =>
    isKnown(proxy, nowMs) &&
    (query.descr === null || proxy.descr === query.descr) &&
    IS_IN[query.state](shownEndS(proxy, nowMs) - nowMs / 1000);
  const page: SoldProxy[] = [];
  let toSkip = (query.page - 1) * query.limit;
  for (const record of records) {
    const { delivered, firstProxyId, hiddenUntilMs = 0 } = record.sale;
    if (delivered === 0 || hiddenUntilMs > nowMs) continue;
    if (record.isUniform && toSkip >= delivered) {
      if (isListed(record.getProxy(firstProxyId))) toSkip -= delivered;
      continue;
    }
    for (const proxy of record.proxies()) {
      if (!isListed(proxy)) continue;
      if (toSkip > 0) toSkip -= 1;
      else page.push(proxy);
      if (page.length === query.limit) return page;
    }
  }
  return page;
}
