import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index';

/** The index by which staff find webhooks that are off or fail. */
export class WebhooksInTrouble1766020000003 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await createIndexConcurrently(
      runner,
      'webhooks_trouble_idx',
      'ON webhooks (id) WHERE disabled_at IS NOT NULL OR failing_since IS NOT NULL',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX webhooks_trouble_idx');
  }
}
