-- Logs the changes to a proxy that its customer can see, and writes events for some of them. Never logs a
-- login or a password. The trigger's condition skips other changes, which may affect many rows. SECURITY
-- DEFINER, because the service's role may only read the log.
CREATE OR REPLACE FUNCTION record_proxy_changes() RETURNS trigger LANGUAGE plpgsql
  SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  logged text;
  proxy CONSTANT jsonb := jsonb_build_object('proxy_id', NEW.id::text);
  ending CONSTANT jsonb := proxy || jsonb_build_object('date_end', iso_text(NEW.date_end));
BEGIN
  FOR logged IN
    INSERT INTO proxy_changes (proxy_id, user_id, kind, before, after)
    SELECT NEW.id, NEW.user_id, change.kind, change.before, change.after
      FROM (VALUES
        ('moved', (OLD.host, OLD.port) <> (NEW.host, NEW.port),
         OLD.host || ':' || OLD.port, NEW.host || ':' || NEW.port),
        ('credentials_changed', (OLD.login, OLD.password) <> (NEW.login, NEW.password), NULL, NULL),
        ('type_changed', OLD.proxy_type <> NEW.proxy_type, OLD.proxy_type, NEW.proxy_type),
        ('end_changed', OLD.date_end IS DISTINCT FROM NEW.date_end,
         iso_text(OLD.date_end, ''), iso_text(NEW.date_end, '')),
        ('withdrawn', OLD.withdrawn_at IS NULL AND NEW.withdrawn_at IS NOT NULL AND NEW.refunded_at IS NULL,
         NULL, NULL),
        ('refunded', OLD.refunded_at IS NULL AND NEW.refunded_at IS NOT NULL, NULL, NULL),
        ('returned', OLD.withdrawn_at IS NOT NULL AND NEW.withdrawn_at IS NULL, NULL, NULL)
      ) AS change (kind, is_one, before, after)
     WHERE change.is_one
    RETURNING kind
  LOOP
    IF logged = 'moved' THEN
      PERFORM log_event(NEW.user_id, 'proxy.moved', proxy);
    ELSIF logged = 'withdrawn' THEN
      PERFORM log_event(NEW.user_id, 'proxy.withdrawn', ending);
    ELSIF logged = 'end_changed' AND is_prolonged(OLD.date_end, NEW.date_end) THEN
      PERFORM log_event(NEW.user_id, 'proxy.prolonged',
                        ending || jsonb_build_object('date_end_before', iso_text(OLD.date_end)));
    END IF;
  END LOOP;
  IF OLD.announced_end IS DISTINCT FROM NEW.announced_end THEN
    PERFORM log_event(NEW.user_id, 'proxy.expired', ending);
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER proxies_record_changes AFTER UPDATE ON proxies
  FOR EACH ROW WHEN (
    (OLD.host, OLD.port, OLD.login, OLD.password, OLD.proxy_type, OLD.date_end, OLD.withdrawn_at,
     OLD.announced_end, OLD.refunded_at)
      IS DISTINCT FROM
    (NEW.host, NEW.port, NEW.login, NEW.password, NEW.proxy_type, NEW.date_end, NEW.withdrawn_at,
     NEW.announced_end, NEW.refunded_at))
  EXECUTE FUNCTION record_proxy_changes();
