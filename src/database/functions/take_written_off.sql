-- Takes an unknown key for that of a request whose order was forgotten by a restore and written off, if both
-- are for the same: the key is that request's from then on. Not while orders are shut, when staff still
-- decide, and never the key of a renewal, which is not retried. `place_orders` calls it under the lock of the
-- account.
--
-- Several prolongations of a rental are written off as one. Each key takes its period, and the days that are
-- left wait for the next.
--
-- `prolonged`: the proxy that is to be prolonged; null if proxies are to be bought.
CREATE OR REPLACE FUNCTION take_written_off(
  of_user bigint, key text, hash bytea, prolonged bigint, of_country text, of_version text, period integer)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  taken written_off_requests;
BEGIN
  SELECT * INTO taken FROM written_off_requests
   WHERE user_id = of_user AND idempotency_key IS NULL AND proxy_id IS NOT DISTINCT FROM prolonged
     AND period <= days
     AND (proxy_id IS NOT NULL
          OR (coalesce(country, of_country), coalesce(version, of_version)) = (of_country, of_version))
   ORDER BY days, id LIMIT 1;
  IF NOT FOUND OR key IS NULL OR key LIKE 'renewal % %' OR EXISTS (SELECT FROM requests_of_key(of_user, key))
     OR EXISTS (SELECT FROM recoveries WHERE ended_at IS NULL) THEN
    RETURN false;
  END IF;
  UPDATE written_off_requests
     SET idempotency_key = key, request_hash = hash,
         days = CASE WHEN proxy_id IS NULL THEN days ELSE period END
   WHERE id = taken.id;
  INSERT INTO written_off_requests (user_id, proxy_id, days)
  SELECT of_user, prolonged, taken.days - period WHERE prolonged IS NOT NULL AND taken.days > period;
  RETURN true;
END $$;
