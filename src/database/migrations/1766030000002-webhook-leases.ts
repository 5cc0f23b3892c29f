import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index';

/** How many attempts are under way for a webhook is counted for each claim. */
export class WebhookLeases1766030000002 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await createIndexConcurrently(
      runner,
      'webhook_deliveries_leased_idx',
      'ON webhook_deliveries (webhook_id) WHERE lease_until IS NOT NULL',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX webhook_deliveries_leased_idx');
  }
}
