-- Whether an unknown idempotency key may belong to a request that a database restore lost. Retries of lost
-- requests are expected for a week, because some scripts run only weekly. Written in PL/pgSQL, because plans
-- of SQL functions are not cached.
CREATE OR REPLACE FUNCTION is_after_restore() RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (SELECT FROM maintenance WHERE coalesce(ended_at, now()) > now() - interval '7 days')
      OR EXISTS (SELECT FROM orders WHERE key_forgotten AND created_at > now() - interval '7 days')
      OR EXISTS (SELECT FROM written_off_requests
                  WHERE idempotency_key IS NULL AND written_off_at > now() - interval '7 days');
END $$;
