-- Writes an event whenever customers are told another state of an order, in the statement of that change. Why
-- an order was refunded is told as coarsely as its request was: what the shop lacks is not the customer's.
--
-- It writes with the rights of the owner, so that replicas of the version before can.
CREATE OR REPLACE FUNCTION log_order_event() RETURNS trigger LANGUAGE plpgsql
  SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  told CONSTANT text := CASE NEW.state WHEN 'confirming' THEN 'being_confirmed'
                                       WHEN 'review' THEN 'being_confirmed' ELSE NEW.state END;
BEGIN
  INSERT INTO events (user_id, type, data)
  VALUES (NEW.user_id, 'order.' || told, jsonb_build_object(
    'order_id', NEW.id, 'kind', NEW.kind, 'state', told, 'count', NEW.count,
    'delivered', trunc(NEW.captured / NEW.unit_price), 'price', NEW.captured::text,
    'reason', CASE WHEN NEW.state = 'refunded' THEN
      CASE WHEN NEW.failure IN ('count', 'out-of-stock') THEN 'not-enough-proxies'
           WHEN NEW.failure = 'period' THEN 'period-not-sold'
           WHEN NEW.failure = 'country' THEN 'country-not-sold'
           WHEN NEW.failure = 'not-found' AND NEW.kind = 'prolongation' THEN 'cannot-be-prolonged'
           ELSE 'unavailable' END END));
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER orders_log_first_event AFTER INSERT ON orders
  FOR EACH ROW WHEN (NEW.state NOT IN ('reserved', 'submitting'))
  EXECUTE FUNCTION log_order_event();

CREATE OR REPLACE TRIGGER orders_log_event AFTER UPDATE ON orders
  FOR EACH ROW WHEN (
    NEW.state <> OLD.state AND NEW.state NOT IN ('reserved', 'submitting')
    AND NOT (OLD.state IN ('confirming', 'review') AND NEW.state IN ('confirming', 'review')))
  EXECUTE FUNCTION log_order_event();
