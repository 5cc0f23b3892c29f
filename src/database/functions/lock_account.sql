-- The version before calls it during an upgrade; lock_accounts() stands in its place.
-- Locks an account until the end of the transaction and gives its balances. The service's role may not write
-- accounts, and SELECT … FOR UPDATE asks for that right.
CREATE OR REPLACE FUNCTION lock_account(of_user bigint) RETURNS TABLE (balance numeric, held numeric)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
  SELECT available, held FROM accounts WHERE user_id = of_user FOR UPDATE
$$;
