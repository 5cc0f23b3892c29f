-- Refuses, at commit, an account that differs from its last ledger entry, even if a trigger wrote it.
CREATE OR REPLACE FUNCTION check_account_follows_ledger() RETURNS trigger LANGUAGE plpgsql
  SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  PERFORM FROM ledger_entries
    WHERE user_id = NEW.user_id AND seq = NEW.seq
      AND available_after = NEW.available AND held_after = NEW.held;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the account of user % changed without a ledger entry', NEW.user_id;
  END IF;
  RETURN NULL;
END $$;

-- Drop the trigger first, because a constraint trigger cannot be replaced.
DROP TRIGGER IF EXISTS accounts_equal_ledger ON accounts;
CREATE CONSTRAINT TRIGGER accounts_equal_ledger AFTER UPDATE ON accounts
  DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (
    (OLD.user_id, OLD.available, OLD.held, OLD.spent, OLD.seq)
    IS DISTINCT FROM (NEW.user_id, NEW.available, NEW.held, NEW.spent, NEW.seq))
  EXECUTE FUNCTION check_account_follows_ledger();
