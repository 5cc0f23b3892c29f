-- Returns the reasons why an order cannot be placed now, in the sequence in which callers see them.
-- `place_orders` calls this function under locks; a dry run calls it without locks.
-- `limited`: tokens whose daily limits apply; null for none. `taken`: keys and proxies of orders that the
-- same statement is about to place.
CREATE OR REPLACE FUNCTION order_refusals(
  of_user bigint, price numeric, max_price numeric, available numeric, key text, prolonged bigint,
  limited bigint[], taken text[])
RETURNS text[] LANGUAGE plpgsql STABLE AS $$
DECLARE
  refusals text[] := '{}';
BEGIN
  -- Cheap conditions come first. Each query is a separate statement, so that its plan is cached.
  IF EXISTS (SELECT FROM maintenance WHERE ended_at IS NULL) THEN
    refusals := refusals || 'closed-for-maintenance'::text;
  END IF;
  IF key IS NOT NULL THEN
    IF format('key %s %s', of_user, key) = ANY (taken) THEN
      refusals := refusals || 'key-in-use'::text;
    ELSIF EXISTS (
      SELECT FROM requests_of_key(of_user, key)) THEN
      refusals := refusals || 'key-in-use'::text;
    END IF;
  END IF;
  IF prolonged IS NOT NULL THEN
    IF EXISTS (SELECT FROM proxies WHERE id = prolonged AND refunded_at IS NOT NULL) THEN
      refusals := refusals || 'proxy-refunded'::text;
    END IF;
    IF format('proxy %s', prolonged) = ANY (taken) THEN
      refusals := refusals || 'prolongation-open'::text;
    ELSIF EXISTS (SELECT FROM orders WHERE proxy_id = prolonged AND closed_at IS NULL) THEN
      refusals := refusals || 'prolongation-open'::text;
    END IF;
  END IF;
  IF price > max_price THEN
    refusals := refusals || 'above-max-price'::text;
  END IF;
  IF price > available THEN
    refusals := refusals || 'insufficient-balance'::text;
  END IF;
  IF limited IS NOT NULL THEN
    IF price > daily_limit_left(limited) THEN
      refusals := refusals || 'daily-limit'::text;
    END IF;
  END IF;
  RETURN refusals;
END $$;
