import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Deliveries that were there before are held against the rule as well. */
export class DeliveriesHaveEvents1766020000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE webhook_deliveries VALIDATE CONSTRAINT webhook_deliveries_event_id_fkey');
  }

  async down(): Promise<void> {
    // The rule goes with the migration before.
  }
}
