-- Reports to the client that its statement has written events, so that its process publishes them after the
-- commit. Uses a notice, because transactions that call NOTIFY commit one after the other.
CREATE OR REPLACE FUNCTION report_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE USING ERRCODE = 'PRX01', MESSAGE = 'events were written';
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER events_report AFTER INSERT ON events
  FOR EACH STATEMENT EXECUTE FUNCTION report_events();
