import { Conditions } from '../../database';
import type { PageRequest } from '../../http';
import { bulkOrderKeySql } from '../order-keys';
import { ORDER_KINDS, ORDER_STATES, statesShownAs } from '../order-states';
import type { OrdersQuery } from './dto/orders.query';

/** Proxy ids are strings, as in all responses to customers. */
export const LISTED_COLUMNS = `id, kind, state, country, version, period, count, proxy_type,
  proxy_id::text AS proxy_id, (captured / unit_price)::integer AS delivered, unit_price, hold_amount AS price,
  max_price, CASE WHEN closed_at IS NULL THEN hold_amount ELSE 0.00 END AS held, captured AS charged,
  released,
  refunded, 'RUB' AS currency, failure, idempotency_key, request_id, created_at, closed_at`;

/** Maximum wait for an account's lock. An order gets its `created_at` before the wait, its id after it. */
const LONGEST_WAIT = `interval '1 minute'`;

const GREATEST_ID = '9223372036854775807';

/**
 * A user's orders become visible in id order, so pages neither skip nor duplicate orders while others are
 * placed. Each state and kind is read separately, so that any filter needs only a few index look-ups.
 */
export function toListStatement(
  userId: number,
  { state, kind, from, to, key, sort }: Omit<OrdersQuery, keyof PageRequest>,
  { cursor, limit }: PageRequest,
): { readonly statement: string; readonly parameters: readonly unknown[] } {
  const values = new Conditions();
  const given = (value: unknown): string => values.given(value);
  const user = given(userId);
  const direction = sort === 'newest' ? 'DESC' : 'ASC';
  // Exclusive bounds of the ids to list.
  const lowerBounds = [sort === 'oldest' && cursor !== null ? `${given(cursor)}::bigint` : '0'];
  const upperBounds = [sort === 'newest' && cursor !== null ? `${given(cursor)}::bigint` : GREATEST_ID];
  const placed: string[] = [];
  if (from) {
    const time = `${given(from)}::timestamptz`;
    placed.push(`created_at >= ${time}`);
    lowerBounds.push(`(SELECT id FROM orders
      WHERE (user_id, created_at) < (${user}, ${time} - ${LONGEST_WAIT}) AND user_id >= ${user}
      ORDER BY user_id DESC, created_at DESC, id DESC LIMIT 1)`);
  }
  if (to) {
    const time = `${given(to)}::timestamptz`;
    placed.push(`created_at < ${time}`);
    upperBounds.push(`(SELECT id FROM orders
      WHERE (user_id, created_at) >= (${user}, ${time} + ${LONGEST_WAIT}) AND user_id <= ${user}
      ORDER BY user_id, created_at, id LIMIT 1)`);
  }
  // `greatest` and `least` ignore a null bound.
  const lower = `greatest(${lowerBounds.join(', ')})`;
  const upper = `least(${upperBounds.join(', ')})`;
  const order = `ORDER BY id ${direction}`;
  const pageEnd = `LIMIT ${given(limit)}`;
  const kinds = `${given(kind ? [kind] : ORDER_KINDS)}::text[]`;

  /** Compares whole rows, as the index does. With `user_id = …`, the planner might read all users' orders. */
  function ofStates(): string {
    const states = `${given(state ? statesShownAs(state) : ORDER_STATES)}::text[]`;
    const columns = ['user_id', 'state', 'kind', 'id'];
    const row = columns.join(', ');
    const rowOf = (id: string): string => `(${user}, of_state, of_kind, ${id})`;
    const wanted = [`(${row}) > ${rowOf(lower)}`, `(${row}) < ${rowOf(upper)}`, ...placed].join(' AND ');
    const rowOrder = columns.map((column) => `${column} ${direction}`).join(', ');
    return `SELECT listed.id
      FROM unnest(${states}) AS of_state, unnest(${kinds}) AS of_kind,
           LATERAL (SELECT id FROM orders WHERE ${wanted} ORDER BY ${rowOrder} ${pageEnd}) AS listed`;
  }

  /** A key has at most one uncanceled order. Orders of a bulk request have keys derived from its key. */
  function ofKey(text: string): string {
    // A subquery hides the value from the planner, which then assumes that few orders match.
    const sought = `(SELECT ${given(text)}::text)`;
    const keysOfBulk = `SELECT ${bulkOrderKeySql('bulk', 'proxy_id')}
      FROM bulk_prolongations bulk, unnest(proxy_ids) AS proxy_id
     WHERE user_id = ${user} AND idempotency_key = ${sought}`;
    const bounds = [`id > ${lower}`, `id < ${upper}`, ...placed].join(' AND ');
    const wanted = `user_id = ${user} AND kind = ANY (${kinds}) AND ${bounds}`;
    const states = state ? statesShownAs(state) : ORDER_STATES;
    const others = states.filter((one) => one !== 'canceled').map((one) => `'${one}'`);
    const parts = [
      ...(others.length > 0 ? [`state <> 'canceled' AND state IN (${others.join(', ')})`] : []),
      ...(states.includes('canceled') ? [`state = 'canceled'`] : []),
    ];
    return parts
      .flatMap((part) => [
        `idempotency_key = ${sought} AND ${part}`,
        `idempotency_key = ANY (ARRAY(${keysOfBulk})) AND ${part}`,
      ])
      .map((part) => `(SELECT id FROM orders WHERE ${wanted} AND ${part} ${order} ${pageEnd})`)
      .join(' UNION ALL ');
  }

  const found = key === null ? ofStates() : ofKey(key);
  const statement = `SELECT ${LISTED_COLUMNS} FROM orders
    WHERE id = ANY (ARRAY(SELECT id FROM (${found}) AS found ${order} ${pageEnd})) ${order}`;
  return { statement, parameters: values.parameters };
}
