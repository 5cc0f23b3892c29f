-- Resets a new or prolonged proxy's reminder stage. Stages longer than the remaining time are skipped. The
-- statement that delivers a purchase sets the stage itself, because a trigger per row would be slower.
CREATE OR REPLACE FUNCTION begin_stages() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.reminded_hours := hours_left(NEW.date_end);
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER proxies_begin_stages BEFORE INSERT ON proxies
  FOR EACH ROW WHEN (NEW.date_end IS NOT NULL AND NEW.reminded_hours = 32767)
  EXECUTE FUNCTION begin_stages();
CREATE OR REPLACE TRIGGER proxies_begin_stages_anew BEFORE UPDATE ON proxies
  FOR EACH ROW WHEN (is_prolonged(coalesce(OLD.date_end, '-infinity'), NEW.date_end))
  EXECUTE FUNCTION begin_stages();
