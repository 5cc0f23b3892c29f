-- Whether a proxy has an open order or an open type change.
CREATE OR REPLACE FUNCTION is_changing(of_proxy bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM orders
                  WHERE (proxy_id = of_proxy OR id = (SELECT order_id FROM proxies WHERE id = of_proxy))
                    AND closed_at IS NULL)
      OR EXISTS (SELECT FROM proxy_type_changes
                  WHERE proxy_id = of_proxy AND settled_at IS NULL AND attempt_until > clock_timestamp())
$$;
