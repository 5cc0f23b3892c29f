import { sqlList } from '../database';
import { OPEN_STATES } from '../orders';

/** `day` covers what has changed since the beginning of yesterday (UTC). */
export type AuditScope = 'day' | 'all';

const YESTERDAY = `(date_trunc('day', now() AT TIME ZONE 'UTC') - interval '1 day') AT TIME ZONE 'UTC'`;

/** SQL for the time since which all events are kept, plus an hour to allow for clock differences. */
const EVENTS_SINCE = `
  SELECT greatest(events_began_at, CASE WHEN EXISTS (SELECT FROM retention_marks WHERE name = 'events')
           THEN coalesce((SELECT min(at) FROM events) + interval '1 hour', now()) END) AS since
    FROM installation`;

const ERASED_USERS = 'SELECT id FROM users WHERE deleted_at IS NOT NULL';

const ALL = {
  audited_orders: 'SELECT * FROM orders',
  entries_of_orders: 'SELECT * FROM ledger_entries WHERE order_id IS NOT NULL',
  proxies_of_orders: 'SELECT * FROM proxies',
  audited_bulks: 'SELECT * FROM bulk_prolongations',
  audited_renewals: 'SELECT * FROM renewals',
  audited_entries: 'SELECT * FROM ledger_entries',
  audited_accounts: 'SELECT * FROM accounts',
  counted_orders: 'SELECT * FROM orders',
  audited_counters: 'SELECT * FROM token_spending',
  sold_orders: 'SELECT * FROM orders WHERE captured > 0',
  refund_entries: `SELECT * FROM ledger_entries WHERE kind = 'refund'`,
  audited_sales_days: 'SELECT * FROM sales_days',
  audited_deposits: 'SELECT * FROM deposits',
  audited_payments: 'SELECT * FROM payments',
  audited_refunds: 'SELECT * FROM deposit_refunds',
  audited_proxy_refunds: 'SELECT * FROM proxy_refunds',
  event_log: EVENTS_SINCE,
  audited_events: 'SELECT * FROM events',
  erased_users: ERASED_USERS,
};

/** Rows changed since the beginning of yesterday. Orders change only when placed or when money moves. */
const DAY: Record<keyof typeof ALL | 'changed_orders', string> = {
  changed_orders: `SELECT id FROM orders WHERE created_at >= ${YESTERDAY}
    UNION SELECT order_id FROM ledger_entries WHERE created_at >= ${YESTERDAY} AND order_id IS NOT NULL
    UNION SELECT id FROM orders WHERE state IN ${sqlList(OPEN_STATES)}`,
  audited_orders: 'SELECT * FROM orders WHERE id = ANY (ARRAY(SELECT id FROM changed_orders))',
  entries_of_orders: `SELECT * FROM ledger_entries
    WHERE order_id = ANY (ARRAY(SELECT id FROM changed_orders))`,
  proxies_of_orders: 'SELECT * FROM proxies WHERE order_id = ANY (ARRAY(SELECT id FROM changed_orders))',
  audited_bulks: `SELECT bulk.* FROM bulk_prolongations bulk
    JOIN (SELECT DISTINCT user_id, split_part(idempotency_key, ' ', 1) AS idempotency_key
            FROM audited_orders WHERE idempotency_key LIKE '% %') AS keys USING (user_id, idempotency_key)`,
  // Also selects by due time, to find renewals whose order is missing.
  audited_renewals: `SELECT * FROM renewals
    WHERE order_id = ANY (ARRAY(SELECT id FROM changed_orders)) OR due_at >= ${YESTERDAY}`,
  audited_entries: `SELECT * FROM ledger_entries WHERE created_at >= ${YESTERDAY}`,
  audited_accounts: `SELECT * FROM accounts WHERE user_id = ANY (ARRAY(
    SELECT user_id FROM audited_entries UNION SELECT user_id FROM audited_orders))`,
  counted_orders: `SELECT * FROM orders WHERE created_at >= ${YESTERDAY}`,
  audited_counters: `SELECT * FROM token_spending WHERE day >= (now() AT TIME ZONE 'UTC')::date - 1`,
  sold_orders: `SELECT * FROM orders WHERE captured > 0 AND closed_at >= ${YESTERDAY}`,
  refund_entries: `SELECT * FROM ledger_entries WHERE kind = 'refund' AND created_at >= ${YESTERDAY}`,
  audited_sales_days: `SELECT * FROM sales_days WHERE day >= (now() AT TIME ZONE 'UTC')::date - 1`,
  audited_payments: `SELECT * FROM payments WHERE created_at >= ${YESTERDAY}`,
  audited_refunds: `SELECT * FROM deposit_refunds WHERE created_at >= ${YESTERDAY}`,
  audited_proxy_refunds: `SELECT * FROM proxy_refunds WHERE closed_at >= ${YESTERDAY} AND state = 'refunded'`,
  audited_deposits: `SELECT * FROM deposits WHERE closed_at >= ${YESTERDAY}
    UNION SELECT * FROM deposits WHERE id = ANY (ARRAY(
      SELECT deposit_id FROM audited_payments UNION SELECT deposit_id FROM audited_refunds))`,
  event_log: `SELECT greatest(since, ${YESTERDAY}) AS since FROM (${EVENTS_SINCE}) AS log`,
  // A change and its event can have different times, because a change is dated by the start of its
  // transaction. The extra hour keeps both within the audited range.
  audited_events: `SELECT * FROM events WHERE at >= ${YESTERDAY} - interval '1 hour'`,
  erased_users: ERASED_USERS,
};

export const SCOPE_SQL: Readonly<Record<AuditScope, string>> = {
  // Inlined, so that the planner treats these queries like the original tables.
  all: withList(ALL, 'NOT MATERIALIZED'),
  day: withList(DAY, 'MATERIALIZED'),
};

function withList(tables: Readonly<Record<string, string>>, how: string): string {
  const list = Object.entries(tables).map(([name, query]) => `${name} AS ${how} (${query})`);
  return `WITH ${list.join(', ')}`;
}
