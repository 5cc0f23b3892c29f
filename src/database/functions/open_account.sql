-- Gives every new user an empty account, so that no code that posts to the ledger has to create one first.
-- It writes with the rights of the owner, as apply_ledger_entries() does.
CREATE OR REPLACE FUNCTION open_account() RETURNS trigger LANGUAGE plpgsql
  SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  INSERT INTO accounts (user_id) VALUES (NEW.id);
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER users_open_account AFTER INSERT ON users
  FOR EACH ROW EXECUTE FUNCTION open_account();
