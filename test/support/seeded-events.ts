import { connectClient } from './test-database';

/** For every third proxy: events, deliveries and renewals of past months. Nothing is due, or of yesterday. */
export async function seedEvents(databaseUrl: string): Promise<void> {
  const client = await connectClient(databaseUrl);
  try {
    await client.query(`
      -- The rows refer to what there is: checking that takes half of the time.
      SET session_replication_role = replica;

      INSERT INTO events (user_id, type, data, at, position)
      SELECT user_id, 'proxy.expired', '{}', now() - interval '3 days', nextval('event_positions')
        FROM proxies WHERE id % 3 = 0;

      WITH webhook AS (
        INSERT INTO webhooks (user_id, url, types, secret)
        SELECT id, 'https://127.0.0.1/', '{balance.low}', 'whsec_' FROM users, generate_series(1, 5)
        RETURNING id, user_id
      ), delivery AS (
        INSERT INTO webhook_deliveries
          (webhook_id, event_id, created_at, state, attempts, closed_at, next_attempt_at)
        SELECT webhook.id, events.id, at, CASE WHEN is_pending THEN 'pending' ELSE 'delivered' END, 1,
               CASE WHEN NOT is_pending THEN at END, CASE WHEN is_pending THEN now() + interval '1 day' END
          FROM (SELECT user_id, min(id) AS id FROM webhook GROUP BY user_id) AS webhook
          JOIN events USING (user_id), LATERAL (SELECT events.id % 50 = 0 AS is_pending) AS its
        RETURNING id, webhook_id
      )
      INSERT INTO webhook_attempts (delivery_id, webhook_id, status, duration_ms)
      SELECT id, webhook_id, 204, 10 FROM delivery;

      WITH rule AS (
        INSERT INTO renewal_rules (user_id, period, disabled_at)
        SELECT id, 30, now() FROM users, generate_series(1, 10) RETURNING id, user_id
      )
      INSERT INTO renewals
        (proxy_id, date_end_before, user_id, rule_id, state, reason, period, due_at, created_at, closed_at)
      SELECT proxies.id, moment, user_id, rule.id, 'failed',
             CASE proxies.id % 5000 WHEN 0 THEN 'no-price' ELSE 'balance-short' END,
             30, moment, moment, moment
        FROM proxies JOIN (SELECT user_id, max(id) AS id FROM rule GROUP BY user_id) AS rule USING (user_id),
             LATERAL (SELECT least(date_start, now() - interval '3 days') AS moment) AS its
       WHERE proxies.id % 3 = 0;

      ANALYZE events, webhooks, webhook_deliveries, webhook_attempts, renewal_rules, renewals;
    `);
  } finally {
    await client.end();
  }
}
