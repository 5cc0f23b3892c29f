-- Tells every replica at the commit that a token or its user changed.
CREATE OR REPLACE FUNCTION tell_token_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('token_changes', '');
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER api_tokens_tell_change
  AFTER UPDATE OF user_id, token_hash, scopes, expires_at, revoked_at, allowed_ips, daily_limit
    OR DELETE OR TRUNCATE ON api_tokens
  FOR EACH STATEMENT EXECUTE FUNCTION tell_token_change();
CREATE OR REPLACE TRIGGER users_tell_token_change AFTER UPDATE OF blocked_at ON users
  FOR EACH STATEMENT EXECUTE FUNCTION tell_token_change();
