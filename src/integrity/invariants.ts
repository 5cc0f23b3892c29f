import { sqlList } from '../database';
import { SHOWN_KIND_SQL } from '../ledger';
import {
  bulkOrderKeySql,
  SEARCHES_END_AFTER_SECONDS,
  OPEN_STATES,
  PURCHASE_REFERENCE_SQL,
  renewalKeySql,
  statesShownAs,
  REFERENCE_PREFIX_SQL,
  UNATTENDED_STATES,
} from '../orders';

/** SQL for a cutoff. For orders placed before it, all searches have been over for at least 15 minutes. */
const CHECKS_ARE_OVER = `now() - interval '${SEARCHES_END_AFTER_SECONDS} seconds 15 minutes'`;

const HAS_EVENTS = 'user_id NOT IN (SELECT id FROM erased_users)';

export interface Invariant {
  readonly name: string;
  /** Query for the violating rows. Its tables are defined in `scopes.ts`. */
  readonly violations: string;
  /** The daily audit's query, if different; `null` if only the full audit checks the invariant. */
  readonly ofDay?: string | null;
}

/** Invariants that need only the database. */
export const INVARIANTS: readonly Invariant[] = [
  {
    name: 'balances-equal-sums-of-entries',
    violations: `
      SELECT a.user_id, a.available, a.held, a.spent, a.seq, s.available AS entries_available,
             s.held AS entries_held, s.spent AS entries_spent, s.last_seq
        FROM accounts a
        LEFT JOIN (SELECT user_id, sum(available_delta) AS available, sum(held_delta) AS held,
                          sum(CASE kind WHEN 'capture' THEN -held_delta
                                        WHEN 'refund' THEN -available_delta END) AS spent,
                          max(seq) AS last_seq
                     FROM ledger_entries GROUP BY user_id) s USING (user_id)
       WHERE (a.available, a.held, a.spent, a.seq) IS DISTINCT FROM
             (coalesce(s.available, 0), coalesce(s.held, 0), coalesce(s.spent, 0), coalesce(s.last_seq, 0))`,
    // Reads only the last entry. Each entry contains the totals up to it, because entries are chained.
    ofDay: `
      SELECT a.user_id, a.available, a.held, a.seq, last.available_after AS entries_available,
             last.held_after AS entries_held, last.seq AS last_seq
        FROM audited_accounts a
        LEFT JOIN LATERAL (SELECT * FROM ledger_entries e WHERE e.user_id = a.user_id
                            ORDER BY seq DESC LIMIT 1) AS last ON true
       WHERE (a.available, a.held, a.seq) IS DISTINCT FROM
             (coalesce(last.available_after, 0), coalesce(last.held_after, 0), coalesce(last.seq, 0))`,
  },
  {
    name: 'entries-gapless-and-chained',
    violations: `
      SELECT user_id, seq, available_after, held_after
        FROM (SELECT e.*, lag(seq) OVER numbered AS seq_before,
                     lag(available_after) OVER numbered AS available_before,
                     lag(held_after) OVER numbered AS held_before
                FROM audited_entries e WINDOW numbered AS (PARTITION BY user_id ORDER BY seq)) AS chain
        LEFT JOIN LATERAL (SELECT e.seq AS earlier_seq, e.available_after AS earlier_available,
                                  e.held_after AS earlier_held
                             FROM ledger_entries e
                            WHERE seq_before IS NULL AND e.user_id = chain.user_id AND e.seq = chain.seq - 1
                            LIMIT 1) AS not_audited ON true
       WHERE seq <> coalesce(seq_before, earlier_seq, 0) + 1
          OR available_after <> coalesce(available_before, earlier_available, 0) + available_delta
          OR held_after <> coalesce(held_before, earlier_held, 0) + held_delta`,
  },
  {
    name: 'nothing-negative',
    violations: `
      SELECT user_id, available, held, NULL AS seq FROM audited_accounts WHERE available < 0 OR held < 0
      UNION ALL
      SELECT user_id, available_after, held_after, seq FROM audited_entries
       WHERE available_after < 0 OR held_after < 0`,
  },
  {
    name: 'every-user-has-an-account',
    violations: `
      SELECT id AS user_id FROM users WHERE NOT EXISTS (SELECT FROM accounts WHERE user_id = users.id)`,
    ofDay: null,
  },
  {
    name: 'held-equals-open-orders',
    violations: `
      SELECT a.user_id, a.held, coalesce(o.held, 0) AS open_orders, coalesce(r.held, 0) AS refunds
        FROM audited_accounts a
        LEFT JOIN (SELECT user_id, sum(hold_amount) AS held FROM audited_orders
                    WHERE state IN ${sqlList(OPEN_STATES)}
                    GROUP BY user_id) o USING (user_id)
        LEFT JOIN (SELECT user_id, sum(amount) AS held FROM deposit_refunds WHERE state = 'held'
                    GROUP BY user_id) r USING (user_id)
       WHERE a.held <> coalesce(o.held, 0) + coalesce(r.held, 0)`,
  },
  {
    // The schema already ensures that a payment is credited only once, with its own amount.
    name: 'deposits-have-their-payments',
    violations: `
      SELECT d.id AS deposit_id, d.user_id, d.state, d.amount, p.id AS payment_id, p.amount AS paid,
             p.user_id AS payments_user
        FROM audited_deposits d LEFT JOIN payments p ON p.deposit_id = d.id AND p.state = 'credited'
       WHERE CASE d.state WHEN 'succeeded'
                          THEN (p.user_id, p.amount, p.provider, p.payment_id) IS DISTINCT FROM
                               (d.user_id, d.amount, d.provider, d.provider_payment_id)
                          ELSE p.id IS NOT NULL END`,
  },
  {
    name: 'payments-have-their-entries',
    violations: `
      SELECT p.id AS payment_id, p.provider, p.user_id, p.amount, e.id AS entry_id, e.available_delta
        FROM audited_payments p LEFT JOIN ledger_entries e ON e.payment_id = p.id
       WHERE p.state = 'credited'
         AND (e.user_id, e.available_delta, e.kind) IS DISTINCT FROM (p.user_id, p.amount, 'topup')
          OR p.state <> 'credited' AND e.id IS NOT NULL`,
  },
  {
    name: 'refunds-of-deposits-agree-with-entries',
    violations: `
      SELECT r.id AS refund_id, r.deposit_id, r.state, r.amount, e.taken, e.held
        FROM audited_refunds r
        LEFT JOIN LATERAL (SELECT coalesce(-sum(available_delta + held_delta), 0) AS taken,
                                  coalesce(sum(held_delta), 0) AS held
                             FROM ledger_entries WHERE refund_id = r.id) AS e ON true
       WHERE (e.taken, e.held) <> (CASE r.state WHEN 'succeeded' THEN r.amount ELSE 0 END,
                                   CASE r.state WHEN 'held' THEN r.amount ELSE 0 END)
      UNION ALL
      SELECT NULL, d.id, d.state, d.refunded, r.sum, NULL
        FROM audited_deposits d
        LEFT JOIN LATERAL (SELECT coalesce(sum(amount), 0) AS sum FROM deposit_refunds
                            WHERE deposit_id = d.id AND state IN ('succeeded', 'written-off')) AS r ON true
       WHERE d.refunded <> r.sum`,
  },
  {
    name: 'orders-agree-with-entries',
    violations: `
      SELECT o.id AS order_id, o.state, o.hold_amount, o.captured, o.released, e.held AS entry_held,
             e.captured AS entry_captured, e.released AS entry_released, o.refunded,
             e.refunded AS entry_refunded
        FROM audited_orders o
        LEFT JOIN (SELECT order_id,
                          coalesce(sum(held_delta) FILTER (WHERE kind = 'hold'), 0) AS held,
                          coalesce(-sum(held_delta) FILTER (WHERE kind = 'capture'), 0) AS captured,
                          coalesce(sum(available_delta) FILTER (WHERE kind = 'release'), 0) AS released,
                          coalesce(sum(available_delta) FILTER (WHERE kind = 'refund'), 0) AS refunded
                     FROM entries_of_orders GROUP BY order_id) e
          ON e.order_id = o.id
       WHERE (o.hold_amount, o.captured, o.released, o.refunded) IS DISTINCT FROM
             (e.held, e.captured, e.released, e.refunded)`,
  },
  {
    name: 'entries-belong-to-the-orders-user',
    violations: `
      SELECT e.id AS entry_id, e.order_id, e.user_id, o.user_id AS orders_user
        FROM audited_entries e JOIN orders o ON o.id = e.order_id WHERE o.user_id <> e.user_id`,
  },
  {
    // A purchase's charge equals its unit price times the number of delivered proxies, not counting those
    // that staff assigned.
    name: 'charged-equals-delivered',
    violations: `
      SELECT o.id AS order_id, o.state, o.count, o.unit_price, o.captured,
             coalesce(p.delivered, 0) AS delivered
        FROM audited_orders o
        LEFT JOIN (SELECT order_id, count(*) AS delivered FROM proxies_of_orders
                    WHERE assigned_action_id IS NULL GROUP BY order_id) p ON p.order_id = o.id
       WHERE o.kind = 'purchase'
         AND (o.captured <> o.unit_price * coalesce(p.delivered, 0)
              OR (o.state = 'completed' AND p.delivered IS DISTINCT FROM o.count)
              OR (o.state NOT IN ${sqlList(['completed', 'partial'])} AND p.delivered IS NOT NULL))`,
  },
  {
    name: 'proxies-belong-to-the-orders-user',
    violations: `
      SELECT p.id AS proxy_id, p.user_id, o.user_id AS orders_user, p.order_id
        FROM proxies_of_orders p JOIN orders o ON o.id = p.order_id
       WHERE o.user_id <> p.user_id OR o.kind <> 'purchase'
      UNION ALL
      SELECT p.id, p.user_id, o.user_id, o.id
        FROM audited_orders o JOIN proxies p ON p.id = o.proxy_id WHERE o.user_id <> p.user_id`,
  },
  {
    name: 'provider-proxies-have-one-owner',
    violations: `
      SELECT provider, provider_proxy_id, count(*) AS owners
        FROM proxies GROUP BY 1, 2 HAVING count(*) > 1`,
    ofDay: `
      SELECT provider, provider_proxy_id, count(*) AS owners
        FROM (SELECT DISTINCT provider, provider_proxy_id FROM proxies_of_orders) AS sold
        JOIN proxies USING (provider, provider_proxy_id)
       GROUP BY 1, 2 HAVING count(*) > 1`,
  },
  {
    name: 'one-order-per-key',
    violations: `
      SELECT user_id, idempotency_key, count(*) AS orders FROM orders
       WHERE idempotency_key IS NOT NULL AND state <> 'canceled' GROUP BY 1, 2 HAVING count(*) > 1`,
    ofDay: `
      SELECT user_id, idempotency_key, count(*) AS orders
        FROM (SELECT DISTINCT user_id, idempotency_key FROM audited_orders) AS keys
        JOIN orders USING (user_id, idempotency_key)
       WHERE state <> 'canceled' GROUP BY 1, 2 HAVING count(*) > 1`,
  },
  {
    // Keys with one space belong to orders of bulk requests; keys with two spaces, to renewals.
    name: 'orders-of-bulks-as-accepted',
    violations: `
      SELECT o.id AS order_id, o.user_id, o.idempotency_key, o.proxy_id, o.max_price, bulk.max_price AS given
        FROM audited_orders o
        LEFT JOIN (SELECT user_id, proxy_id, max_prices[place] AS max_price,
                          ${bulkOrderKeySql('b', 'proxy_id')} AS order_key
                     FROM audited_bulks b,
                          unnest(proxy_ids) WITH ORDINALITY AS of (proxy_id, place)) AS bulk
          ON bulk.user_id = o.user_id AND bulk.order_key = o.idempotency_key
       WHERE o.idempotency_key LIKE '% %' AND o.idempotency_key NOT LIKE '% % %' AND o.state <> 'canceled'
         AND (bulk.proxy_id IS DISTINCT FROM o.proxy_id OR bulk.max_price IS DISTINCT FROM o.max_price)`,
  },
  {
    // `one-order-per-key` already detects a rental that was renewed twice.
    name: 'renewals-have-their-orders',
    violations: `
      SELECT r.id AS renewal_id, r.state, r.order_id, o.idempotency_key
        FROM audited_renewals r LEFT JOIN orders o ON o.id = r.order_id
       WHERE (r.state IN ${sqlList(['placed', 'done'])} OR r.order_id IS NOT NULL)
         AND (o.origin, o.user_id, o.proxy_id, o.idempotency_key) IS DISTINCT FROM
             ('renewal', r.user_id, r.proxy_id, ${renewalKeySql('r.proxy_id', 'r.date_end_before')})
      UNION ALL
      SELECT NULL, o.state, o.id, o.idempotency_key
        FROM audited_orders o
       WHERE o.origin = 'renewal' AND o.state <> 'canceled'
         AND NOT EXISTS (SELECT FROM renewals r WHERE r.order_id = o.id)`,
  },
  {
    name: 'renewals-agree-with-their-orders',
    violations: `
      SELECT r.id AS renewal_id, r.state, r.price, r.order_id, o.state AS order_state, o.hold_amount,
             o.captured
        FROM audited_renewals r
        JOIN orders o ON o.id = r.order_id
        JOIN proxies p ON p.id = r.proxy_id
       WHERE CASE r.state
               WHEN 'done' THEN o.state <> 'completed' OR o.captured <> r.price
                             OR (o.refunded = 0 AND p.date_end <= r.date_end_before)
               WHEN 'placed' THEN o.hold_amount <> r.price OR o.closed_at < ${CHECKS_ARE_OVER}
               ELSE o.state <> 'canceled' END`,
  },
  {
    name: 'histories-end-with-the-state',
    violations: `
      SELECT id AS order_id, state, history FROM audited_orders
       WHERE history->-1->>'state' IS DISTINCT FROM state`,
  },
  {
    name: 'no-order-above-its-max-price',
    violations: `
      SELECT id AS order_id, hold_amount, captured, max_price FROM audited_orders
       WHERE hold_amount > max_price OR captured > max_price`,
  },
  {
    name: 'refunds-of-proxies-agree-with-entries',
    violations: `
      SELECT r.id AS refund_id, r.proxy_id, r.state, r.amount, e.sum AS entries, p.refunded_at
        FROM audited_proxy_refunds r JOIN proxies p ON p.id = r.proxy_id
        LEFT JOIN LATERAL (SELECT sum(available_delta) AS sum, bool_and(user_id = r.user_id) AS are_own
                             FROM ledger_entries WHERE proxy_refund_id = r.id) AS e ON true
       WHERE coalesce(e.sum, 0) <> coalesce(r.amount, 0) OR NOT e.are_own
          OR (r.state = 'refunded' AND p.refunded_at IS NULL)
      UNION ALL
      SELECT NULL, p.id, NULL, NULL, NULL, p.refunded_at
        FROM proxies_of_orders p
       WHERE p.refunded_at IS NOT NULL
         AND (SELECT count(*) FROM proxy_refunds WHERE proxy_id = p.id AND state = 'refunded') <> 1`,
  },
  {
    // A refund must not exceed the order's price for the days that remained when the refund was requested.
    name: 'refunds-of-proxies-are-for-days-that-were-left',
    violations: `
      SELECT r.id AS refund_id, o.id AS order_id, e.available_delta, o.unit_price, o.period, r.requested_at
        FROM audited_proxy_refunds r
        JOIN proxies p ON p.id = r.proxy_id
        JOIN ledger_entries e ON e.proxy_refund_id = r.id
        JOIN orders o ON o.id = e.order_id
       WHERE (o.id <> p.order_id AND o.proxy_id IS DISTINCT FROM p.id)
          OR e.available_delta > o.unit_price
          OR (o.id > r.last_order_id AND r.action_id IS NULL)
          OR e.available_delta * o.period * 86400 > o.unit_price * greatest(0, extract(epoch FROM
               CASE o.kind WHEN 'purchase' THEN coalesce(p.date_start, p.created_at)
                           ELSE greatest(o.date_end_before, o.submitted_at) END
               + o.period * interval '24 hours' - r.requested_at))`,
  },
  {
    name: 'no-more-refunded-than-captured',
    violations: `
      SELECT id AS order_id, captured, refunded FROM audited_orders
       WHERE refunded < 0 OR refunded > captured`,
  },
  {
    // A token's spending includes the orders of its descendants.
    name: 'token-spending-equals-orders',
    violations: `
      SELECT s.token_id, s.day, s.spent, coalesce(o.taken, 0) AS orders_taken
        FROM audited_counters s
        LEFT JOIN (SELECT limited_id AS token_id, (orders.created_at AT TIME ZONE 'UTC')::date AS day,
                          sum(hold_amount - released) AS taken
                     FROM api_tokens token JOIN counted_orders AS orders ON orders.token_id = token.id,
                          unnest(token.id || token.limited_by) AS limited_id
                    WHERE token.daily_limit IS NOT NULL GROUP BY 1, 2) o
            USING (token_id, day)
       WHERE s.spent <> coalesce(o.taken, 0)`,
  },
  {
    // Does not use `dailySalesSql`, so that the check finds errors in that query.
    name: 'sales-days-equal-orders',
    violations: `
      SELECT day::text, country, version, d.purchases, d.prolongations, d.proxies, d.sales, d.refunds,
             d.refunds_by_rule, d.cost,
             s.purchases AS orders_purchases, s.prolongations AS orders_prolongations,
             s.proxies AS orders_proxies, s.sales AS orders_sales, s.refunds AS orders_refunds,
             s.refunds_by_rule AS orders_refunds_by_rule,
             s.cost AS orders_cost
        FROM audited_sales_days d
        FULL JOIN (SELECT (at AT TIME ZONE 'UTC')::date AS day, country, version,
                          sum(purchases) AS purchases, sum(prolongations) AS prolongations,
                          sum(proxies) AS proxies, sum(sales) AS sales, sum(refunds) AS refunds,
                          sum(by_rule) AS refunds_by_rule, sum(cost) AS cost
                     FROM (SELECT closed_at AS at, country, version, (kind = 'purchase')::int AS purchases,
                                  (kind = 'prolongation')::int AS prolongations,
                                  CASE kind WHEN 'purchase' THEN captured / unit_price ELSE 0 END AS proxies,
                                  captured AS sales, 0 AS refunds, 0 AS by_rule,
                                  coalesce(provider_charge, 0) AS cost
                             FROM sold_orders
                           UNION ALL
                           SELECT e.created_at, o.country, o.version, 0, 0, 0, 0,
                                  CASE WHEN proxy_refund_id IS NULL THEN available_delta ELSE 0 END,
                                  CASE WHEN proxy_refund_id IS NULL THEN 0 ELSE available_delta END, 0
                             FROM refund_entries e JOIN orders o ON o.id = e.order_id) sold
                    WHERE at < (SELECT rolled_to::timestamp AT TIME ZONE 'UTC' FROM sales_rollup)
                    GROUP BY 1, 2, 3) s USING (day, country, version)
       WHERE (d.purchases, d.prolongations, d.proxies, d.sales, d.refunds, d.refunds_by_rule, d.cost)
             IS DISTINCT FROM
             (s.purchases, s.prolongations, s.proxies, s.sales, s.refunds, s.refunds_by_rule, s.cost)`,
  },
  {
    name: 'batches-are-of-one-kind',
    violations: `
      SELECT o.id AS order_id, o.batch_id, o.state
        FROM audited_orders o LEFT JOIN orders lead ON lead.id = o.batch_id
       WHERE (o.batch_id IS NULL AND o.state NOT IN ${sqlList(['reserved', 'canceled'])})
          OR (o.batch_id IS NOT NULL AND o.state = 'reserved')
          OR o.kind <> lead.kind OR o.version <> lead.version OR o.period <> lead.period
          OR (o.kind = 'purchase' AND (o.country, o.proxy_type) <> (lead.country, lead.proxy_type))`,
  },
  {
    name: 'orders-have-the-markup-of-their-rule',
    violations: `
      SELECT o.id AS order_id, o.markup_percent, o.price_rule_id
        FROM audited_orders o LEFT JOIN price_rules r ON r.id = o.price_rule_id
       WHERE o.price_rule_id IS NOT NULL
         AND (r.id IS NULL OR o.markup_percent <> r.markup_percent OR o.user_id <> r.user_id
              OR o.country <> r.country OR o.version <> r.version
              OR o.period < r.min_period OR o.period > r.max_period)`,
  },
  {
    name: 'no-order-open-for-a-day',
    violations: `
      SELECT id AS order_id, state, created_at FROM audited_orders
       WHERE state IN ${sqlList(UNATTENDED_STATES)}
         AND created_at < ${CHECKS_ARE_OVER}`,
  },
  {
    // If the order predates the event log, or its history was shortened, only its final state is checked.
    name: 'orders-agree-with-their-events',
    violations: `
      SELECT coalesce(o.id, logged.order_id) AS order_id, coalesce(o.user_id, logged.user_id) AS user_id,
             o.state, logged.states AS events
        FROM (SELECT (data->>'order_id')::bigint AS order_id, user_id,
                     array_agg(substr(type, length('order.') + 1) ORDER BY id) AS states
                FROM audited_events WHERE type LIKE 'order.%' GROUP BY 1, 2) AS logged
        FULL JOIN (SELECT audited.*, created_at >= since AND jsonb_array_length(history) > 1 AS is_whole
                     FROM audited_orders audited CROSS JOIN event_log
                    WHERE ${HAS_EVENTS} AND (closed_at >= since
                       OR state IN ${sqlList(statesShownAs('being_confirmed'))} AND created_at >= since)) AS o
          ON o.id = logged.order_id AND o.user_id = logged.user_id
       WHERE CASE
         WHEN o.id IS NULL THEN NOT EXISTS (
           SELECT FROM orders
            WHERE id = logged.order_id AND user_id = logged.user_id
              AND logged.states <@ ARRAY['being_confirmed', state]
              AND state NOT IN ${sqlList(statesShownAs('open'))})
         WHEN is_whole THEN logged.states IS DISTINCT FROM
           CASE WHEN jsonb_path_exists(history, '$[*] ? (@.state == "confirming" || @.state == "review")')
                THEN ARRAY['being_confirmed'] ELSE '{}' END
           || CASE WHEN closed_at IS NOT NULL THEN ARRAY[o.state] ELSE '{}' END
         ELSE array_remove(logged.states, 'being_confirmed') IS DISTINCT FROM ARRAY[o.state]
       END`,
  },
  {
    name: 'credits-agree-with-their-events',
    violations: `
      SELECT coalesce(e.user_id, logged.user_id) AS user_id, coalesce(e.seq, logged.seq) AS seq, e.amount,
             logged.amounts AS events
        FROM (SELECT user_id, (data->>'seq')::bigint AS seq,
                     array_agg(type || ' ' || (data->>'amount')) AS amounts
                FROM audited_events WHERE type IN ('balance.credited', 'balance.refunded')
               GROUP BY 1, 2) AS logged
        FULL JOIN (SELECT user_id, seq, CASE kind WHEN 'refund' THEN 'balance.refunded '
                                                  ELSE 'balance.credited ' END || available_delta AS amount
                     FROM audited_entries CROSS JOIN event_log
                    WHERE ${HAS_EVENTS} AND created_at >= since
                      AND ${SHOWN_KIND_SQL} IN ('credit', 'refund')) AS e
          ON e.user_id = logged.user_id AND e.seq = logged.seq
       WHERE CASE
         WHEN e.seq IS NULL THEN NOT EXISTS (
           SELECT FROM ledger_entries
            WHERE user_id = logged.user_id AND seq = logged.seq AND ${SHOWN_KIND_SQL} IN ('credit', 'refund'))
         ELSE logged.amounts IS DISTINCT FROM ARRAY[e.amount]
       END`,
  },
  {
    // A change in the hour before the checked period may have an event, but need not have one.
    name: 'proxy-changes-agree-with-their-events',
    violations: `
      SELECT coalesce(logged.proxy_id, changed.proxy_id) AS proxy_id,
             coalesce(logged.type, changed.type) AS type, logged.events, changed.changes
        FROM (SELECT (data->>'proxy_id')::bigint AS proxy_id, user_id, type, count(*) AS events
                FROM audited_events WHERE type IN ('proxy.moved', 'proxy.prolonged', 'proxy.withdrawn',
                                                 'proxy.refunded')
               GROUP BY 1, 2, 3) AS logged
        FULL JOIN (SELECT proxy_id, user_id,
                          CASE kind WHEN 'end_changed' THEN 'proxy.prolonged'
                                    ELSE 'proxy.' || kind END AS type,
                          count(*) FILTER (WHERE at >= since) AS changes, count(*) AS about
                     FROM proxy_changes CROSS JOIN event_log
                    WHERE ${HAS_EVENTS} AND at >= since - interval '1 hour'
                      AND (kind IN ('moved', 'withdrawn', 'refunded')
                           OR kind = 'end_changed'
                              AND is_prolonged(before::timestamptz, after::timestamptz))
                    GROUP BY 1, 2, 3) AS changed
          ON (changed.proxy_id, changed.user_id, changed.type)
             = (logged.proxy_id, logged.user_id, logged.type)
       WHERE coalesce(logged.events, 0) < coalesce(changed.changes, 0)
          OR coalesce(logged.events, 0) > coalesce(changed.about, 0)`,
    // Only the full audit checks this, because no index finds one day's changes to proxies.
    ofDay: null,
  },
  {
    // Events outlive their token. A deleted token's id must be lower than the newest token's, because tokens
    // are deleted only when a newer one is issued.
    name: 'tokens-agree-with-their-events',
    violations: `
      SELECT coalesce(token.id, logged.token_id) AS token_id, logged.types AS events
        FROM (SELECT (data->>'token_id')::bigint AS token_id, user_id, array_agg(type ORDER BY id) AS types
                FROM audited_events WHERE type LIKE 'token.%' GROUP BY 1, 2) AS logged
        FULL JOIN (SELECT id, user_id, revoked_at FROM api_tokens CROSS JOIN event_log
                    WHERE ${HAS_EVENTS} AND created_at >= since) AS token
          ON token.id = logged.token_id AND token.user_id = logged.user_id
       WHERE CASE
         WHEN token.id IS NULL THEN logged.token_id > (SELECT coalesce(max(id), 0) FROM api_tokens)
           OR EXISTS (SELECT FROM api_tokens WHERE id = logged.token_id AND user_id <> logged.user_id)
         ELSE logged.types IS DISTINCT FROM
           CASE WHEN revoked_at IS NULL THEN ARRAY['token.created']
                ELSE ARRAY['token.created', 'token.revoked'] END
       END`,
    ofDay: null,
  },
  {
    name: 'events-are-published-soon',
    violations: `
      SELECT id AS event_id, user_id, type, at FROM events
       WHERE position IS NULL AND at < now() - interval '1 hour'`,
  },
  {
    name: 'events-reach-their-webhooks',
    violations: `
      SELECT event.id AS event_id, event.user_id, event.type, webhook.id AS webhook_id, delivery.state
        FROM audited_events event
        JOIN webhooks webhook
          ON webhook.user_id = event.user_id AND webhook.disabled_at IS NULL
             AND event.position > webhook.since_position
             AND webhook_takes(webhook.id, webhook.types, event.type, event.data)
        LEFT JOIN webhook_deliveries delivery
          ON delivery.event_id = event.id AND delivery.webhook_id = webhook.id
       WHERE delivery.id IS NULL
      UNION ALL
      SELECT event.id, event.user_id, event.type, webhook.id, delivery.state
        FROM audited_events event
        JOIN webhook_deliveries delivery ON delivery.event_id = event.id
        JOIN webhooks webhook ON webhook.id = delivery.webhook_id
       WHERE webhook.user_id <> event.user_id
          OR NOT webhook_takes(webhook.id, NULL, event.type, event.data)`,
  },
];

