import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index';

/** Finds a user's prolongations among very many purchases. A purchase does not write it. */
export class ProlongationsOfAUser1765750000000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await createIndexConcurrently(
      runner,
      'orders_prolongations_idx',
      'ON orders (user_id, created_at, id) WHERE proxy_id IS NOT NULL',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX IF EXISTS orders_prolongations_idx');
  }
}
