import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Rate permits for calls that have waited while many others went, and exact prices as a priority of their own.
 * Replicas of the version before call the same function; they know four priorities, and still write
 * `orders_in_a_row`, which nothing reads any more.
 */
export class WaitingAges1765400000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE call_slots ADD COLUMN passed_over integer[] NOT NULL DEFAULT '{}';

      CREATE OR REPLACE FUNCTION take_call_slot(
        of_provider text, asker uuid, wanted smallint[], calls integer, window_ms double precision)
      RETURNS TABLE (priority smallint, wait_ms double precision, granted_at text) LANGUAGE plpgsql AS $$
      DECLARE
        slots call_slots;
        moment timestamptz;
        free_at timestamptz;
        waiting smallint[];
        best smallint;
      BEGIN
        -- A permit is valid for 60 ms and cannot wait for a slow disk.
        PERFORM set_config('synchronous_commit', 'off', true);
        SELECT * INTO slots FROM call_slots WHERE provider = of_provider FOR UPDATE;
        IF NOT FOUND THEN
          INSERT INTO call_slots (provider) VALUES (of_provider) ON CONFLICT DO NOTHING;
          SELECT * INTO slots FROM call_slots WHERE provider = of_provider FOR UPDATE;
        END IF;
        moment := clock_timestamp();
        IF slots.granted[cardinality(slots.granted)] > moment
           OR slots.paused_until > moment + interval '1 minute' THEN
          -- The clock was set back. A whole window without calls makes up for what the row no longer tells.
          slots.granted := '{}';
          slots.paused_until := moment + make_interval(secs => window_ms / 1000);
          UPDATE call_slots SET granted = slots.granted, paused_until = slots.paused_until
           WHERE provider = of_provider;
        END IF;
        free_at := slots.paused_until;
        IF cardinality(slots.granted) >= calls THEN
          free_at := greatest(free_at,
            slots.granted[cardinality(slots.granted) - calls + 1] + make_interval(secs => window_ms / 1000));
        END IF;

        -- A replica that does not ask again in time is gone, and its demand no longer counts.
        INSERT INTO call_demand VALUES (of_provider, asker, wanted, greatest(free_at, moment) + interval '500 ms')
        ON CONFLICT (provider, holder)
        DO UPDATE SET priorities = excluded.priorities, expires_at = excluded.expires_at;
        IF free_at > moment THEN
          RETURN QUERY
          SELECT NULL::smallint, extract(epoch FROM free_at - moment)::double precision * 1000, NULL::text;
          RETURN;
        END IF;

        waiting := ARRAY(
          SELECT DISTINCT kind FROM call_demand demand, unnest(demand.priorities) AS kind
           WHERE demand.provider = of_provider AND demand.expires_at > moment ORDER BY kind);
        SELECT kind INTO best FROM unnest(waiting) AS kind
         ORDER BY coalesce(slots.passed_over[kind], 0) < CASE kind WHEN 2 THEN 2 ELSE 8 END, kind LIMIT 1;
        IF best <> ALL (wanted) THEN
          -- Another replica has the more urgent call.
          RETURN QUERY SELECT NULL::smallint, 25::double precision, NULL::text;
          RETURN;
        END IF;

        UPDATE call_slots
           SET granted = (slots.granted || moment)[greatest(1, cardinality(slots.granted) + 2 - calls):],
               passed_over = ARRAY(
                 SELECT CASE WHEN kind <> best AND kind = ANY (waiting)
                             THEN coalesce(slots.passed_over[kind], 0) + 1 ELSE 0 END
                   FROM generate_series(1, 5) AS kind ORDER BY kind)
         WHERE provider = of_provider;
        -- The replica's other calls keep their demand until it asks for them, within moments.
        wanted := wanted[:array_position(wanted, best) - 1] || wanted[array_position(wanted, best) + 1:];
        UPDATE call_demand demand SET priorities = wanted
         WHERE demand.provider = of_provider AND demand.holder = asker;
        RETURN QUERY SELECT best, 0::double precision, moment::text;
      END $$;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE OR REPLACE FUNCTION take_call_slot(
        of_provider text, asker uuid, wanted smallint[], calls integer, window_ms double precision)
      RETURNS TABLE (priority smallint, wait_ms double precision, granted_at text) LANGUAGE plpgsql AS $$
      DECLARE
        slots call_slots;
        moment timestamptz;
        free_at timestamptz;
        best smallint;
      BEGIN
        -- A permit is valid for 60 ms and cannot wait for a slow disk.
        PERFORM set_config('synchronous_commit', 'off', true);
        SELECT * INTO slots FROM call_slots WHERE provider = of_provider FOR UPDATE;
        IF NOT FOUND THEN
          INSERT INTO call_slots (provider) VALUES (of_provider) ON CONFLICT DO NOTHING;
          SELECT * INTO slots FROM call_slots WHERE provider = of_provider FOR UPDATE;
        END IF;
        moment := clock_timestamp();
        IF slots.granted[cardinality(slots.granted)] > moment
           OR slots.paused_until > moment + interval '1 minute' THEN
          -- The clock was set back. A whole window without calls makes up for what the row no longer tells.
          slots.granted := '{}';
          slots.paused_until := moment + make_interval(secs => window_ms / 1000);
          UPDATE call_slots SET granted = slots.granted, paused_until = slots.paused_until
           WHERE provider = of_provider;
        END IF;
        free_at := slots.paused_until;
        IF cardinality(slots.granted) >= calls THEN
          free_at := greatest(free_at,
            slots.granted[cardinality(slots.granted) - calls + 1] + make_interval(secs => window_ms / 1000));
        END IF;

        -- A replica that does not ask again in time is gone, and its demand no longer counts.
        INSERT INTO call_demand VALUES (of_provider, asker, wanted, greatest(free_at, moment) + interval '500 ms')
        ON CONFLICT (provider, holder)
        DO UPDATE SET priorities = excluded.priorities, expires_at = excluded.expires_at;
        IF free_at > moment THEN
          RETURN QUERY
          SELECT NULL::smallint, extract(epoch FROM free_at - moment)::double precision * 1000, NULL::text;
          RETURN;
        END IF;

        SELECT min(waiting) INTO best
          FROM call_demand demand, unnest(demand.priorities) AS waiting
         WHERE demand.provider = of_provider AND demand.expires_at > moment;
        -- While orders wait, one call in three is left to confirmations.
        IF best = 1 AND slots.orders_in_a_row >= 2 AND EXISTS (
          SELECT FROM call_demand demand
           WHERE demand.provider = of_provider AND demand.expires_at > moment
             AND 2::smallint = ANY (demand.priorities)
        ) THEN
          best := 2;
        END IF;
        IF best <> ALL (wanted) THEN
          -- Another replica has the more urgent call.
          RETURN QUERY SELECT NULL::smallint, 25::double precision, NULL::text;
          RETURN;
        END IF;

        UPDATE call_slots
           SET granted = (slots.granted || moment)[greatest(1, cardinality(slots.granted) + 2 - calls):],
               orders_in_a_row = CASE best WHEN 1 THEN slots.orders_in_a_row + 1 ELSE 0 END
         WHERE provider = of_provider;
        -- The replica's other calls keep their demand until it asks for them, within moments.
        wanted := wanted[:array_position(wanted, best) - 1] || wanted[array_position(wanted, best) + 1:];
        UPDATE call_demand demand SET priorities = wanted
         WHERE demand.provider = of_provider AND demand.holder = asker;
        RETURN QUERY SELECT best, 0::double precision, moment::text;
      END $$;

      ALTER TABLE call_slots DROP COLUMN passed_over;
    `);
  }
}
