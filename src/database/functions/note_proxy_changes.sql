-- Notes in `proxy_changes` what an update changed of a proxy that its customer sees, and writes the events of
-- it, whichever statement it comes from, so that none can forget it. Labels and flags for staff are no changes,
-- and a purchase writes nothing. It never notes a login or a password.
--
-- It runs for the rows that have changed alone: the condition of the trigger costs an update of many rows
-- next to nothing. It writes with the rights of the owner: the service's role may only read the notes.
--
-- An end that moves by some hours is a correction, not a prolongation.
CREATE OR REPLACE FUNCTION note_proxy_changes() RETURNS trigger LANGUAGE plpgsql
  SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  INSERT INTO proxy_changes (proxy_id, user_id, kind, before, after)
  SELECT NEW.id, NEW.user_id, change.kind, change.before, change.after
    FROM (VALUES
      ('moved', (OLD.host, OLD.port) <> (NEW.host, NEW.port),
       OLD.host || ':' || OLD.port, NEW.host || ':' || NEW.port),
      ('credentials_changed', (OLD.login, OLD.password) <> (NEW.login, NEW.password), NULL, NULL),
      ('type_changed', OLD.proxy_type <> NEW.proxy_type, OLD.proxy_type, NEW.proxy_type),
      ('end_changed', OLD.date_end IS DISTINCT FROM NEW.date_end,
       iso_text(OLD.date_end, ''),
       iso_text(NEW.date_end, '')),
      ('withdrawn', OLD.withdrawn_at IS NULL AND NEW.withdrawn_at IS NOT NULL, NULL, NULL),
      ('returned', OLD.withdrawn_at IS NOT NULL AND NEW.withdrawn_at IS NULL, NULL, NULL)
    ) AS change (kind, is_one, before, after)
   WHERE change.is_one;
  PERFORM log_event(NEW.user_id, event.type, jsonb_build_object('proxy_id', NEW.id::text) || event.data)
    FROM (VALUES
      ('proxy.moved', (OLD.host, OLD.port) <> (NEW.host, NEW.port), '{}'::jsonb),
      ('proxy.prolonged', NEW.date_end > OLD.date_end + interval '6 hours', jsonb_build_object(
         'date_end', iso_text(NEW.date_end),
         'date_end_before', iso_text(OLD.date_end))),
      ('proxy.withdrawn', OLD.withdrawn_at IS NULL AND NEW.withdrawn_at IS NOT NULL, jsonb_build_object(
         'date_end', iso_text(NEW.date_end))),
      ('proxy.expired', OLD.active AND NOT NEW.active AND NEW.withdrawn_at IS NULL
                        AND NEW.date_end <= clock_timestamp(), jsonb_build_object(
         'date_end', iso_text(NEW.date_end)))
    ) AS event (type, is_one, data)
   WHERE event.is_one;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER proxies_note_changes AFTER UPDATE ON proxies
  FOR EACH ROW WHEN (
    (OLD.host, OLD.port, OLD.login, OLD.password, OLD.proxy_type, OLD.date_end, OLD.withdrawn_at)
      IS DISTINCT FROM
    (NEW.host, NEW.port, NEW.login, NEW.password, NEW.proxy_type, NEW.date_end, NEW.withdrawn_at)
    OR (OLD.active AND NOT NEW.active))
  EXECUTE FUNCTION note_proxy_changes();
