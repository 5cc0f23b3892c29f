-- Writes an event when a webhook is disabled, but not when it is deleted.
CREATE OR REPLACE FUNCTION log_webhook_event() RETURNS trigger LANGUAGE plpgsql
  SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  INSERT INTO events (user_id, type, data)
  VALUES (NEW.user_id, 'webhook.disabled',
          jsonb_build_object('webhook_id', NEW.id, 'reason', NEW.disabled_reason));
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER webhooks_log_end AFTER UPDATE ON webhooks
  FOR EACH ROW WHEN (
    OLD.disabled_at IS NULL AND NEW.disabled_at IS NOT NULL AND NEW.disabled_reason <> 'deleted')
  EXECUTE FUNCTION log_webhook_event();
