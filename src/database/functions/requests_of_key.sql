-- The request that has an idempotency key of a customer: the order that holds or has spent money under it;
-- or, without an order id, the bulk that was accepted under it, or the request of an order that a restore has
-- forgotten and staff have written off. One of them at most: orders and bulks are accepted under the lock of
-- the account.
CREATE OR REPLACE FUNCTION requests_of_key(of_user bigint, key text)
RETURNS TABLE (order_id bigint, request_hash bytea) LANGUAGE sql STABLE AS $$
  SELECT id, request_hash FROM orders
   WHERE user_id = of_user AND idempotency_key = key AND state <> 'canceled'
  UNION ALL
  SELECT NULL, request_hash FROM bulk_prolongations WHERE user_id = of_user AND idempotency_key = key
  UNION ALL
  SELECT NULL, request_hash FROM written_off_requests WHERE user_id = of_user AND idempotency_key = key
$$;
