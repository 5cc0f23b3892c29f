-- Returns the order reference for the provider: at most 50 characters of [A-Za-z0-9._:-]. The final x keeps a
-- reference from being part of another, so that a filter by prefix or substring finds only this order.
CREATE OR REPLACE FUNCTION order_reference_of(prefix text, user_id bigint, order_id bigint) RETURNS text
  LANGUAGE sql STABLE AS $$
  SELECT format('%su%s.o%sx', prefix, user_id, order_id)
$$;
