-- Begins the announcements of a proxy's end anew, for a new proxy and for one that is prolonged. A stage is
-- announced when it has fewer hours than `told_hours`. So the number that is written here leaves out the
-- stages that are as long as what is left of the rental, or longer: nobody needs to be told that a rental of
-- three days ends in three days.
CREATE OR REPLACE FUNCTION begin_stages() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.told_hours := least(32767, greatest(0, round(extract(epoch FROM NEW.date_end - now()) / 3600)));
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER proxies_begin_stages BEFORE INSERT ON proxies
  FOR EACH ROW WHEN (NEW.date_end IS NOT NULL) EXECUTE FUNCTION begin_stages();
CREATE OR REPLACE TRIGGER proxies_begin_stages_anew BEFORE UPDATE ON proxies
  FOR EACH ROW WHEN (is_prolonged(coalesce(OLD.date_end, '-infinity'), NEW.date_end))
  EXECUTE FUNCTION begin_stages();
