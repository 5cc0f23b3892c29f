-- Writes an event when a token is issued or revoked, but not when it expires.
CREATE OR REPLACE FUNCTION log_token_event() RETURNS trigger LANGUAGE plpgsql
  SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  INSERT INTO events (user_id, type, data)
  VALUES (NEW.user_id, CASE TG_OP WHEN 'INSERT' THEN 'token.created' ELSE 'token.revoked' END,
          jsonb_build_object('token_id', NEW.id, 'name', NEW.name, 'scopes', NEW.scopes));
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER api_tokens_log_arrival AFTER INSERT ON api_tokens
  FOR EACH ROW EXECUTE FUNCTION log_token_event();

CREATE OR REPLACE TRIGGER api_tokens_log_end AFTER UPDATE ON api_tokens
  FOR EACH ROW WHEN (OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL)
  EXECUTE FUNCTION log_token_event();
