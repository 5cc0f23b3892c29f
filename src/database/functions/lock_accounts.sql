-- Locks accounts in order of user id and returns them. SECURITY DEFINER, because FOR UPDATE requires the
-- privilege to write accounts. The loop looks up one row at a time, so that no plan reads the whole table.
CREATE OR REPLACE FUNCTION lock_accounts(of_users bigint[]) RETURNS SETOF accounts LANGUAGE plpgsql
  SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  of_user bigint;
  account accounts;
BEGIN
  FOR of_user IN SELECT DISTINCT named FROM unnest(of_users) AS named ORDER BY named LOOP
    SELECT * INTO account FROM accounts WHERE user_id = of_user FOR UPDATE;
    IF FOUND THEN
      RETURN NEXT account;
    END IF;
  END LOOP;
END $$;
REVOKE EXECUTE ON FUNCTION lock_accounts(bigint[]) FROM PUBLIC;
