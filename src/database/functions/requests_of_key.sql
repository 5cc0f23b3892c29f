-- Returns the request, if any, that has used a customer's idempotency key: an order, an accepted bulk
-- request, or a forgotten request that staff have written off. Only an order has an `order_id`.
CREATE OR REPLACE FUNCTION requests_of_key(of_user bigint, key text)
RETURNS TABLE (order_id bigint, request_hash bytea) LANGUAGE sql STABLE AS $$
  SELECT id, request_hash FROM orders
   WHERE user_id = of_user AND idempotency_key = key AND state <> 'canceled'
  UNION ALL
  SELECT NULL, request_hash FROM bulk_prolongations WHERE user_id = of_user AND idempotency_key = key
  UNION ALL
  SELECT NULL, request_hash FROM written_off_requests WHERE user_id = of_user AND idempotency_key = key
$$;
