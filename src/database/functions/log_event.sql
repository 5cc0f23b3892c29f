-- Writes an event of a user, in the statement of the change that it reports. Modules write their events by
-- this function, or a trigger of `events` does it for them: nothing else writes to the log.
CREATE OR REPLACE FUNCTION log_event(of_user bigint, of_type text, what jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO events (user_id, type, data) VALUES (of_user, of_type, what);
END $$;
