import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index';

/**
 * Customers list their orders: by id, of each state and kind. All of a customer's orders are those of every
 * state and kind, merged, so that one index serves all these lists; each order writes it three times. Refunded
 * orders are found by their key with an index of their own, which no other order writes.
 */
export class OrdersOfACustomer1765800000000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await createIndexConcurrently(runner, 'orders_listed_idx', 'ON orders (user_id, state, kind, id)');
    await createIndexConcurrently(
      runner,
      'orders_refunded_keys_idx',
      `ON orders (user_id, idempotency_key, id) WHERE idempotency_key IS NOT NULL AND state = 'refunded'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX IF EXISTS orders_listed_idx, orders_refunded_keys_idx');
  }
}
