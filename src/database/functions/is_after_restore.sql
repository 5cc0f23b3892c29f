-- Whether an unknown key may be that of a request that a restore of the database has forgotten: while staff
-- decide what was found, and for a week after the maintenance or the last decision. A week is longer than any
-- client retries, and covers a script that runs weekly. Retention clears requests that are not retried by then.
--
-- In PL/pgSQL, because each placing calls it: its plan is cached, that of a function in SQL is not.
CREATE OR REPLACE FUNCTION is_after_restore() RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (SELECT FROM maintenance WHERE coalesce(ended_at, now()) > now() - interval '7 days')
      OR EXISTS (SELECT FROM orders WHERE key_forgotten AND created_at > now() - interval '7 days')
      OR EXISTS (SELECT FROM written_off_requests
                  WHERE idempotency_key IS NULL AND written_off_at > now() - interval '7 days');
END $$;
