import type { Version } from '../catalog/catalog';
import type { ProviderState } from '../state/provider-state';
import type { ProxyType } from '../state/state-event';

/** A sale. Amounts are in kopecks; the suffixes of times name their units. */
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

export interface StateView {
  balanceKopecks: number;
  nowMs: number;
  sales: SaleView[];
  prolongations: ProlongationView[];
  /** Deleted by the client or withdrawn through the control interface. */
  goneProxyIds: number[];
}

/** The JSON of a {@link StateView} in pieces, because a million proxies exceed the length of a string. */
export function* stateJson(state: ProviderState, nowMs: number): Generator<string> {
  yield `{"balanceKopecks":${state.balanceKopecks},"nowMs":${nowMs},"sales":[`;
  yield* separated(state.sales, ({ delivered, firstProxyId, orderId, ...sale }) => {
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
  yield* separated(state.prolongations, ({ orderId, atMs, periodDays, priceKopecks, proxies }) => {
    const view: ProlongationView = { orderId, atMs, periodDays, priceKopecks, proxies };
    return view;
  });
  yield `],"goneProxyIds":${JSON.stringify(goneIds(state))}}`;
}

function goneIds(state: ProviderState): number[] {
  const ids: number[] = [];
  for (const { id, goneAtMs } of state.changedProxies()) if (goneAtMs !== null) ids.push(id);
  return ids;
}

function* separated<T>(items: readonly T[], view: (item: T) => unknown): Generator<string> {
  for (const [index, item] of items.entries()) yield `${index === 0 ? '' : ','}${JSON.stringify(view(item))}`;
}
