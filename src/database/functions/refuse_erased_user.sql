-- Refuses data that a request in progress would write for an erased user. An erasure locks the user, so this
-- function waits until it has ended. Orders need no trigger, because only accounts without money are erased.
CREATE OR REPLACE FUNCTION refuse_erased_user() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM users WHERE id = NEW.user_id FOR KEY SHARE;
  IF EXISTS (SELECT FROM users WHERE id = NEW.user_id AND deleted_at IS NOT NULL) THEN
    -- The service returns 503 for this SQLSTATE. When the client retries, its token is already revoked.
    RAISE operator_intervention USING MESSAGE = 'the data of this user was erased';
  END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER api_tokens_not_of_erased BEFORE INSERT ON api_tokens
  FOR EACH ROW EXECUTE FUNCTION refuse_erased_user();
CREATE OR REPLACE TRIGGER webhooks_not_of_erased BEFORE INSERT ON webhooks
  FOR EACH ROW EXECUTE FUNCTION refuse_erased_user();
CREATE OR REPLACE TRIGGER blocked_receivers_not_of_erased BEFORE INSERT ON blocked_receivers
  FOR EACH ROW EXECUTE FUNCTION refuse_erased_user();
CREATE OR REPLACE TRIGGER export_links_not_of_erased BEFORE INSERT ON export_links
  FOR EACH ROW EXECUTE FUNCTION refuse_erased_user();
CREATE OR REPLACE TRIGGER renewal_rules_not_of_erased BEFORE INSERT ON renewal_rules
  FOR EACH ROW EXECUTE FUNCTION refuse_erased_user();
CREATE OR REPLACE TRIGGER renewal_settings_not_of_erased BEFORE INSERT OR UPDATE ON renewal_settings
  FOR EACH ROW EXECUTE FUNCTION refuse_erased_user();
CREATE OR REPLACE TRIGGER bulk_prolongations_not_of_erased BEFORE INSERT ON bulk_prolongations
  FOR EACH ROW EXECUTE FUNCTION refuse_erased_user();
CREATE OR REPLACE TRIGGER proxy_checks_not_of_erased BEFORE INSERT ON proxy_checks
  FOR EACH ROW EXECUTE FUNCTION refuse_erased_user();
CREATE OR REPLACE TRIGGER proxies_not_of_erased BEFORE UPDATE OF label, tags ON proxies
  FOR EACH ROW WHEN (NEW.label IS NOT NULL OR NEW.tags <> '{}') EXECUTE FUNCTION refuse_erased_user();
CREATE OR REPLACE TRIGGER accounts_not_of_erased BEFORE UPDATE OF low_balance ON accounts
  FOR EACH ROW WHEN (NEW.low_balance IS NOT NULL) EXECUTE FUNCTION refuse_erased_user();
CREATE OR REPLACE TRIGGER proxy_refunds_not_of_erased BEFORE INSERT ON proxy_refunds
  FOR EACH ROW WHEN (NEW.state = 'checking') EXECUTE FUNCTION refuse_erased_user();
-- Allows deposits without an idempotency key, because a payment found after the erasure still gets a deposit.
CREATE OR REPLACE TRIGGER deposits_not_of_erased BEFORE INSERT ON deposits
  FOR EACH ROW WHEN (NEW.idempotency_key IS NOT NULL) EXECUTE FUNCTION refuse_erased_user();
CREATE OR REPLACE TRIGGER oauth_codes_not_of_erased BEFORE INSERT ON oauth_codes
  FOR EACH ROW EXECUTE FUNCTION refuse_erased_user();
