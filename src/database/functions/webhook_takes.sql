-- Whether a webhook that is sent these types of events is sent this one. Types that are null stand for all. A
-- test goes to the webhook that it is of, with any types.
CREATE OR REPLACE FUNCTION webhook_takes(webhook_id bigint, types text[], type text, data jsonb)
RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE type WHEN 'test' THEN webhook_id = (data ->> 'webhook_id')::bigint
                   ELSE types IS NULL OR type = ANY (types) END
$$;
