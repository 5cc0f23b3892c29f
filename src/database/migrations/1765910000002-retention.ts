import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What is removed once it has been kept for long enough: where each walk through a table has come to; the
 * history of a closed order may be cut to its end; and lines of the audit log that changed nothing may go
 * after a year, by a function of the owner's. Both floors hold for the owner as well.
 */
export class Retention1765910000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE retention_marks (
        name text NOT NULL,
        last_id bigint NOT NULL,
        CONSTRAINT retention_marks_pkey PRIMARY KEY (name)
      );

      CREATE OR REPLACE FUNCTION note_order_state() RETURNS trigger LANGUAGE plpgsql AS $$
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
        NEW.history := NEW.history || jsonb_build_object('state', NEW.state,
          'at', to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'));
        RETURN NEW;
      END $$;

      CREATE OR REPLACE TRIGGER staff_actions_append_only BEFORE UPDATE OR TRUNCATE ON staff_actions
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('the log of what staff do is append-only');
      CREATE TRIGGER staff_actions_stay BEFORE DELETE ON staff_actions
        FOR EACH ROW WHEN (
          OLD.at >= now() - interval '365 days' OR OLD.after IS NOT NULL OR OLD.idempotency_key IS NOT NULL)
        EXECUTE FUNCTION refuse_change('the log of what staff do is append-only');

      CREATE FUNCTION forget_staff_reads(after_id bigint, days integer, row_limit integer)
      RETURNS TABLE (removed bigint, last bigint)
      LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
        WITH next AS MATERIALIZED (
          SELECT id, at < now() - make_interval(days => days) AS is_old
            FROM staff_actions WHERE id > after_id ORDER BY id LIMIT row_limit
        ),
        old AS MATERIALIZED (
          SELECT id FROM next
           WHERE id < coalesce((SELECT min(id) FROM next WHERE NOT is_old), 9223372036854775807)
        ),
        removed AS (
          DELETE FROM staff_actions AS line
           WHERE id = ANY (ARRAY(SELECT id FROM old)) AND after IS NULL AND idempotency_key IS NULL
             AND NOT EXISTS (SELECT FROM ledger_entries WHERE action_id = line.id)
          RETURNING 1
        )
        SELECT (SELECT count(*) FROM removed), (SELECT max(id) FROM old)
      $$;
      REVOKE EXECUTE ON FUNCTION forget_staff_reads(bigint, integer, integer) FROM PUBLIC;

      -- What these jobs did is done by the job retention now.
      DELETE FROM job_runs WHERE name IN ('replay-window', 'ended-links', 'trial-history');
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP FUNCTION forget_staff_reads(bigint, integer, integer);
      DROP TRIGGER staff_actions_stay ON staff_actions;
      CREATE OR REPLACE TRIGGER staff_actions_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON staff_actions
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('the log of what staff do is append-only');
      CREATE OR REPLACE FUNCTION note_order_state() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP = 'INSERT' THEN
          NEW.history := '[]';
        ELSIF NEW.history <> OLD.history THEN
          RAISE EXCEPTION 'the history of an order is written by its trigger';
        END IF;
        NEW.history := NEW.history || jsonb_build_object('state', NEW.state,
          'at', to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'));
        RETURN NEW;
      END $$;
      DROP TABLE retention_marks;
    `);
  }
}
