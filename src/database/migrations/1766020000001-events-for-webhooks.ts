import type { MigrationInterface, QueryRunner } from 'typeorm';

const publishEvents = ({ forWebhooks }: { forWebhooks: boolean }): string => `
  CREATE OR REPLACE FUNCTION publish_events(how_many integer) RETURNS SETOF bigint LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
  DECLARE
    unpublished bigint;
    ${forWebhooks ? 'event events;' : 'of_user bigint;'}
  BEGIN
    IF NOT pg_try_advisory_xact_lock(7283003) THEN
      RETURN;
    END IF;
    FOR unpublished IN SELECT id FROM events WHERE position IS NULL ORDER BY id LIMIT how_many LOOP
      UPDATE events SET position = nextval('event_positions') WHERE id = unpublished
        ${
          forWebhooks
            ? `RETURNING * INTO event;
      INSERT INTO webhook_deliveries (webhook_id, event_id)
      SELECT id, event.id FROM webhooks
       WHERE user_id = event.user_id AND disabled_at IS NULL
         AND CASE event.type WHEN 'test' THEN id = (event.data ->> 'webhook_id')::bigint
                             ELSE types IS NULL OR event.type = ANY (types) END;
      RETURN NEXT event.user_id;`
            : `RETURNING user_id INTO of_user;
      RETURN NEXT of_user;`
        }
    END LOOP;
  END $$`;

/** An event gets its deliveries with its position, and they go with it. */
export class EventsForWebhooks1766020000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE webhook_deliveries ADD CONSTRAINT webhook_deliveries_event_id_fkey
        FOREIGN KEY (event_id) REFERENCES events (id) ON DELETE CASCADE NOT VALID`);
    await runner.query(publishEvents({ forWebhooks: true }));
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(publishEvents({ forWebhooks: false }));
    await runner.query('ALTER TABLE webhook_deliveries DROP CONSTRAINT webhook_deliveries_event_id_fkey');
  }
}
