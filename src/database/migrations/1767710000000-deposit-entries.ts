import type { QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index';

/** A payment is credited once, and a refund of a deposit has one entry of each kind. */
export class DepositEntries1767710000000 {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    const unique = { unique: true };
    await createIndexConcurrently(
      runner,
      'ledger_entries_payment_id_key',
      'ON ledger_entries (payment_id) WHERE payment_id IS NOT NULL',
      unique,
    );
    await createIndexConcurrently(
      runner,
      'ledger_entries_refund_id_kind_key',
      'ON ledger_entries (refund_id, kind) WHERE refund_id IS NOT NULL',
      unique,
    );
  }

  async down(): Promise<void> {
    throw new Error('Migrations go forward only.');
  }
}
