-- Begins a refund of a proxy, unless the proxy already has a refund that was not refused. Returns null, or
-- the reason for refusing: 'open' (an order or a type change is open) or 'refund-quota-used'.
-- Locks the account and then the user. Concurrent requests therefore cannot exceed the quota, and every later
-- order has an id above `last_order_id`.
-- `minutes`: minimum time from the delivery to the first check.
CREATE OR REPLACE FUNCTION begin_refund(of_user bigint, of_proxy bigint, minutes integer)
RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  asked_at timestamptz;
BEGIN
  PERFORM lock_accounts(ARRAY[of_user]);
  PERFORM FROM users WHERE id = of_user FOR NO KEY UPDATE;
  asked_at := clock_timestamp();
  IF EXISTS (SELECT FROM proxy_refunds WHERE proxy_id = of_proxy AND state <> 'refused') THEN
    RETURN NULL;
  END IF;
  IF is_changing(of_proxy) THEN
    RETURN 'open';
  END IF;
  IF NOT is_within_refund_quota(
       of_user, refund_amount(of_proxy, asked_at, NULL), '{checking,staff,refunded}') THEN
    RETURN 'refund-quota-used';
  END IF;
  INSERT INTO proxy_refunds (proxy_id, user_id, last_order_id, requested_at, next_check_at)
  SELECT id, user_id, last_order_of(id), asked_at,
         greatest(asked_at, created_at + make_interval(mins => minutes))
    FROM proxies WHERE id = of_proxy AND user_id = of_user;
  RETURN NULL;
END $$;
