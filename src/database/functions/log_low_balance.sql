-- Writes an event when the available balance falls below the customer's threshold.
CREATE OR REPLACE FUNCTION log_low_balance() RETURNS trigger LANGUAGE plpgsql
  SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  INSERT INTO events (user_id, type, data)
  VALUES (NEW.user_id, 'balance.low', jsonb_build_object(
    'available', NEW.available::text, 'threshold', NEW.low_balance::text));
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER accounts_log_low_balance AFTER UPDATE ON accounts
  FOR EACH ROW WHEN (OLD.available >= NEW.low_balance AND NEW.available < NEW.low_balance)
  EXECUTE FUNCTION log_low_balance();
