-- The user and the order that a reference of `order_reference_of` names; null for what is none of ours.
CREATE OR REPLACE FUNCTION named_by_reference(reference text, OUT user_id bigint, OUT order_id bigint)
  LANGUAGE sql IMMUTABLE AS $$
  SELECT parts[1]::bigint, parts[2]::bigint FROM regexp_match(reference, '\.u(\d{1,15})\.o(\d{1,15})') AS parts
$$;
