-- Counts a change of what these users see of their proxies, in `users.proxies_revision`: the trigger on
-- `proxies` calls it in the statement of the change. The rows are locked in the order of their ids, so that
-- two statements never deadlock. Returns how many of the users there are.
CREATE OR REPLACE FUNCTION count_list_changes(of_users bigint[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  counted bigint;
BEGIN
  -- Apart from the update: after a wait it would find the rows as they were before, and lock them once more,
  -- behind the statements that wait for this transaction by then.
  PERFORM FROM users WHERE id = ANY (of_users) ORDER BY id FOR NO KEY UPDATE;
  UPDATE users SET proxies_revision = proxies_revision + 1 WHERE id = ANY (of_users);
  GET DIAGNOSTICS counted = ROW_COUNT;
  RETURN counted;
END $$;
