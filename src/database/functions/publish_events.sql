-- Gives the events that have none the next positions, in the order of their ids, and returns the user of
-- each. Readers go on from positions: ids are taken before the commit and become visible out of order. One
-- transaction at a time gives positions, whose lock ends when they are visible, so that none becomes visible
-- after a greater one. Another one is not waited for: it does the same.
--
-- The positions are a sequence of their own, which `skip_ids` skips after a restore: no cursor that was given
-- out names another event. With its position, an event gets a delivery for each webhook of its user that is
-- enabled and of its type; enabling a webhook takes the same lock. The loop looks up one row at a time, so
-- that no plan ever reads the table from end to end. The service's role may not write positions otherwise.
CREATE OR REPLACE FUNCTION publish_events(how_many integer) RETURNS SETOF bigint LANGUAGE plpgsql
  SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  unpublished bigint;
  event events;
BEGIN
  IF NOT pg_try_advisory_xact_lock(publishing_lock()) THEN
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
