import { type Queryable, queryRows } from '../database';
import { type OrderKind, OrderNotFound, type OrderState } from '../orders';

/** An order as staff see it in lists, and as the log has it. Amounts are roubles. */
export interface OrderRow {
  readonly id: number;
  readonly user_id: number;
  readonly kind: OrderKind;
  readonly state: OrderState;
  readonly tag: string;
  readonly country: string;
  readonly version: string;
  readonly period: number;
  readonly count: number;
  readonly proxy_type: string;
  readonly proxy_id: number | null;
  readonly unit_price: string;
  readonly held: string;
  readonly captured: string;
  readonly released: string;
  readonly refunded: string;
  readonly provider_order_id: string | null;
  readonly failure: string | null;
  readonly request_id: string | null;
  readonly created_at: Date;
  readonly submitted_at: Date | null;
  readonly closed_at: Date | null;
  readonly group_id: number | null;
}

/** Of an OrderRow, from `orders`. */
export const ORDER_COLUMNS = `orders.id, orders.user_id, orders.kind, orders.state, orders.tag, orders.country, orders.version, orders.period,
  orders.count, orders.proxy_type, orders.proxy_id, orders.unit_price, orders.held, orders.captured, orders.released, orders.refunded,
  orders.provider_order_id, orders.failure, orders.request_id, orders.created_at, orders.submitted_at, orders.closed_at, orders.group_id`;

/** @throws OrderNotFound */
export async function findOrder(queryable: Queryable, id: number): Promise<OrderRow> {
  const [order] = await queryRows<OrderRow>(queryable, `SELECT ${ORDER_COLUMNS} FROM orders WHERE id = $1`, [
    id,
  ]);
  if (!order) throw new OrderNotFound();
  return order;
}
