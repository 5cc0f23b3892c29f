import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What counts on a complete sweep no longer reads it from the lease of the job; a run has an id. */
export class CompletedSweeps1766150000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE completed_sweeps (
        began_at timestamptz NOT NULL,
        completed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        listed integer NOT NULL,
        CONSTRAINT completed_sweeps_pkey PRIMARY KEY (began_at)
      );
      ALTER TABLE job_runs ADD COLUMN run_id uuid;
    `);
    await runner.query(replaceInPlaceRenewals(FROM_LEASE, FROM_SWEEPS));
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(replaceInPlaceRenewals(FROM_SWEEPS, FROM_LEASE));
    await runner.query(`
      ALTER TABLE job_runs DROP COLUMN run_id;
      DROP TABLE completed_sweeps;
    `);
  }
}

const FROM_LEASE = `succeeded_from FROM job_runs WHERE name = 'sweep' AND succeeded_from > now() - interval '1 hour'`;
const FROM_SWEEPS = `max(began_at) FROM completed_sweeps WHERE began_at BETWEEN now() - interval '1 hour' AND now()`;

const replaceInPlaceRenewals = (before: string, after: string): string => `
  DO $do$ BEGIN
    EXECUTE replace(pg_get_functiondef('place_renewals(jsonb, bigint[])'::regprocedure),
                    $text$${before}$text$, $text$${after}$text$);
  END $do$`;
