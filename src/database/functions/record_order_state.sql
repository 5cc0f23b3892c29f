-- Records each state of an order and when it began. No other code may write the history. A month after the
-- order was closed, the history may be truncated to its last entry.
CREATE OR REPLACE FUNCTION record_order_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    NEW.history := '[]';
  ELSIF NEW.history <> OLD.history THEN
    IF NEW.state = OLD.state AND OLD.closed_at < now() - interval '30 days'
       AND NEW.history = jsonb_build_array(OLD.history -> -1) THEN
      RETURN NEW;
    END IF;
    RAISE EXCEPTION 'the history of an order is written by its trigger';
  END IF;
  NEW.history := NEW.history || jsonb_build_object('state', NEW.state, 'at', iso_text(clock_timestamp()));
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER orders_record_first_state BEFORE INSERT ON orders
  FOR EACH ROW EXECUTE FUNCTION record_order_state();
CREATE OR REPLACE TRIGGER orders_record_state BEFORE UPDATE ON orders
  FOR EACH ROW WHEN (NEW.state <> OLD.state OR NEW.history <> OLD.history)
  EXECUTE FUNCTION record_order_state();
