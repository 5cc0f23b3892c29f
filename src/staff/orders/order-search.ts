import { withoutSecretWords } from '../../common';
import { Conditions, type Queryable, queryRow, queryRows } from '../../database';
import { type PageRequest } from '../../http';
import { usernameSql } from '../links';
import type { OrderRecord, StaffOrdersQuery } from './staff-orders.dto';

export const ORDER_COLUMNS = `orders.id, orders.user_id, ${usernameSql('orders.user_id')} AS username,
  orders.kind, orders.state, orders.order_reference,
  orders.country, orders.version, orders.period, orders.count, orders.proxy_type, orders.proxy_id,
  orders.unit_price, orders.hold_amount, orders.captured, orders.released, orders.refunded,
  orders.provider_order_id, orders.failure, orders.request_id, orders.created_at, orders.submitted_at,
  orders.closed_at, orders.batch_id`;

/** Maximum number of a host's proxies per page. The page's last order may add further proxies. */
const PROXIES_OF_HOST_AT_ONCE = 2000;

/** Orders on one page of a search for a host that has many proxies. */
export interface HostOrderRange {
  /** Lowest id of an order that delivered one of the page's proxies; null on the last page. */
  readonly lowest: number | null;
}

/**
 * Returns SQL for the id of an order's delivering order: for a prolongation, the order that delivered the
 * proxy; for a purchase, the purchase itself.
 */
const deliveryOf = (proxyId: string, id: string): string =>
  `coalesce((SELECT order_id FROM proxies WHERE proxies.id = ${proxyId}), ${id})`;

/** @returns null if the host has so few proxies that one query can read all their orders */
export async function findHostOrderRange(
  queryable: Queryable,
  host: string,
  cursor: number | null,
): Promise<HostOrderRange | null> {
  const nth = (bound: string): string =>
    `(SELECT order_id FROM proxies WHERE host = $1 ${bound}
       ORDER BY order_id DESC OFFSET ${PROXIES_OF_HOST_AT_ONCE - 1} LIMIT 1)`;
  const { isCommon, lowest } = await queryRow<HostOrderRange & { isCommon: boolean }>(
    queryable,
    `SELECT ${nth('')} IS NOT NULL AS "isCommon",
            ${nth(`AND ($2::bigint IS NULL OR order_id <= ${firstDelivery('$2')})`)} AS lowest`,
    [host, cursor],
  );
  return isCommon ? { lowest } : null;
}

/**
 * Returns SQL for the upper bound on the ids of purchases on the next page. A purchase is listed after the
 * prolongations of the proxies that it delivered.
 */
const firstDelivery = (cursor: string): string =>
  `(SELECT ${deliveryOf('orders.proxy_id', 'orders.id - 1')} FROM orders WHERE orders.id = ${cursor})`;

/** With `range`, orders are sorted by the id of their delivering order. Prolongations precede that order. */
export function searchOrders(
  queryable: Queryable,
  query: StaffOrdersQuery,
  { cursor, limit }: PageRequest,
  provider: string,
  range: HostOrderRange | null,
): Promise<OrderRecord[]> {
  const { user_id: userId, state, kind, from, to, order_reference, host, request_id: requestId } = query;
  const { provider_order_id: providerOrderId, provider_proxy_id: providerProxyId } = query;
  const conditions = new Conditions();
  const given = (value: unknown): string => conditions.given(value);
  conditions.by(userId, (id) => `orders.user_id = ${id}`);
  // Literals let the planner use partial indexes.
  if (state) conditions.add(`orders.state = '${state}'`);
  if (kind) {
    const proxyId = kind === 'purchase' ? 'NULL' : 'NOT NULL';
    conditions.add(`orders.kind = '${kind}' AND orders.proxy_id IS ${proxyId}`);
  }
  conditions.by(from, (moment) => `orders.created_at >= ${moment}`);
  conditions.by(to, (moment) => `orders.created_at < ${moment}`);
  // The array makes PostgreSQL look up the rare value first. Otherwise, it might read all orders by time.
  const among = (ids: string): void => conditions.add(`orders.id = ANY (ARRAY(${ids}))`);
  const amongThoseOf = (proxy: string): void =>
    among(
      `SELECT order_id FROM proxies WHERE ${proxy}
       UNION SELECT prolongation.id
               FROM proxies JOIN orders prolongation ON prolongation.proxy_id = proxies.id
              WHERE ${proxy}`,
    );
  if (order_reference) {
    const text = given(order_reference);
    among(
      `SELECT id FROM orders WHERE order_reference = ${text}
       UNION SELECT member.id FROM orders leader JOIN orders member ON member.batch_id = leader.id
              WHERE leader.order_reference = ${text}`,
    );
  }
  if (providerOrderId) among(`SELECT id FROM orders WHERE provider_order_id = ${given(providerOrderId)}`);
  if (requestId) among(`SELECT id FROM orders WHERE request_id = ${given(withoutSecretWords(requestId))}`);
  if (providerProxyId) {
    amongThoseOf(
      `proxies.provider = ${given(provider)} AND proxies.provider_proxy_id = ${given(providerProxyId)}`,
    );
  }
  const last = cursor === null ? null : given(cursor);
  if (host) {
    const bounds = [
      ...(range && last !== null ? [`proxies.order_id <= ${firstDelivery(last)}`] : []),
      ...(range && range.lowest !== null ? [`proxies.order_id >= ${given(range.lowest)}`] : []),
    ];
    amongThoseOf([`proxies.host = ${given(host)}`, ...bounds].join(' AND '));
  }
  const sortKey = range ? deliveryOf('orders.proxy_id', 'orders.id') : 'orders.created_at';
  if (last !== null) {
    conditions.add(`(${sortKey}, orders.id) < ((SELECT ${sortKey} FROM orders WHERE id = ${last}), ${last})`);
  }
  return queryRows(
    queryable,
    `SELECT ${ORDER_COLUMNS} FROM orders ${conditions.toSql()}
      ORDER BY ${sortKey} DESC, orders.id DESC LIMIT ${given(limit)}`,
    conditions.parameters,
  );
}
