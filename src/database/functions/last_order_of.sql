-- Returns the highest order id among a proxy's purchase and prolongations.
CREATE OR REPLACE FUNCTION last_order_of(of_proxy bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT greatest(order_id, (SELECT max(id) FROM orders WHERE proxy_id = of_proxy))
    FROM proxies WHERE id = of_proxy
$$;
