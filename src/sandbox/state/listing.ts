import { seededRandom } from '../catalog/seeded-random';
import type { Dialect } from '../dialect';
import type { SaleRecord, SoldProxy } from './sale-record';

const DAY_S = 86_400;
/** An expired proxy is listed, and can be prolonged, for this long. */
const GRACE_S = 7 * DAY_S;
/** `state=expiring` lists active proxies with at most this much time left. */
const EXPIRING_S = 3 * DAY_S;

export const LISTING_STATES = ['active', 'expired', 'expiring', 'all'] as const;
export type ListingState = (typeof LISTING_STATES)[number];

export interface ListingQuery {
  state: ListingState;
  /** `null` for any comment. */
  descr: string | null;
  page: number;
  limit: number;
}

/** Every run generates the same sequence. */
const randomStart = seededRandom(1);

const IS_IN: Record<ListingState, (remainingS: number) => boolean> = {
  active: (remainingS) => remainingS > 0,
  expired: (remainingS) => remainingS <= 0,
  expiring: (remainingS) => remainingS > 0 && remainingS <= EXPIRING_S,
  all: () => true,
};

export function isKnown(proxy: SoldProxy, nowMs: number): boolean {
  return proxy.goneAtMs === null && proxy.endsAtS + GRACE_S > nowMs / 1000;
}

export function isActive(proxy: SoldProxy, nowMs: number): boolean {
  return proxy.goneAtMs === null && proxy.endsAtS > nowMs / 1000;
}

/** Returns the previous expiry while a `late-listing` fault hides a prolongation. */
export function shownEndS({ shownEarlier, endsAtS }: SoldProxy, nowMs: number): number {
  return shownEarlier && shownEarlier.untilMs > nowMs ? shownEarlier.endsAtS : endsAtS;
}

const MATCHES: Record<Dialect['descrFilter'], (descr: string, filter: string) => boolean> = {
  exact: (descr, filter) => descr === filter,
  prefix: (descr, filter) => descr.startsWith(filter),
  substring: (descr, filter) => descr.includes(filter),
  ignored: () => true,
};

/** @param records in ascending order of proxy ids */
export function listPage(
  records: Iterable<SaleRecord>,
  query: ListingQuery,
  dialect: Dialect,
  nowMs: number,
): SoldProxy[] {
  const { descr } = query;
  const limit = Math.min(query.limit, dialect.pageLimit);
  const isMatch = MATCHES[dialect.descrFilter];
  const isListed = (proxy: SoldProxy) =>
    isKnown(proxy, nowMs) &&
    (descr === null || isMatch(proxy.descr, descr)) &&
    IS_IN[query.state](shownEndS(proxy, nowMs) - nowMs / 1000);
  const toSkip = (query.page - 1) * limit;
  if (dialect.pageOrder === 'sorted') return [...listed(records, isListed, nowMs, toSkip, limit)];
  const all = [...listed(records, isListed, nowMs, 0, Number.POSITIVE_INFINITY)].sort(
    (a, b) => ownPlace(a.id) - ownPlace(b.id),
  );
  const first = dialect.pageOrder === 'moving' ? Math.floor(randomStart() * all.length) : 0;
  return [...all.slice(first), ...all.slice(0, first)].slice(toSkip, toSkip + limit);
}

function* listed(
  records: Iterable<SaleRecord>,
  isListed: (proxy: SoldProxy) => boolean,
  nowMs: number,
  skip: number,
  limit: number,
): Generator<SoldProxy> {
  let toSkip = skip;
  let toGive = limit;
  for (const record of records) {
    const { delivered, firstProxyId, hiddenUntilMs = 0 } = record.sale;
    if (delivered === 0 || hiddenUntilMs > nowMs) continue;
    if (record.isUniform && toSkip >= delivered) {
      if (isListed(record.getProxy(firstProxyId))) toSkip -= delivered;
      continue;
    }
    for (const proxy of record.proxies()) {
      if (!isListed(proxy)) continue;
      if (toSkip > 0) {
        toSkip -= 1;
        continue;
      }
      yield proxy;
      toGive -= 1;
      if (toGive === 0) return;
    }
  }
}

/** Gives proxies a fixed order that is unrelated to their ids. */
function ownPlace(id: number): number {
  return seededRandom(id)();
}
