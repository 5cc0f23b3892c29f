import type { ProviderState } from '../state/provider-state';
import type { ProlongationEvent, SaleEvent } from '../state/state-event';

/** Response of `GET /state`. */
export interface StateView {
  balanceKopecks: number;
  nowMs: number;
  sales: Array<SaleEvent & { proxyIds: number[] }>;
  prolongations: readonly ProlongationEvent[];
  goneProxyIds: number[];
}

export function viewOf(state: ProviderState): StateView {
  return {
    balanceKopecks: state.balanceKopecks,
    nowMs: state.nowMs(),
    sales: state.sales.map((sale) => ({
      ...sale,
      proxyIds: Array.from({ length: sale.delivered }, (_, offset) => sale.firstProxyId + offset),
    })),
    prolongations: state.prolongations,
    goneProxyIds: [...state.changedProxies()].flatMap(({ id, goneAtMs }) => (goneAtMs === null ? [] : [id])),
  };
}
