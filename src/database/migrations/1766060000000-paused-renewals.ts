import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Staff can pause the renewals of the whole installation. */
export class PausedRenewals1766060000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `ALTER TABLE installation ADD COLUMN renewals_paused_at timestamptz,
                                ADD COLUMN renewals_paused_reason text`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE installation DROP COLUMN renewals_paused_at, DROP COLUMN renewals_paused_reason',
    );
  }
}
