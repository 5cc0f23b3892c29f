-- The order reference of an order at the provider: at most 50 characters of [A-Za-z0-9._:-], and enough to
-- rebuild a lost row. The letter at its end keeps it from being a part of another order reference, so that a
-- filter by prefix or substring finds this order alone. Older references end with the number of the order,
-- which `named_by_reference` reads as well.
CREATE OR REPLACE FUNCTION order_reference_of(prefix text, user_id bigint, order_id bigint) RETURNS text
  LANGUAGE sql STABLE AS $$
  SELECT format('%su%s.o%sx', prefix, user_id, order_id)
$$;
