import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Every order paid three times for two indexes of which it made little use. By `attempt` an order was found
 * when the reply to its statement was lost; it is found among those of its user. When a user was served last
 * is told by the last order that was sent for them. The version before finds both without the indexes, only
 * more slowly.
 */
export class OrdersWithFewerIndexes1765700000001 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE orders DROP CONSTRAINT IF EXISTS orders_attempt_key');
    await runner.query('SET lock_timeout = 0');
    await runner.query('DROP INDEX CONCURRENTLY IF EXISTS orders_served_idx');
    await runner.query('RESET lock_timeout');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX orders_served_idx ON orders (user_id, submitted_at) WHERE submitted_at IS NOT NULL;
      ALTER TABLE orders ADD CONSTRAINT orders_attempt_key UNIQUE (attempt);
    `);
  }
}
