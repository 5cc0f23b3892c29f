import type { Metrics } from '../../metrics';
import type { OrderKind, OrderState } from '../order-states';

/** What {@link OrderOutcome} is made of, apart from the answer. */
export const OUTCOME_COLUMNS = `id, kind, state, failure, captured, proxy_id AS "proxyId",
              proxy_type AS "proxyType", country, version`;

/** An order that was closed, or left to staff. */
export interface EndedOrder {
  readonly kind: OrderKind;
  readonly state: OrderState;
}

/** What staff decide is counted before their transaction ends. */
export function countOutcomes(metrics: Metrics, orders: readonly EndedOrder[]): void {
  for (const { kind, state } of orders) metrics.count('orders_total', { kind, outcome: state });
}
