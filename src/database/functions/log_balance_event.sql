-- Writes an event for each credit and refund, but not for released holds, which the order's event reports.
CREATE OR REPLACE FUNCTION log_balance_event() RETURNS trigger LANGUAGE plpgsql
  SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  INSERT INTO events (user_id, type, data)
  VALUES (NEW.user_id, CASE NEW.kind WHEN 'refund' THEN 'balance.refunded' ELSE 'balance.credited' END,
          jsonb_build_object('seq', NEW.seq, 'order_id', NEW.order_id, 'amount', NEW.available_delta::text,
                             'available', NEW.available_after::text));
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER ledger_entries_log_event AFTER INSERT ON ledger_entries
  FOR EACH ROW WHEN (
    NEW.kind IN ('topup', 'refund') OR (NEW.kind = 'adjustment' AND NEW.available_delta > 0))
  EXECUTE FUNCTION log_balance_event();
