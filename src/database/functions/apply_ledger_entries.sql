-- Applies a statement's new ledger entries to their accounts. Refuses entries with a wrong balance, and gaps
-- between an account's entries. No other code writes balances.
-- SECURITY DEFINER, because the service's role may not write accounts. The fixed `search_path` prevents
-- callers from shadowing tables with their own.
CREATE OR REPLACE FUNCTION apply_ledger_entries() RETURNS trigger LANGUAGE plpgsql
  SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  all_follow boolean;
BEGIN
  WITH numbered AS (
    SELECT *, seq - row_number() OVER earlier AS seq_before,
           available_after - sum(available_delta) OVER earlier AS available_before,
           held_after - sum(held_delta) OVER earlier AS held_before
      FROM arrived WINDOW earlier AS (PARTITION BY user_id ORDER BY seq)
  ),
  posted AS (
    -- For each entry, compute the account's state before the statement by subtracting this entry and the
    -- statement's earlier entries. If there are no gaps, all of an account's entries yield the same state and
    -- form one group.
    SELECT user_id, seq_before, available_before, held_before, max(seq) AS last_seq,
           sum(available_delta) AS available_delta, sum(held_delta) AS held_delta,
           sum(CASE kind WHEN 'capture' THEN -held_delta
                         WHEN 'refund' THEN -available_delta
                         ELSE 0 END) AS spent
      FROM numbered GROUP BY user_id, seq_before, available_before, held_before
  ),
  applied AS (
    UPDATE accounts
       SET available = accounts.available + posted.available_delta, held = accounts.held + posted.held_delta,
           spent = accounts.spent + posted.spent, seq = posted.last_seq
      FROM posted
     WHERE accounts.user_id = posted.user_id
       AND (accounts.seq, accounts.available, accounts.held) = (seq_before, available_before, held_before)
    RETURNING 1
  )
  SELECT (SELECT count(*) FROM applied) = (SELECT count(*) FROM posted) INTO all_follow;
  IF NOT all_follow THEN
    RAISE EXCEPTION 'ledger entries do not follow their accounts';
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER ledger_entries_apply AFTER INSERT ON ledger_entries
  REFERENCING NEW TABLE AS arrived
  FOR EACH STATEMENT EXECUTE FUNCTION apply_ledger_entries();
