-- Sums a proxy's refund_shares() for orders up to the id `last_order`; null means all orders.
CREATE OR REPLACE FUNCTION refund_amount(of_proxy bigint, asked_at timestamptz, last_order bigint)
RETURNS numeric LANGUAGE sql STABLE AS $$
  SELECT coalesce(sum(amount), 0)::numeric(14,2) FROM refund_shares(of_proxy, asked_at)
   WHERE order_id <= coalesce(last_order, order_id)
$$;
