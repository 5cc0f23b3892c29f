import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index';

/**
 * Customers list their orders of a period, too: the index has the times of orders beside their ids. Without
 * them the planner reads the whole period by the primary key, once for each state and kind.
 */
export class OrdersByTime1765800000001 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await createIndexConcurrently(
      runner,
      'orders_told_idx',
      'ON orders (user_id, state, kind, id) INCLUDE (created_at)',
    );
    await runner.query('SET lock_timeout = 0');
    await runner.query('DROP INDEX CONCURRENTLY IF EXISTS orders_listed_idx');
    await runner.query('RESET lock_timeout');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX orders_listed_idx ON orders (user_id, state, kind, id);
      DROP INDEX orders_told_idx;
    `);
  }
}
