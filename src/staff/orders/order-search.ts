import { Conditions } from '../../database';
import { type PageRequest } from '../../http';
import { usernameOf } from '../links';
import type { OrdersQuery } from './staff-orders.dto';

/** The columns of an OrderRecord. */
export const ORDER_COLUMNS = `orders.id, orders.user_id, ${usernameOf('orders.user_id')} AS username,
  orders.kind, orders.state, orders.tag,
  orders.country, orders.version, orders.period, orders.count, orders.proxy_type, orders.proxy_id,
  orders.unit_price, orders.held, orders.captured, orders.released, orders.refunded,
  orders.provider_order_id, orders.failure, orders.request_id, orders.created_at, orders.submitted_at,
  orders.closed_at, orders.batch_id`;

/** How many proxies of one host are read for a page; with those of the last order, somewhat more. */
const PROXIES_OF_HOST_AT_ONCE = 2000;

/** The orders of a host with very many proxies that are read for a page. */
export interface HostPart {
  /** The lowest id of an order that delivered one of these proxies; `null` for the last part. */
  readonly lowest: number | null;
}

interface Statement {
  readonly statement: string;
  readonly parameters: readonly unknown[];
}

/** The order that delivered the proxy that an order prolonged; a purchase is its own delivery. */
const deliveryOf = (proxyId: string, id: string): string =>
  `coalesce((SELECT order_id FROM proxies WHERE proxies.id = ${proxyId}), ${id})`;

/**
 * The statement that finds `is_common`, whether the host has so many proxies that its orders are read in
 * parts, and `lowest` of the part after the cursor. It reads only an index.
 */
export function toHostPartStatement(host: string, cursor: number | null): Statement {
  const nth = (bound: string): string =>
    `(SELECT order_id FROM proxies WHERE host = $1 ${bound}
       ORDER BY order_id DESC OFFSET ${PROXIES_OF_HOST_AT_ONCE - 1} LIMIT 1)`;
  return {
    statement: `SELECT ${nth('')} IS NOT NULL AS is_common,
                       ${nth(`AND ($2::bigint IS NULL OR order_id <= ${firstDelivery('$2')})`)} AS lowest`,
    parameters: [host, cursor],
  };
}

/** The delivery at which a part begins: the one of the prolongation in the cursor, or before a purchase. */
const firstDelivery = (cursor: string): string =>
  `(SELECT ${deliveryOf('orders.proxy_id', 'orders.id - 1')} FROM orders WHERE orders.id = ${cursor})`;

/**
 * The statement that finds a page of orders, newest first. With a part of a host, they are sorted by the
 * deliveries of the proxies, newest first: the prolongations of what an order delivered, and then that order.
 *
 * @param provider the provider of `providerProxyId`
 */
export function toSearchStatement(
  query: OrdersQuery,
  { cursor, limit }: PageRequest,
  provider: string,
  part: HostPart | null,
): Statement {
  const { user_id: userId, state, kind, from, to, tag, host, request_id: requestId } = query;
  const { provider_order_id: providerOrderId, provider_proxy_id: providerProxyId } = query;
  const conditions = new Conditions();
  const given = (value: unknown): string => conditions.given(value);
  conditions.by(userId, (id) => `orders.user_id = ${id}`);
  // State and kind are literals, so that the planner sees that partial indexes apply.
  if (state) conditions.add(`orders.state = '${state}'`);
  if (kind) {
    const proxyId = kind === 'purchase' ? 'NULL' : 'NOT NULL';
    conditions.add(`orders.kind = '${kind}' AND orders.proxy_id IS ${proxyId}`);
  }
  conditions.by(from, (moment) => `orders.created_at >= ${moment}`);
  conditions.by(to, (moment) => `orders.created_at < ${moment}`);
  // With an array, PostgreSQL first looks up the rare value instead of reading all orders by time.
  const among = (ids: string): void => conditions.add(`orders.id = ANY (ARRAY(${ids}))`);
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
       UNION SELECT member.id FROM orders leader JOIN orders member ON member.batch_id = leader.id
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
  const last = cursor === null ? null : given(cursor);
  if (host) {
    const bounds = [
      ...(part && last !== null ? [`proxies.order_id <= ${firstDelivery(last)}`] : []),
      ...(part && part.lowest !== null ? [`proxies.order_id >= ${given(part.lowest)}`] : []),
    ];
    amongThoseOf([`proxies.host = ${given(host)}`, ...bounds].join(' AND '));
  }
  const place = part ? deliveryOf('orders.proxy_id', 'orders.id') : 'orders.created_at';
  if (last !== null) {
    conditions.add(`(${place}, orders.id) < ((SELECT ${place} FROM orders WHERE id = ${last}), ${last})`);
  }
  const statement = `SELECT ${ORDER_COLUMNS} FROM orders
    ${conditions.toSql()}
    ORDER BY ${place} DESC, orders.id DESC
    LIMIT ${given(limit)}`;
  return { statement, parameters: conditions.parameters };
}
