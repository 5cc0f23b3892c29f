-- Writes an event when an order's public state changes. SECURITY DEFINER, so that replicas of the previous
-- version can write events.
CREATE OR REPLACE FUNCTION log_order_event() RETURNS trigger LANGUAGE plpgsql
  SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  shown CONSTANT text := public_state(NEW.state);
BEGIN
  INSERT INTO events (user_id, type, data)
  VALUES (NEW.user_id, 'order.' || shown, jsonb_build_object(
    'order_id', NEW.id, 'kind', NEW.kind, 'state', shown, 'count', NEW.count,
    'delivered', trunc(NEW.captured / NEW.unit_price), 'price', NEW.captured::text,
    'reason', CASE WHEN NEW.state = 'canceled' THEN public_failure(NEW.kind, NEW.failure) END));
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER orders_log_first_event AFTER INSERT ON orders
  FOR EACH ROW WHEN (public_state(NEW.state) <> 'open')
  EXECUTE FUNCTION log_order_event();

CREATE OR REPLACE TRIGGER orders_log_event AFTER UPDATE ON orders
  FOR EACH ROW WHEN (public_state(NEW.state) <> public_state(OLD.state) AND public_state(NEW.state) <> 'open')
  EXECUTE FUNCTION log_order_event();
