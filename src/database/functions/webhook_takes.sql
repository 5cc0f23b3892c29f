-- Whether a webhook receives an event. A webhook whose `types` is null receives all types. A test event goes
-- only to its own webhook.
CREATE OR REPLACE FUNCTION webhook_takes(webhook_id bigint, types text[], type text, data jsonb)
RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE type WHEN 'test' THEN webhook_id = (data ->> 'webhook_id')::bigint
                   ELSE types IS NULL OR type = ANY (types) END
$$;
