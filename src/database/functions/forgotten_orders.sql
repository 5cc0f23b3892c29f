-- The orders that may be those of a request under an unknown idempotency key, because a restore of the database
-- has forgotten theirs. They are for the same. The type may differ, because the provider may list another.
-- The count may be greater, up to what was found, because staff may have given the order fewer proxies.
CREATE OR REPLACE FUNCTION forgotten_orders(
  of_user bigint, of_kind text, of_country text, of_version text, of_period integer, of_count integer,
  prolonged bigint)
RETURNS TABLE (id bigint) LANGUAGE sql STABLE AS $$
  SELECT id FROM orders
   WHERE key_forgotten AND user_id = of_user
     AND (kind, country, version, period) = (of_kind, of_country, of_version, of_period)
     AND of_count BETWEEN count AND coalesce(found_count, count)
     AND proxy_id IS NOT DISTINCT FROM prolonged
$$;
