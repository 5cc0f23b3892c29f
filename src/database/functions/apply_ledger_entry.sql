-- Makes a ledger entry change its account, so that nothing else has to write a balance. The entry gets its
-- number in the account and the balances after it. The account's row lock puts concurrent entries of a user
-- in order, and the checks of `accounts` refuse an entry that would overdraw it.
--
-- It writes with the rights of the owner: the service's role may insert entries, and may not write accounts.
-- The search path is fixed, so that no caller can put another table of that name before this one.
CREATE OR REPLACE FUNCTION apply_ledger_entry() RETURNS trigger LANGUAGE plpgsql
  SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  UPDATE accounts
     SET available = available + NEW.available_delta, held = held + NEW.held_delta, seq = seq + 1,
         spent = spent + CASE NEW.kind WHEN 'capture' THEN -NEW.held_delta
                                       WHEN 'refund' THEN -NEW.available_delta
                                       ELSE 0 END
   WHERE user_id = NEW.user_id
  RETURNING seq, available, held INTO NEW.seq, NEW.available_after, NEW.held_after;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'user % has no account', NEW.user_id
      USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'ledger_entries_user_id_fkey';
  END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER ledger_entries_apply BEFORE INSERT ON ledger_entries
  FOR EACH ROW EXECUTE FUNCTION apply_ledger_entry();
