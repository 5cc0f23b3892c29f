-- Publishes events: assigns the next positions to them, in id order, and creates their webhook deliveries.
-- Returns each event's user. Readers resume from a position rather than an id, because ids become visible out
-- of order.
-- Holds the advisory lock until commit, so that positions become visible in order. If the lock is taken,
-- returns null without waiting. The loop looks up one row at a time, so that no plan reads a whole table.
CREATE OR REPLACE FUNCTION publish_events(how_many integer) RETURNS SETOF bigint LANGUAGE plpgsql
  SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  unpublished bigint;
  event events;
BEGIN
  IF NOT pg_try_advisory_xact_lock(publishing_lock()) THEN
    RETURN NEXT NULL;
    RETURN;
  END IF;
  FOR unpublished IN SELECT id FROM events WHERE position IS NULL ORDER BY id LIMIT how_many LOOP
    UPDATE events SET position = nextval('event_positions') WHERE id = unpublished
      RETURNING * INTO event;
    INSERT INTO webhook_deliveries (webhook_id, event_id)
    SELECT id, event.id FROM webhooks
     WHERE user_id = event.user_id AND disabled_at IS NULL
       AND webhook_takes(id, types, event.type, event.data);
    RETURN NEXT event.user_id;
  END LOOP;
END $$;
REVOKE EXECUTE ON FUNCTION publish_events(integer) FROM PUBLIC;
