-- Writes an event. Must be called in the same statement as the change that it reports.
CREATE OR REPLACE FUNCTION log_event(of_user bigint, of_type text, what jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO events (user_id, type, data) VALUES (of_user, of_type, what);
END $$;
