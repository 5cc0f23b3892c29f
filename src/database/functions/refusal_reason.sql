-- Why an order of this kind was canceled, as coarsely as in the response to its request (`refusalOf()`): what
-- the shop lacks is not the customer's concern. A failure of a newer version is none that this one knows.
CREATE OR REPLACE FUNCTION refusal_reason(kind text, failure text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN failure IN ('count', 'out-of-stock') THEN 'not-enough-proxies'
              WHEN failure = 'period' THEN 'period-not-sold'
              WHEN failure = 'country' THEN 'country-not-sold'
              WHEN failure = 'not-found' AND kind = 'prolongation' THEN 'cannot-be-prolonged'
              ELSE 'unavailable' END
$$;
