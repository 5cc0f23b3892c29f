-- Returns an order's state as customers see it. `publicState()` does the same in TypeScript.
CREATE OR REPLACE FUNCTION public_state(state text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN state IN ('reserved', 'submitting') THEN 'open'
              WHEN state IN ('confirming', 'review') THEN 'being_confirmed'
              ELSE state END
$$;