/**
 * The provider's listing was read between `$1` and the snapshot. Orders that were open at `$1` or later may
 * explain differences, so their proxies are excluded.
 */
export const PROVIDER_INVARIANTS: readonly Invariant[] = [
  {
    name: 'provider-proxies-have-an-order-or-are-known-as-unmatched',
    violations: `
      SELECT l.provider_proxy_id, l.listed_as
        FROM provider_listing l
       WHERE starts_with(l.listed_as, ${REFERENCE_PREFIX_SQL})
         AND NOT EXISTS (SELECT FROM proxies
                          WHERE proxies.provider_proxy_id = l.provider_proxy_id
                            AND ${PURCHASE_REFERENCE_SQL} = l.listed_as)
         AND NOT EXISTS (SELECT FROM unmatched_proxies
           WHERE unmatched_proxies.provider_proxy_id = l.provider_proxy_id)
         AND NOT EXISTS (SELECT FROM orders o
                          WHERE o.order_reference = l.listed_as
                            AND (o.closed_at IS NULL OR o.closed_at >= $1))`,
  },
  {
    name: 'rented-proxies-are-at-the-provider-or-withdrawn',
    violations: `
      SELECT p.id AS proxy_id, p.provider_proxy_id, p.order_id
        FROM proxies p
       WHERE p.date_end > now() AND p.created_at < $1 AND p.withdrawn_at IS NULL
         AND NOT EXISTS (SELECT FROM provider_listing l WHERE l.provider_proxy_id = p.provider_proxy_id)`,
  },
  {
    name: 'end-dates-agree-with-the-provider',
    violations: `
      SELECT p.id AS proxy_id, p.provider_proxy_id, p.date_end, l.date_end AS provider_date_end
        FROM proxies p JOIN provider_listing l USING (provider_proxy_id)
       WHERE l.date_end IS NOT NULL AND p.date_end IS DISTINCT FROM l.date_end AND p.refunded_at IS NULL
         AND NOT EXISTS (SELECT FROM orders o
                          WHERE o.proxy_id = p.id AND (o.closed_at IS NULL OR o.closed_at >= $1))`,
  },
  {
    name: 'refunded-proxies-are-deleted',
    violations: `
      SELECT p.id AS proxy_id, p.provider_proxy_id, p.refunded_at
        FROM proxies p JOIN provider_listing l USING (provider_proxy_id)
       WHERE p.refunded_at < $1::timestamptz - interval '1 hour'`,
  },
];

