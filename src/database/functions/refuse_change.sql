-- Refuses a statement that would change immutable rows. The trigger's argument is the reason.
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% of % is not allowed: %', TG_OP, TG_TABLE_NAME, TG_ARGV[0];
END $$;

CREATE OR REPLACE TRIGGER ledger_entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entries
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('the ledger is append-only');

-- Stops manual writes by the tables' owner. check_account_follows_ledger() checks writes inside triggers.
CREATE OR REPLACE TRIGGER accounts_follow_ledger BEFORE UPDATE ON accounts
  FOR EACH ROW WHEN (
    pg_trigger_depth() = 0
    AND (OLD.user_id, OLD.available, OLD.held, OLD.spent, OLD.seq)
        IS DISTINCT FROM (NEW.user_id, NEW.available, NEW.held, NEW.spent, NEW.seq))
  EXECUTE FUNCTION refuse_change('a balance changes through ledger_entries only');
CREATE OR REPLACE TRIGGER accounts_start_empty BEFORE INSERT ON accounts
  FOR EACH ROW WHEN (NEW.available <> 0 OR NEW.held <> 0 OR NEW.seq <> 0)
  EXECUTE FUNCTION refuse_change('an account starts empty');
CREATE OR REPLACE TRIGGER accounts_stay BEFORE DELETE OR TRUNCATE ON accounts
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('an account stays with its ledger');

-- Allows erase_audit_lines() to clear text, but no other change.
CREATE OR REPLACE TRIGGER audit_log_append_only BEFORE UPDATE ON audit_log
  FOR EACH ROW WHEN (
    OLD.idempotency_key IS NOT NULL OR NEW.idempotency_key IS NOT NULL
    OR NEW.request <> '{}' OR NEW.reason IS NOT NULL OR NEW.before <> '{}' OR NEW.after <> '{}'
    OR (OLD.id, OLD.at, OLD.via, OLD.user_id, OLD.token_id, OLD.action, OLD.target_type, OLD.target_id,
        OLD.refusal, OLD.ip, OLD.request_id, OLD.before IS NULL, OLD.after IS NULL)
       IS DISTINCT FROM
       (NEW.id, NEW.at, NEW.via, NEW.user_id, NEW.token_id, NEW.action, NEW.target_type, NEW.target_id,
        NEW.refusal, NEW.ip, NEW.request_id, NEW.before IS NULL, NEW.after IS NULL))
  EXECUTE FUNCTION refuse_change('the log of what staff do is append-only');
CREATE OR REPLACE TRIGGER audit_log_not_emptied BEFORE TRUNCATE ON audit_log
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('the log of what staff do is append-only');
-- After a year, forget_staff_reads() may delete lines that recorded no change.
CREATE OR REPLACE TRIGGER audit_log_stay BEFORE DELETE ON audit_log
  FOR EACH ROW WHEN (
    OLD.at >= now() - interval '365 days' OR OLD.after IS NOT NULL OR OLD.idempotency_key IS NOT NULL)
  EXECUTE FUNCTION refuse_change('the log of what staff do is append-only');

-- The only allowed change is to set a rule's end, once, and not in the past.
CREATE OR REPLACE TRIGGER price_rules_end_once BEFORE UPDATE ON price_rules
  FOR EACH ROW WHEN (
    OLD.ended_at IS NOT NULL OR NEW.ended_at IS NULL OR OLD.valid_to <= now()
    OR NEW.valid_to IS NULL OR NEW.valid_to < now() OR NEW.valid_to > OLD.valid_to
    OR (NEW.id, NEW.user_id, NEW.country, NEW.version, NEW.min_period, NEW.max_period, NEW.markup_percent,
        NEW.valid_from, NEW.created_at, NEW.created_by, NEW.reason)
       IS DISTINCT FROM
       (OLD.id, OLD.user_id, OLD.country, OLD.version, OLD.min_period, OLD.max_period, OLD.markup_percent,
        OLD.valid_from, OLD.created_at, OLD.created_by, OLD.reason))
  EXECUTE FUNCTION refuse_change('a price rule is ended once, and else stays as it is');
CREATE OR REPLACE TRIGGER price_rules_stay BEFORE DELETE OR TRUNCATE ON price_rules
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('orders keep the rule they were priced with');
CREATE OR REPLACE TRIGGER default_markups_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON default_markups
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('it is history');

-- Keeps a proxy's references from changing, so that check_proxy_references() needs to run only on inserts.
CREATE OR REPLACE TRIGGER proxies_keep_references
  BEFORE UPDATE OF user_id, order_id, assigned_action_id ON proxies
  FOR EACH ROW EXECUTE FUNCTION refuse_change('a proxy stays with its order');

CREATE OR REPLACE TRIGGER proxy_changes_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON proxy_changes
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('it is history');
