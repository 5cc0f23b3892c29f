import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When a job last succeeded, which its next run does not hide, and how often it is to run. */
export class SuccessesOfJobs1765950000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE job_runs ADD COLUMN succeeded_at timestamptz, ADD COLUMN interval_seconds integer',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE job_runs DROP COLUMN succeeded_at, DROP COLUMN interval_seconds');
  }
}
