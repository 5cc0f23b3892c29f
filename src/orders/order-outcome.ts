import type { IpVersion, ProxyType } from '../common';
import type { Metrics } from '../metrics';
import type { QueueStep } from './order-queue';
import type { OrderKind, OrderState } from './order-states';

/**
 * A delivered proxy as the response had it, kept for idempotent replays. Kept times are ISO 8601. Login and
 * password are removed after the replay window.
 */
export interface DeliveredProxy {
  readonly id: number;
  readonly host: string;
  readonly port: string;
  readonly login?: string;
  readonly password?: string;
  readonly date_start: string | Date | null;
  readonly date_end: string | Date | null;
  /** The label at the time of a prolongation. A purchase has none, nor has what earlier versions kept. */
  readonly descr?: string | null;
}

/** What the response to the caller is made of. Amounts are roubles. */
export interface OrderOutcome {
  readonly id: number;
  readonly kind: OrderKind;
  readonly state: OrderState;
  /** A `FailureReason` when the order was refunded; the reason for staff when it came to review. */
  readonly failure: string | null;
  readonly captured: string;
  /** Of a prolongation. */
  readonly proxyId: number | null;
  readonly proxyType: ProxyType;
  readonly country: string;
  readonly version: IpVersion;
  /** Null: the proxies are to be read. */
  readonly answer: readonly DeliveredProxy[] | null;
}

/** The columns of an {@link OrderOutcome}, apart from the answer. */
export const OUTCOME_COLUMNS = `id, kind, state, failure, captured, proxy_id AS "proxyId",
              proxy_type AS "proxyType", country, version`;

/** What has become of an order so far. */
export type OrderProgress = OrderOutcome & {
  /** Of a reserved order. */
  readonly step?: QueueStep | null;
};

/** An order that was closed, or left to staff. */
export type EndedOrder = Pick<OrderOutcome, 'kind' | 'state'>;

/** What staff decide is counted before their transaction ends. */
export function countOutcomes(metrics: Metrics, orders: readonly EndedOrder[]): void {
  for (const { kind, state } of orders) metrics.count('orders_total', { kind, outcome: state });
}
