import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Webhooks that were there before are held against the rule as well. */
export class WebhookReasons1766030000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE webhooks VALIDATE CONSTRAINT webhooks_disabled_reason_check');
  }

  async down(): Promise<void> {
    // The rule goes with the migration before.
  }
}
