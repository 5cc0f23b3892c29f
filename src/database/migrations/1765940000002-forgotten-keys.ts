import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index';

/** Each order under an idempotency key asks whether its user has orders whose keys were forgotten. */
export class ForgottenKeys1765940000002 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await createIndexConcurrently(
      runner,
      'orders_key_forgotten_idx',
      'ON orders (user_id, id) WHERE key_forgotten',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX orders_key_forgotten_idx');
  }
}
