-- Creates an empty account for each new user. SECURITY DEFINER for the same reason as apply_ledger_entries().
CREATE OR REPLACE FUNCTION open_account() RETURNS trigger LANGUAGE plpgsql
  SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  INSERT INTO accounts (user_id) VALUES (NEW.id);
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER users_open_account AFTER INSERT ON users
  FOR EACH ROW EXECUTE FUNCTION open_account();
