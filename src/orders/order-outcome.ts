import type { IpVersion, ProxyType } from '../common';
import type { Metrics } from '../metrics';
import type { OrderKind, OrderState } from './order-states';

/**
 * A delivered proxy as it was in the response, stored for idempotent replays. Times are ISO 8601. Login and
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
  /** The label at the time of a prolongation. Purchases have none. */
  readonly descr?: string | null;
}

/** The data of the response to the caller. Amounts are in roubles. */
export interface OrderOutcome {
  readonly id: number;
  readonly kind: OrderKind;
  readonly state: OrderState;
  /** A `FailureReason` when the order was canceled; a text for staff when it went to review. */
  readonly failure: string | null;
  readonly captured: string;
  /** For a prolongation. */
  readonly proxyId: number | null;
  readonly proxyType: ProxyType;
  readonly country: string;
  readonly version: IpVersion;
  /** `null` when the proxies must be read. */
  readonly response: readonly DeliveredProxy[] | null;
}

/** The columns of an {@link OrderOutcome}, except for `response`. */
export const OUTCOME_COLUMNS = `id, kind, state, failure, captured, proxy_id AS "proxyId",
              proxy_type AS "proxyType", country, version`;

/** The state of an order so far. */
export type OrderProgress = OrderOutcome & {
  /** How long a reserved order may go on waiting, in milliseconds. */
  readonly leftMs?: number | null;
  /** Whether its batch was refused, so that its call is the second one. */
  readonly resent?: boolean;
};

/** An order that was closed or went to review. */
export type EndedOrder = Pick<OrderOutcome, 'kind' | 'state'>;

/** Decisions of staff are counted before their transaction ends. */
export function countOutcomes(metrics: Metrics, orders: readonly EndedOrder[]): void {
  for (const { kind, state } of orders) metrics.count('orders_total', { kind, outcome: state });
}
