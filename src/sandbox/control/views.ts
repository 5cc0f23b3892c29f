import type { ProviderState } from '../state/provider-state';
import type { ProlongationEvent, SaleEvent } from '../state/state-event';

/** A sale. Amounts are in kopecks; the suffixes of times name their units. */
export type SaleView = Omit<
  SaleEvent,
  'kind' | 'delivered' | 'firstProxyId' | 'endsAtS' | 'hiddenUntilMs'
> & {
  proxyIds: number[];
};

export type ProlongationView = Omit<ProlongationEvent, 'kind' | 'hiddenUntilMs'>;

export interface StateView {
  balanceKopecks: number;
  nowMs: number;
  sales: SaleView[];
  prolongations: ProlongationView[];
  /** Deleted by the client or withdrawn through the control interface. */
  goneProxyIds: number[];
}

/** The response of `GET /state`. */
export function viewOf(state: ProviderState): StateView {
  return {
    balanceKopecks: state.balanceKopecks,
    nowMs: state.nowMs(),
    sales: state.sales.map(
      ({ kind: _kind, delivered, firstProxyId, endsAtS: _end, hiddenUntilMs: _until, ...sale }) => ({
        ...sale,
        proxyIds: Array.from({ length: delivered }, (_, offset) => firstProxyId + offset),
      }),
    ),
    prolongations: state.prolongations.map(
      ({ kind: _kind, hiddenUntilMs: _until, ...prolongation }) => prolongation,
    ),
    goneProxyIds: [...state.changedProxies()].flatMap(({ id, goneAtMs }) => (goneAtMs === null ? [] : [id])),
  };
}
