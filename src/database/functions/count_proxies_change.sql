-- Increments `users.proxies_revision` when proxies change in a way that their user can see. Replaces the
-- foreign key to `users`, which would be checked row by row.
CREATE OR REPLACE FUNCTION count_proxies_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  concerned bigint[];
  counted bigint;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    SELECT array_agg(DISTINCT user_id) INTO concerned FROM (
      SELECT id, user_id, host, port, login, password, proxy_type, country, version, date_start, date_end,
             withdrawn_at, label, tags FROM is_now
      EXCEPT
      SELECT id, user_id, host, port, login, password, proxy_type, country, version, date_start, date_end,
             withdrawn_at, label, tags FROM was
    ) AS changed;
  ELSE
    SELECT array_agg(DISTINCT user_id) INTO concerned FROM is_now;
  END IF;
  -- Lock the users in id order, in a separate statement, so that concurrent statements never deadlock.
  PERFORM FROM users WHERE id = ANY (concerned) ORDER BY id FOR NO KEY UPDATE;
  UPDATE users SET proxies_revision = proxies_revision + 1 WHERE id = ANY (concerned);
  GET DIAGNOSTICS counted = ROW_COUNT;
  IF counted <> coalesce(cardinality(concerned), 0) THEN
    RAISE foreign_key_violation
      USING MESSAGE = 'a proxy of a user who does not exist', CONSTRAINT = 'proxies_user_id_fkey';
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER proxies_count_arrivals AFTER INSERT ON proxies
  REFERENCING NEW TABLE AS is_now
  FOR EACH STATEMENT EXECUTE FUNCTION count_proxies_change();
CREATE OR REPLACE TRIGGER proxies_count_departures AFTER DELETE ON proxies
  REFERENCING OLD TABLE AS is_now
  FOR EACH STATEMENT EXECUTE FUNCTION count_proxies_change();
CREATE OR REPLACE TRIGGER proxies_count_changes AFTER UPDATE ON proxies
  REFERENCING OLD TABLE AS was NEW TABLE AS is_now
  FOR EACH STATEMENT EXECUTE FUNCTION count_proxies_change();
