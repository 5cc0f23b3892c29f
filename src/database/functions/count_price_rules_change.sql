-- Counts the changes of price rules, so that each replica can check with one cheap read whether its copy of
-- the rules is current. The counter's row lock numbers the changes in commit order, so a replica that has
-- read a number has read all changes before it.
CREATE OR REPLACE FUNCTION count_price_rules_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE price_rules_revision SET revision = revision + 1;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER price_rules_count_change AFTER INSERT OR UPDATE ON price_rules
  FOR EACH STATEMENT EXECUTE FUNCTION count_price_rules_change();
