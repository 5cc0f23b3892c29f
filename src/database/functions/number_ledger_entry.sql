-- Numbers a ledger entry inserted without a number, and fills in its resulting balances. Bulk statements
-- number their entries themselves, under lock_accounts(). SECURITY DEFINER, because the service's role may
-- not write accounts.
CREATE OR REPLACE FUNCTION number_ledger_entry() RETURNS trigger LANGUAGE plpgsql
  SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  last ledger_entries;
BEGIN
  PERFORM FROM accounts WHERE user_id = NEW.user_id FOR UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'user % has no account', NEW.user_id
      USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'ledger_entries_user_id_fkey';
  END IF;
  -- Read the last entry only after locking. The query also sees earlier entries of the same statement.
  SELECT * INTO last FROM ledger_entries WHERE user_id = NEW.user_id ORDER BY seq DESC LIMIT 1;
  NEW.seq := coalesce(last.seq, 0) + 1;
  NEW.available_after := coalesce(last.available_after, 0) + NEW.available_delta;
  NEW.held_after := coalesce(last.held_after, 0) + NEW.held_delta;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER ledger_entries_number BEFORE INSERT ON ledger_entries
  FOR EACH ROW WHEN (NEW.seq IS NULL OR NEW.seq = 0)
  EXECUTE FUNCTION number_ledger_entry();
