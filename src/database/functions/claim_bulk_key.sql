-- A bulk whose key is that of an order is not accepted: the statement inserts nothing. Orders are placed under the
-- lock of the account as well, so that either sees the other. It is a trigger because the version before inserts
-- bulks without asking.
CREATE OR REPLACE FUNCTION claim_bulk_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM lock_accounts(ARRAY[NEW.user_id]);
  IF EXISTS (SELECT FROM requests_of_key(NEW.user_id, NEW.idempotency_key) WHERE order_id IS NOT NULL) THEN
    RETURN NULL;
  END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER bulk_prolongations_claim_key BEFORE INSERT ON bulk_prolongations
  FOR EACH ROW EXECUTE FUNCTION claim_bulk_key();
