-- Returns the public reason for a canceled order. `errorOfFailure()` does the same in TypeScript.
CREATE OR REPLACE FUNCTION public_failure(kind text, failure text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN failure IN ('count', 'out-of-stock') THEN 'not-enough-proxies'
              WHEN failure = 'period' THEN 'period-not-sold'
              WHEN failure = 'country' THEN 'country-not-sold'
              WHEN failure = 'not-found' AND kind = 'prolongation' THEN 'cannot-be-prolonged'
              ELSE 'unavailable' END
$$;
