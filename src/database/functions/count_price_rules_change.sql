-- Increments a counter whenever price rules change, so that replicas can check whether their copy is current.
-- The lock on the counter's row makes the changes commit in counter order.
CREATE OR REPLACE FUNCTION count_price_rules_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE price_rules_revision SET revision = revision + 1;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER price_rules_count_change AFTER INSERT OR UPDATE ON price_rules
  FOR EACH STATEMENT EXECUTE FUNCTION count_price_rules_change();
