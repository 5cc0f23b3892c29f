import { CATALOG, VERSIONS } from '../catalog/catalog';
import type { ProviderState } from './provider-state';
import type { SoldProxy } from './sale-record';
import type { StateEvent } from './state-event';

/** The shortest list of events that reproduces the state. It contains all sales and prolongations. */
export function* eventsOf(state: ProviderState): Generator<StateEvent> {
  if (state.account) yield { kind: 'account', ...state.account };
  if (state.ports) yield { kind: 'ports', ...state.ports };
  yield* state.sales;
  yield* state.prolongations;
  for (const proxy of state.changedProxies()) yield* changesOf(proxy);
  yield* endDatesOf(state);
  for (const version of VERSIONS) {
    for (const [country, available] of state.stock.get(version) ?? []) {
      yield { kind: 'stock', version, country, available };
    }
    const prices = state.prices.get(version) ?? new Map<number, number>();
    for (const periodDays of CATALOG.pricesOf(version).keys()) {
      if (!prices.has(periodDays)) yield { kind: 'price', version, periodDays, kopecks: null };
    }
    for (const [periodDays, kopecks] of prices) yield { kind: 'price', version, periodDays, kopecks };
  }
  yield { kind: 'clock', offsetMs: state.clockOffsetMs };
  // Last, because replaying sales changes the balance.
  yield { kind: 'balance', kopecks: state.balanceKopecks };
}

function* changesOf(proxy: SoldProxy): Generator<StateEvent> {
  const { id, sale, host, port } = proxy;
  if (proxy.descr !== sale.descr) yield { kind: 'described', ids: [id], descr: proxy.descr };
  if (proxy.type !== sale.type) yield { kind: 'retyped', ids: [id], type: proxy.type };
  if (host !== null || port !== null) yield { kind: 'moved', id, host, port };
  if (proxy.goneAtMs !== null) yield { kind: 'deleted', ids: [id], atMs: proxy.goneAtMs };
}

/** Only ends that were set through the control interface; the others follow from sales and prolongations. */
function* endDatesOf(state: ProviderState): Generator<StateEvent> {
  const prolongedTo = new Map<number, number>();
  for (const prolongation of state.prolongations) {
    for (const { id, toS } of prolongation.proxies) prolongedTo.set(id, toS);
  }
  for (const { id, sale, endsAtS } of state.changedProxies()) {
    if (endsAtS !== (prolongedTo.get(id) ?? sale.endsAtS)) yield { kind: 'dated', id, endsAtS };
  }
}
