import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index';

/**
 * Finds the entries of the last day. They are stored in the order of their time, so that an index of ranges
 * (BRIN) is enough, which takes some kilobytes and costs an entry nothing.
 */
export class EntriesByTime1765910000001 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await createIndexConcurrently(
      runner,
      'ledger_entries_time_idx',
      'ON ledger_entries USING brin (created_at) WITH (pages_per_range = 64)',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX IF EXISTS ledger_entries_time_idx');
  }
}
