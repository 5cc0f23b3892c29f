import { CATALOG, VERSIONS } from '../catalog/catalog';
import type { Book } from './book';
import type { BookEvent } from './book-event';
import type { SoldProxy } from './sold-batch';

/** The shortest list of events that gives the same book. Sales and prolongations stay: they are its point. */
export function* eventsOf(book: Book): Generator<BookEvent> {
  if (book.account) yield { kind: 'account', ...book.account };
  if (book.ports) yield { kind: 'ports', ...book.ports };
  yield* book.sales;
  yield* book.prolongations;
  for (const proxy of book.changedProxies()) yield* changesOf(proxy);
  yield* endDatesOf(book);
  for (const version of VERSIONS) {
    for (const [country, available] of book.stock.get(version) ?? []) {
      yield { kind: 'stock', version, country, available };
    }
    const prices = book.prices.get(version) ?? new Map<number, number>();
    for (const periodDays of CATALOG.pricesOf(version).keys()) {
      if (!prices.has(periodDays)) yield { kind: 'price', version, periodDays, kopecks: null };
    }
    for (const [periodDays, kopecks] of prices) yield { kind: 'price', version, periodDays, kopecks };
  }
  yield { kind: 'clock', offsetMs: book.clockOffsetMs };
  // Last, because replaying the sales changes it.
  yield { kind: 'balance', kopecks: book.balanceKopecks };
}

function* changesOf(proxy: SoldProxy): Generator<BookEvent> {
  const { id, sale, host, port } = proxy;
  if (proxy.descr !== sale.descr) yield { kind: 'described', ids: [id], descr: proxy.descr };
  if (proxy.type !== sale.type) yield { kind: 'retyped', ids: [id], type: proxy.type };
  if (host !== null || port !== null) yield { kind: 'moved', id, host, port };
  if (proxy.goneAtMs !== null) yield { kind: 'deleted', ids: [id], atMs: proxy.goneAtMs };
}

/** Only the dates that were moved by hand; the others follow from sales and prolongations. */
function* endDatesOf(book: Book): Generator<BookEvent> {
  const prolongedTo = new Map<number, number>();
  for (const prolongation of book.prolongations) {
    for (const { id, toS } of prolongation.proxies) prolongedTo.set(id, toS);
  }
  for (const { id, sale, endsAtS } of book.changedProxies()) {
    if (endsAtS !== (prolongedTo.get(id) ?? sale.endsAtS)) yield { kind: 'dated', id, endsAtS };
  }
}
