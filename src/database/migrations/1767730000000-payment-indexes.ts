import type { QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index';

/** Indexes by which records of the audit log go, and by which the audit of a day finds what has changed. */
export class PaymentIndexes1767730000000 {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    // For the foreign keys to the audit log, whose records of reads go after some time.
    for (const table of ['payments', 'deposit_refunds']) {
      const definition = `ON ${table} (action_id) WHERE action_id IS NOT NULL`;
      await createIndexConcurrently(runner, `${table}_action_id_idx`, definition);
    }
    await createIndexConcurrently(runner, 'deposits_closed_at_idx', 'ON deposits (closed_at)');
    await createIndexConcurrently(
      runner,
      'deposit_refunds_created_at_idx',
      'ON deposit_refunds (created_at)',
    );
  }

  async down(): Promise<void> {
    throw new Error('Migrations go forward only.');
  }
}
