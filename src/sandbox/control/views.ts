import type { Book } from '../book/book';
import type { ProxyType } from '../book/book-event';
import type { Version } from '../catalog/catalog';

/** What was sold, when, and for how much. Amounts are in kopecks, times in milliseconds or seconds as named. */
export interface SaleView {
  orderId: number;
  atMs: number;
  descr: string;
  country: string;
  version: Version;
  type: ProxyType;
  periodDays: number;
  count: number;
  priceKopecks: number;
  proxyIds: number[];
}

export interface ProlongationView {
  orderId: number;
  atMs: number;
  periodDays: number;
  priceKopecks: number;
  proxies: ReadonlyArray<{ id: number; fromS: number; toS: number; priceKopecks: number }>;
}

export interface BookView {
  balanceKopecks: number;
  nowMs: number;
  sales: SaleView[];
  prolongations: ProlongationView[];
  /** Deleted by the client or withdrawn through the control interface. */
  goneProxyIds: number[];
}

/** The JSON of a {@link BookView} in pieces, so that a million proxies need no single string. */
export function* bookJson(book: Book, nowMs: number): Generator<string> {
  yield `{"balanceKopecks":${book.balanceKopecks},"nowMs":${nowMs},"sales":[`;
  yield* separated(book.sales, ({ delivered, firstProxyId, orderId, ...sale }) => {
    const { atMs, descr, country, version, type, periodDays, count, priceKopecks } = sale;
    const proxyIds = Array.from({ length: delivered }, (_, offset) => firstProxyId + offset);
    const view: SaleView = {
      orderId,
      atMs,
      descr,
      country,
      version,
      type,
      periodDays,
      count,
      priceKopecks,
      proxyIds,
    };
    return view;
  });
  yield '],"prolongations":[';
  yield* separated(book.prolongations, ({ orderId, atMs, periodDays, priceKopecks, proxies }) => {
    const view: ProlongationView = { orderId, atMs, periodDays, priceKopecks, proxies };
    return view;
  });
  yield `],"goneProxyIds":${JSON.stringify(goneIds(book))}}`;
}

function goneIds(book: Book): number[] {
  const ids: number[] = [];
  for (const { id, goneAtMs } of book.changedProxies()) if (goneAtMs !== null) ids.push(id);
  return ids;
}

function* separated<T>(items: readonly T[], view: (item: T) => unknown): Generator<string> {
  for (const [index, item] of items.entries()) yield `${index === 0 ? '' : ','}${JSON.stringify(view(item))}`;
}
