import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index';

/** What is due is read in the announced order, and what is open by its end. */
export class DueRenewals1766050000001 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await createIndexConcurrently(
      runner,
      'renewals_due_idx',
      `ON renewals (next_try_at, date_end_before, proxy_id) WHERE state IN ('planned', 'skipped')`,
    );
    await createIndexConcurrently(runner, 'renewals_placed_idx', `ON renewals (id) WHERE state = 'placed'`);
    await createIndexConcurrently(
      runner,
      'renewals_open_idx',
      `ON renewals (date_end_before, id) WHERE state IN ('planned', 'skipped')`,
    );
    await runner.query('DROP INDEX CONCURRENTLY IF EXISTS renewals_next_try_at_idx');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'CREATE INDEX renewals_next_try_at_idx ON renewals (next_try_at) WHERE next_try_at IS NOT NULL',
    );
    await runner.query('DROP INDEX renewals_due_idx');
    await runner.query('DROP INDEX renewals_placed_idx');
    await runner.query('DROP INDEX renewals_open_idx');
  }
}
