-- The user and the order that a tag names, as `order_tag` writes it; null for what is no tag of ours.
CREATE OR REPLACE FUNCTION named_by_tag(tag text, OUT user_id bigint, OUT order_id bigint)
  LANGUAGE sql IMMUTABLE AS $$
  SELECT parts[1]::bigint, parts[2]::bigint FROM regexp_match(tag, '\.u(\d{1,15})\.o(\d{1,15})') AS parts
$$;
