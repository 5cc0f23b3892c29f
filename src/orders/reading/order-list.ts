import type { PageRequest } from '../../http';
import { bulkOrderKeySql } from '../bulk/bulk-records';
import { ORDER_KINDS, ORDER_STATES, type OrderKind, statesTold, type ToldState } from '../order-states';

/** Which of a customer's orders are listed. What is null counts as any. */
export interface OrderListFilter {
  readonly state: ToldState | null;
  readonly kind: OrderKind | null;
  /** When it was placed. */
  readonly from: Date | null;
  /** Not included. */
  readonly to: Date | null;
  /** The idempotency key of the request that placed it. */
  readonly key: string | null;
}

export const ORDER_SORTS = ['newest', 'oldest'] as const;
export type OrderSort = (typeof ORDER_SORTS)[number];

/** The columns of a `ListedOrder`. Both ids of proxies are text, as in all answers to customers. */
export const LISTED_COLUMNS = `id, kind, state, country, version, period, count, proxy_type AS "proxyType",
  proxy_id::text AS "proxyId", unit_price AS "unitPrice", max_price AS "maxPrice", held,
  captured, released, refunded,
  (captured / unit_price)::integer AS delivered, failure, idempotency_key AS "idempotencyKey",
  request_id AS "requestId", created_at AS "createdAt", closed_at AS "closedAt"`;

/**
 * The orders of one user get their ids one after the other, under the lock of the account, but are dated by
 * the moment at which their statement began. It cannot have waited longer than this for the lock.
 */
const LONGEST_WAIT = `interval '1 minute'`;

const GREATEST_ID = '9223372036854775807';

/**
 * The statement that finds a page of a user's orders, by their ids. Orders of one user become visible in the
 * order of their ids, so that no page skips one or repeats one while others are placed.
 *
 * Every state and kind is read by itself, as far as the page goes: whatever is filtered for, a page costs
 * some look-ups in an index and its own orders.
 */
export function toListStatement(
  userId: number,
  { state, kind, from, to, key }: OrderListFilter,
  { cursor, limit }: PageRequest,
  sort: OrderSort,
): { readonly statement: string; readonly parameters: readonly unknown[] } {
  const parameters: unknown[] = [];
  const given = (value: unknown): string => `$${parameters.push(value)}`;
  const user = given(userId);
  const [beyond, direction, start] = sort === 'newest' ? ['<', 'DESC', GREATEST_ID] : ['>', 'ASC', 0];
  const bounds = [`id ${beyond} ${given(cursor ?? start)}::bigint`];
  const idOf = (conditions: string): string =>
    `(SELECT id FROM orders WHERE user_id = ${user} AND ${conditions} LIMIT 1)`;
  if (from) {
    const time = `${given(from)}::timestamptz`;
    const before = idOf(`created_at < ${time} - ${LONGEST_WAIT} ORDER BY created_at DESC, id DESC`);
    bounds.push(`created_at >= ${time}`, `id > coalesce(${before}, 0)`);
  }
  if (to) {
    const time = `${given(to)}::timestamptz`;
    const after = idOf(`created_at >= ${time} + ${LONGEST_WAIT} ORDER BY created_at, id`);
    bounds.push(`created_at < ${time}`, `id < coalesce(${after}, ${GREATEST_ID})`);
  }
  const pageEnd = `ORDER BY id ${direction} LIMIT ${given(limit)}`;
  const kinds = `${given(kind ? [kind] : ORDER_KINDS)}::text[]`;

  function ofStates(): string {
    const states = `${given(state ? statesTold(state) : ORDER_STATES)}::text[]`;
    return `SELECT listed.id
      FROM unnest(${states}) AS of_state, unnest(${kinds}) AS of_kind,
           LATERAL (SELECT id FROM orders
                     WHERE user_id = ${user} AND state = of_state AND kind = of_kind
                       AND ${bounds.join(' AND ')}
                     ${pageEnd}) AS listed`;
  }

  /**
   * One order at most has a key and is not refunded; any number of refunded orders may have it. The orders of
   * a bulk have its key in theirs.
   */
  function ofKey(text: string): string {
    // Of values that it does not know, the planner assumes that few orders have them.
    const sought = `(SELECT ${given(text)}::text)`;
    const keysOfBulk = `SELECT ${bulkOrderKeySql('bulk', 'proxy_id')}
      FROM bulk_prolongations bulk, unnest(proxy_ids) AS proxy_id
     WHERE user_id = ${user} AND idempotency_key = ${sought}`;
    const wanted = `user_id = ${user} AND kind = ANY (${kinds}) AND ${bounds.join(' AND ')}`;
    const states = state ? statesTold(state) : ORDER_STATES;
    const others = states.filter((one) => one !== 'refunded').map((one) => `'${one}'`);
    const parts = [
      ...(others.length > 0 ? [`state <> 'refunded' AND state IN (${others.join(', ')})`] : []),
      ...(states.includes('refunded') ? [`state = 'refunded'`] : []),
    ];
    return parts
      .flatMap((part) => [
        `idempotency_key = ${sought} AND ${part}`,
        `idempotency_key = ANY (ARRAY(${keysOfBulk})) AND ${part}`,
      ])
      .map((part) => `(SELECT id FROM orders WHERE ${wanted} AND ${part} ${pageEnd})`)
      .join(' UNION ALL ');
  }

  const found = key === null ? ofStates() : ofKey(key);
  const statement = `SELECT ${LISTED_COLUMNS} FROM orders
    WHERE id = ANY (ARRAY(SELECT id FROM (${found}) AS found ${pageEnd})) ORDER BY id ${direction}`;
  return { statement, parameters };
}
