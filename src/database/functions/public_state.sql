-- How customers see the state of an order. The code has it as `publicState()`.
CREATE OR REPLACE FUNCTION public_state(state text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN state IN ('reserved', 'submitting') THEN 'open'
              WHEN state IN ('confirming', 'review') THEN 'being_confirmed'
              ELSE state END
$$;
