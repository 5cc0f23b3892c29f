import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index';

/**
 * Two indexes for customers who read their own books. One finds entries of a kind, in words of customers,
 * among very many others. The other sums up what a customer spent in a month without reading the orders.
 */
export class ACustomersOwnBooks1765801000000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await createIndexConcurrently(
      runner,
      'ledger_entries_shown_kind_idx',
      `ON ledger_entries (user_id, (
         CASE kind WHEN 'topup' THEN 'credit'
                   WHEN 'adjustment' THEN CASE WHEN available_delta < 0 THEN 'debit' ELSE 'credit' END
                   ELSE kind END), seq)`,
    );
    await createIndexConcurrently(
      runner,
      'orders_spent_idx',
      'ON orders (user_id, closed_at) INCLUDE (country, version, captured) WHERE captured > 0',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX IF EXISTS ledger_entries_shown_kind_idx, orders_spent_idx');
  }
}
