-- Returns the user and order that a reference names; null for other strings. Old references lack the final x.
CREATE OR REPLACE FUNCTION named_by_reference(reference text, OUT user_id bigint, OUT order_id bigint)
  LANGUAGE sql IMMUTABLE AS $$
  SELECT parts[1]::bigint, parts[2]::bigint
    FROM regexp_match(reference, '\.u([1-9]\d{0,14})\.o([1-9]\d{0,14})x?$') AS parts
$$;
