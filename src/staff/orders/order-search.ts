import type { OrderKind, OrderState } from '../../orders';
import { usernameOf } from '../links';
import type { PageRequest } from '../paging';

/** What is null or left out counts as any. */
export interface OrderFilter {
  readonly userId?: number | null | undefined;
  readonly state?: OrderState | null | undefined;
  readonly kind?: OrderKind | null | undefined;
  readonly from?: Date | null | undefined;
  /** Not included. */
  readonly to?: Date | null | undefined;
  /** The tag of the order, or the one under which its batch was sent. */
  readonly tag?: string | null | undefined;
  readonly providerOrderId?: string | null | undefined;
  /** Of a proxy that the order delivered or prolonged. */
  readonly providerProxyId?: string | null | undefined;
  /** Of a proxy that the order delivered or prolonged. */
  readonly host?: string | null | undefined;
  readonly requestId?: string | null | undefined;
}

/** The columns of an OrderRecord. */
export const ORDER_COLUMNS = `orders.id, orders.user_id, ${usernameOf('orders.user_id')} AS username,
  orders.kind, orders.state, orders.tag,
  orders.country, orders.version, orders.period, orders.count, orders.proxy_type, orders.proxy_id,
  orders.unit_price, orders.held, orders.captured, orders.released, orders.refunded,
  orders.provider_order_id, orders.failure, orders.request_id, orders.created_at, orders.submitted_at,
  orders.closed_at, orders.group_id`;

/** The statement that finds a page of orders, newest first. @param provider whose ids of proxies are meant */
export function toSearchStatement(
  filter: OrderFilter,
  { cursor, limit }: PageRequest,
  provider: string,
): { readonly statement: string; readonly parameters: readonly unknown[] } {
  const { userId, state, kind, from, to, tag, providerOrderId, providerProxyId, host, requestId } = filter;
  const parameters: unknown[] = [];
  const given = (value: unknown): string => `$${parameters.push(value)}`;
  const conditions: string[] = [];
  if (userId) conditions.push(`orders.user_id = ${given(userId)}`);
  // State and kind stand in the text: the planner sees that partial indexes apply.
  if (state) conditions.push(`orders.state = '${state}'`);
  if (kind) {
    const proxyId = kind === 'purchase' ? 'NULL' : 'NOT NULL';
    conditions.push(`orders.kind = '${kind}' AND orders.proxy_id IS ${proxyId}`);
  }
  if (from) conditions.push(`orders.created_at >= ${given(from)}`);
  if (to) conditions.push(`orders.created_at < ${given(to)}`);
  // An array makes PostgreSQL look up first what few orders have, and not read all orders by their time.
  const among = (ids: string): void => void conditions.push(`orders.id = ANY (ARRAY(${ids}))`);
  const amongThoseOf = (proxy: string): void =>
    among(
      `SELECT order_id FROM proxies WHERE ${proxy}
       UNION SELECT prolongation.id
               FROM proxies JOIN orders prolongation ON prolongation.proxy_id = proxies.id
              WHERE ${proxy}`,
    );
  if (tag) {
    const text = given(tag);
    among(
      `SELECT id FROM orders WHERE tag = ${text}
       UNION SELECT member.id FROM orders leader JOIN orders member ON member.group_id = leader.id
              WHERE leader.tag = ${text}`,
    );
  }
  if (providerOrderId) among(`SELECT id FROM orders WHERE provider_order_id = ${given(providerOrderId)}`);
  if (requestId) among(`SELECT id FROM orders WHERE request_id = ${given(requestId)}`);
  if (providerProxyId) {
    amongThoseOf(
      `proxies.provider = ${given(provider)} AND proxies.provider_proxy_id = ${given(providerProxyId)}`,
    );
  }
  if (host) amongThoseOf(`proxies.host = ${given(host)}`);
  if (cursor !== null) {
    const last = given(cursor);
    conditions.push(
      `(orders.created_at, orders.id) < ((SELECT created_at FROM orders WHERE id = ${last}), ${last})`,
    );
  }
  const statement = `SELECT ${ORDER_COLUMNS} FROM orders
    ${conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''}
    ORDER BY orders.created_at DESC, orders.id DESC
    LIMIT ${given(limit)}`;
  return { statement, parameters };
}
