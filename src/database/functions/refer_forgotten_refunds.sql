-- For each proxy that the provider no longer lists after a database restore, creates a refund and leaves the
-- decision to staff. Such a proxy may have been refunded and deleted after the restore point.
CREATE OR REPLACE FUNCTION refer_forgotten_refunds() RETURNS void LANGUAGE sql AS $$
  INSERT INTO proxy_refunds (proxy_id, user_id, last_order_id, state, reason, requested_at, next_check_at)
  SELECT proxies.id, proxies.user_id, last_order_of(proxies.id), 'staff', 'forgotten', begun_at, NULL
    FROM maintenance JOIN proxies ON withdrawn_at >= begun_at
   WHERE ended_at IS NULL AND refunded_at IS NULL AND absences >= 2 AND date_end > now()
     AND (SELECT enabled FROM refund_rule)
   ORDER BY proxies.id
  ON CONFLICT DO NOTHING
$$;
