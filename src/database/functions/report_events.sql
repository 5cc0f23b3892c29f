-- Raises a notice, which makes the client publish events after the commit. NOTIFY would serialize all
-- commits.
CREATE OR REPLACE FUNCTION report_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE USING ERRCODE = 'PRX01', MESSAGE = 'events were written';
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER events_report AFTER INSERT ON events
  FOR EACH STATEMENT EXECUTE FUNCTION report_events();
