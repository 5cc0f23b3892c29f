import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What replicas share about the upstream: one rate of calls, one copy of the catalogue, the balance there, groups of orders that
 * travel in one call, and what each replica says of itself.
 */
export class UpstreamAtItsLimits1764200000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE orders
        ADD COLUMN group_id bigint,
        ADD COLUMN claim uuid,
        ADD COLUMN travels_alone boolean NOT NULL DEFAULT false,
        ADD CONSTRAINT orders_group_id_fkey FOREIGN KEY (group_id) REFERENCES orders (id);
      UPDATE orders SET group_id = id WHERE submitted_at IS NOT NULL;
      CREATE INDEX orders_group_id_idx ON orders (group_id);
      CREATE INDEX orders_in_review_idx ON orders (id) WHERE state = 'review';
      CREATE INDEX orders_served_idx ON orders (user_id, submitted_at) WHERE submitted_at IS NOT NULL;

      ALTER TABLE proxies ADD COLUMN withdrawn_at timestamptz;
      UPDATE proxies SET withdrawn_at = now(), active = false WHERE absences >= 2;
      CREATE INDEX proxies_inactive_idx ON proxies (date_end) WHERE NOT active AND withdrawn_at IS NULL;

      ALTER TABLE job_runs ADD COLUMN report jsonb;

      CREATE TABLE catalogue_copies (
        key text NOT NULL,
        value jsonb,
        fetched_at timestamptz,
        changed_at timestamptz NOT NULL DEFAULT now(),
        refreshing_until timestamptz,
        CONSTRAINT catalogue_copies_pkey PRIMARY KEY (key)
      );

      CREATE TABLE provider_accounts (
        provider text NOT NULL,
        balance numeric(14,4) NOT NULL,
        seen_at timestamptz NOT NULL,
        is_low boolean NOT NULL DEFAULT false,
        CONSTRAINT provider_accounts_pkey PRIMARY KEY (provider)
      );

      CREATE UNLOGGED TABLE replica_reports (
        holder uuid NOT NULL,
        reported_at timestamptz NOT NULL,
        report jsonb NOT NULL,
        CONSTRAINT replica_reports_pkey PRIMARY KEY (holder)
      );

      -- Logged: after a crash of the database all but the last instants still count.
      CREATE TABLE call_slots (
        provider text NOT NULL,
        granted timestamptz[] NOT NULL DEFAULT '{}',
        orders_in_a_row integer NOT NULL DEFAULT 0,
        paused_until timestamptz NOT NULL DEFAULT '-infinity',
        CONSTRAINT call_slots_pkey PRIMARY KEY (provider)
      );
      CREATE UNLOGGED TABLE call_demand (
        provider text NOT NULL,
        holder uuid NOT NULL,
        priorities smallint[] NOT NULL,
        expires_at timestamptz NOT NULL,
        CONSTRAINT call_demand_pkey PRIMARY KEY (provider, holder)
      );
    `);

    // Priorities: 1 orders, 2 confirmations, 3 prices, 4 the rest. `wanted` names one twice when more than one waits.
    await runner.query(`
      CREATE FUNCTION take_call_slot(of_provider text, asker uuid, wanted smallint[], calls integer, window_ms double precision)
      RETURNS TABLE (priority smallint, wait_ms double precision, granted_at text) LANGUAGE plpgsql AS $$
      DECLARE
        slots call_slots;
        moment timestamptz;
        free_at timestamptz;
        best smallint;
      BEGIN
        -- A turn counts for 60 ms: it cannot wait for a slow disk.
        PERFORM set_config('synchronous_commit', 'off', true);
        SELECT * INTO slots FROM call_slots WHERE provider = of_provider FOR UPDATE;
        IF NOT FOUND THEN
          INSERT INTO call_slots (provider) VALUES (of_provider) ON CONFLICT DO NOTHING;
          SELECT * INTO slots FROM call_slots WHERE provider = of_provider FOR UPDATE;
        END IF;
        moment := clock_timestamp();
        IF slots.granted[cardinality(slots.granted)] > moment OR slots.paused_until > moment + interval '1 minute' THEN
          -- The clock was set back.
          slots.granted := '{}';
          slots.paused_until := moment + make_interval(secs => window_ms / 1000);
          UPDATE call_slots SET granted = slots.granted, paused_until = slots.paused_until WHERE provider = of_provider;
        END IF;
        free_at := slots.paused_until;
        IF cardinality(slots.granted) >= calls THEN
          free_at := greatest(free_at, slots.granted[cardinality(slots.granted) - calls + 1] + make_interval(secs => window_ms / 1000));
        END IF;

        -- Who does not ask again in time is gone, and stands in nobody's way.
        INSERT INTO call_demand VALUES (of_provider, asker, wanted, greatest(free_at, moment) + interval '500 ms')
        ON CONFLICT (provider, holder) DO UPDATE SET priorities = excluded.priorities, expires_at = excluded.expires_at;
        IF free_at > moment THEN
          RETURN QUERY SELECT NULL::smallint, extract(epoch FROM free_at - moment)::double precision * 1000, NULL::text;
          RETURN;
        END IF;

        SELECT min(waiting) INTO best
          FROM call_demand demand, unnest(demand.priorities) AS waiting
         WHERE demand.provider = of_provider AND demand.expires_at > moment;
        -- While orders wait, one call in three is left to confirmations.
        IF best = 1 AND slots.orders_in_a_row >= 2 AND EXISTS (
          SELECT FROM call_demand demand
           WHERE demand.provider = of_provider AND demand.expires_at > moment AND 2::smallint = ANY (demand.priorities)
        ) THEN
          best := 2;
        END IF;
        IF best <> ALL (wanted) THEN
          RETURN QUERY SELECT NULL::smallint, 25::double precision, NULL::text;
          RETURN;
        END IF;

        UPDATE call_slots
           SET granted = (slots.granted || moment)[greatest(1, cardinality(slots.granted) + 2 - calls):],
               orders_in_a_row = CASE best WHEN 1 THEN slots.orders_in_a_row + 1 ELSE 0 END
         WHERE provider = of_provider;
        -- What else waits there keeps its place until it is asked for, within moments.
        wanted := wanted[:array_position(wanted, best) - 1] || wanted[array_position(wanted, best) + 1:];
        UPDATE call_demand demand SET priorities = wanted WHERE demand.provider = of_provider AND demand.holder = asker;
        RETURN QUERY SELECT best, 0::double precision, moment::text;
      END $$;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP FUNCTION take_call_slot(text, uuid, smallint[], integer, double precision);
      DROP TABLE call_demand, call_slots, replica_reports, provider_accounts, catalogue_copies;
      ALTER TABLE job_runs DROP COLUMN report;
      ALTER TABLE proxies DROP COLUMN withdrawn_at;
      ALTER TABLE orders DROP COLUMN travels_alone, DROP COLUMN claim, DROP COLUMN group_id;
    `);
  }
}
