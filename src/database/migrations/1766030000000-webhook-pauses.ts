import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A webhook that fails is tried now and then with one event, however many wait for it. One whose receiver
 * answers 410 Gone is switched off for a reason of its own.
 */
export class WebhookPauses1766030000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE webhooks
        ADD COLUMN failures_in_a_row integer NOT NULL DEFAULT 0,
        ADD COLUMN paused_until timestamptz,
        DROP CONSTRAINT webhooks_disabled_reason_check,
        ADD CONSTRAINT webhooks_disabled_reason_check
          CHECK (disabled_reason IN ('customer', 'failing', 'gone', 'operator', 'deleted')) NOT VALID
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`UPDATE webhooks SET disabled_reason = 'failing' WHERE disabled_reason = 'gone'`);
    await runner.query(`
      ALTER TABLE webhooks
        DROP CONSTRAINT webhooks_disabled_reason_check,
        ADD CONSTRAINT webhooks_disabled_reason_check
          CHECK (disabled_reason IN ('customer', 'failing', 'operator', 'deleted')),
        DROP COLUMN paused_until,
        DROP COLUMN failures_in_a_row
    `);
  }
}
