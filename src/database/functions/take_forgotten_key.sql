-- After a database restore, a customer's retry of a lost order has an unknown key (that of `wanted`). Assigns
-- this key to the lost order: to a recreated order if one matches, otherwise to a written-off request. Returns
-- false if neither matches. Must be called while the account is locked.
-- Never assigns a renewal's key, because that key contains the expiry that the renewal has changed since.
-- A recreated order may have a different type than its request, because the provider may list another type.
-- The request's count may exceed the order's, because staff may have assigned only some of the found proxies.
-- Several prolongations of one rental are written off as a single request with the sum of their days. Each
-- key then takes the days of its own period from this sum.
CREATE OR REPLACE FUNCTION take_forgotten_key(wanted orders) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  key CONSTANT text := wanted.idempotency_key;
  put_back bigint[];
  taken written_off_requests;
BEGIN
  IF key IS NULL OR wanted.origin = 'renewal' OR EXISTS (SELECT FROM requests_of_key(wanted.user_id, key)) THEN
    RETURN false;
  END IF;
  put_back := ARRAY(
    SELECT id FROM orders
     WHERE key_forgotten AND user_id = wanted.user_id
       AND (kind, country, version, period) = (wanted.kind, wanted.country, wanted.version, wanted.period)
       AND wanted.count BETWEEN count AND coalesce(found_count, count)
       AND proxy_id IS NOT DISTINCT FROM wanted.proxy_id
     ORDER BY count DESC, proxy_type <> wanted.proxy_type, id);
  IF put_back <> '{}' THEN
    UPDATE orders
       SET key_forgotten = false, idempotency_key = key, request_hash = wanted.request_hash,
           max_price = CASE WHEN hold_amount <= wanted.max_price THEN wanted.max_price END
     WHERE id = (SELECT id FROM orders WHERE id = ANY (put_back) AND key_forgotten
                  ORDER BY array_position(put_back, id) LIMIT 1 FOR UPDATE SKIP LOCKED);
    RETURN true;
  END IF;

  SELECT * INTO taken FROM written_off_requests
   WHERE user_id = wanted.user_id AND idempotency_key IS NULL AND proxy_id IS NOT DISTINCT FROM wanted.proxy_id
     AND wanted.period <= days
     AND (proxy_id IS NOT NULL
          OR (coalesce(country, wanted.country), coalesce(version, wanted.version))
             = (wanted.country, wanted.version))
   ORDER BY days, id LIMIT 1;
  IF NOT FOUND OR EXISTS (SELECT FROM maintenance WHERE ended_at IS NULL) THEN
    RETURN false;
  END IF;
  UPDATE written_off_requests
     SET idempotency_key = key, request_hash = wanted.request_hash,
         days = CASE WHEN proxy_id IS NULL THEN days ELSE wanted.period END
   WHERE id = taken.id;
  INSERT INTO written_off_requests (user_id, proxy_id, days, written_off_at)
  SELECT user_id, proxy_id, days - wanted.period, written_off_at
    FROM (SELECT taken.*) AS whole WHERE proxy_id IS NOT NULL AND days > wanted.period;
  RETURN true;
END $$;
