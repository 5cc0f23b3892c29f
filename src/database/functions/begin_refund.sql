-- Begins the refund of a proxy, unless it has one that was not refused. Returns null, or why none was begun:
-- 'open' while an order or a change of type is open, or 'refund-quota-used'.
--
-- The account and then the user are locked, as when an order is placed. Each statement after the locks sees
-- what was committed before: no order of the user is placed meanwhile, and requests at once count each other.
-- So every order of the proxy that is placed later has a higher id than `last_order_id`.
--
-- `minutes`: how long after the delivery the first check comes at the earliest.
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
