-- Counts a change of what these users see of their proxies, in `users.proxies_revision`: the trigger on `proxies`
-- calls it in the statement of the change. The rows are locked in the order of their ids, so that two statements
-- never deadlock. Returns how many of the users there are.
CREATE OR REPLACE FUNCTION count_list_changes(of_users bigint[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  counted bigint;
BEGIN
  UPDATE users SET proxies_revision = proxies_revision + 1
   WHERE id IN (SELECT id FROM users WHERE id = ANY (of_users) ORDER BY id FOR NO KEY UPDATE);
  GET DIAGNOSTICS counted = ROW_COUNT;
  RETURN counted;
END $$;
