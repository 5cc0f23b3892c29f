import type { IpVersion, ProxyType } from '../common';
import type { Metrics } from '../metrics';
import type { OrderKind, OrderState } from './order-states';

/** Stored for idempotent replays. Login and password are removed after the replay window. */
export interface DeliveredProxy {
  readonly id: number;
  readonly host: string;
  readonly port: string;
  readonly login?: string;
  readonly password?: string;
  readonly date_start: string | Date | null;
  readonly date_end: string | Date | null;
  /** Label at the time of the prolongation; purchases store none. */
  readonly label?: string | null;
}

export interface OrderOutcome {
  readonly id: number;
  readonly kind: OrderKind;
  readonly state: OrderState;
  /** `OrderFailure` of a canceled order; for an order in review, a message for staff. */
  readonly failure: string | null;
  readonly captured: string;
  readonly proxyId: number | null;
  readonly proxyType: ProxyType;
  readonly country: string;
  readonly version: IpVersion;
  /** `null` if not loaded. */
  readonly deliveredProxies: readonly DeliveredProxy[] | null;
}

export const OUTCOME_COLUMNS = `id, kind, state, failure, captured, proxy_id AS "proxyId",
              proxy_type AS "proxyType", country, version`;

export const WHOLE_OUTCOME_COLUMNS = `${OUTCOME_COLUMNS}, delivered_proxies AS "deliveredProxies"`;

export type OrderProgress = OrderOutcome & {
  /** How much longer a reserved order may wait in the queue. */
  readonly leftMs?: number | null;
  /** Whether the order's first call was refused. */
  readonly resent?: boolean;
  /**
   * True during the first search for an order that was not sent, because an earlier, canceled order may
   * already have prolonged the proxy.
   */
  readonly isInFirstSearch?: boolean;
};

/** An order that was closed or sent to review. */
export type EndedOrder = Pick<OrderOutcome, 'kind' | 'state'>;

export function countOutcomes(metrics: Metrics, orders: readonly EndedOrder[]): void {
  for (const { kind, state } of orders) metrics.count('orders_total', { kind, outcome: state });
}