/** Payments are credited or left to staff within this time. Deposits are read at least every ten minutes. */
const PAYMENT_SETTLES_WITHIN = `interval '15 minutes'`;

export const PAYMENT_INVARIANTS: readonly Invariant[] = [
  {
    name: 'listed-payments-are-recorded',
    violations: `
      SELECT l.id AS payment_id, l.value, l.currency, l.at AS paid_at
        FROM payment_listing l, limits
       WHERE l.kind = 'payment' AND l.at < limits.listed_at - ${PAYMENT_SETTLES_WITHIN}
         AND NOT EXISTS (SELECT FROM payments p WHERE p.provider = limits.provider AND p.payment_id = l.id)`,
  },
  {
    name: 'recorded-payments-are-listed',
    violations: `
      SELECT p.id, p.payment_id, p.state, p.paid_amount, p.currency, l.value, l.currency AS listed_currency
        FROM limits JOIN payments p ON p.provider = limits.provider
        LEFT JOIN payment_listing l ON l.kind = 'payment' AND l.id = p.payment_id
       WHERE p.created_at < limits.listed_at AND p.paid_at >= limits.since
         AND (l.value, l.currency) IS DISTINCT FROM (p.paid_amount, p.currency)`,
  },
  {
    name: 'listed-refunds-are-recorded',
    violations: `
      SELECT l.id AS refund_id, l.payment_id, l.value, d.id AS deposit_id
        FROM limits JOIN payment_comparisons last ON last.provider = limits.provider
        JOIN payment_listing l ON l.kind = 'refund' AND l.at < last.compared_to
        JOIN deposits d ON d.provider = limits.provider AND d.provider_payment_id = l.payment_id
       WHERE d.state = 'succeeded' AND d.closed_at < last.compared_to
         AND NOT EXISTS (SELECT FROM deposit_refunds r
                          WHERE r.provider = limits.provider AND r.provider_refund_id = l.id
                            AND (r.amount = l.value OR l.currency <> 'RUB'))`,
  },
  {
    name: 'recorded-refunds-are-listed',
    violations: `
      SELECT r.id, r.deposit_id, r.state, r.amount, r.provider_refund_id
        FROM limits JOIN deposit_refunds r ON r.provider = limits.provider
       WHERE r.provider_refund_id IS NOT NULL AND r.created_at >= limits.since
         AND coalesce(r.closed_at, r.created_at) < limits.listed_at
         AND NOT EXISTS (SELECT FROM payment_listing l
                          WHERE l.kind = 'refund' AND l.id = r.provider_refund_id)`,
  },
];
