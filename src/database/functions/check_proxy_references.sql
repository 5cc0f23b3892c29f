-- Refuses proxies whose order is missing or belongs to another user, or whose staff action is missing.
-- Replaces foreign keys, which are checked row by row. The referenced rows are never deleted, so checking
-- inserts is enough. The loops look up one row at a time, so that no plan reads a whole table.
CREATE OR REPLACE FUNCTION check_proxy_references() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  named record;
BEGIN
  FOR named IN SELECT DISTINCT order_id, user_id FROM arrived ORDER BY order_id LOOP
    PERFORM FROM orders WHERE id = named.order_id AND user_id = named.user_id FOR KEY SHARE;
    IF NOT FOUND THEN
      RAISE foreign_key_violation
        USING MESSAGE = 'a proxy of an order that does not exist or is not of its user',
              CONSTRAINT = 'proxies_order_id_fkey';
    END IF;
  END LOOP;
  FOR named IN SELECT DISTINCT assigned_action_id FROM arrived WHERE assigned_action_id IS NOT NULL LOOP
    PERFORM FROM audit_log WHERE id = named.assigned_action_id;
    IF NOT FOUND THEN
      RAISE foreign_key_violation
        USING MESSAGE = 'a proxy that was assigned by nothing that staff did',
              CONSTRAINT = 'proxies_assigned_action_id_fkey';
    END IF;
  END LOOP;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER proxies_check_references AFTER INSERT ON proxies
  REFERENCING NEW TABLE AS arrived
  FOR EACH STATEMENT EXECUTE FUNCTION check_proxy_references();
