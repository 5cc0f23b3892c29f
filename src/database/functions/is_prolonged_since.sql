-- Whether a prolongation of the proxy, placed after the given order, was charged.
CREATE OR REPLACE FUNCTION is_prolonged_since(of_proxy bigint, last_order bigint) RETURNS boolean
  LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM orders WHERE proxy_id = of_proxy AND id > last_order AND captured > 0)
$$;
