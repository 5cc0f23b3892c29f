-- Reports to the client that its statement has written events, so that the client publishes them after the
-- commit. Sends a notice, because PostgreSQL serializes the commits of transactions that call NOTIFY.
CREATE OR REPLACE FUNCTION report_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE USING ERRCODE = 'PRX01', MESSAGE = 'events were written';
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER events_report AFTER INSERT ON events
  FOR EACH STATEMENT EXECUTE FUNCTION report_events();
