import type { QueryRunner } from 'typeorm';

const CONSTRAINTS = [
  'ledger_entries_payment_fkey',
  'ledger_entries_refund_fkey',
  'ledger_entries_kind_check',
];

/** Checks the entries of before against the constraints that came with deposits, without a lock that blocks. */
export class DepositConstraints1767720000000 {
  async up(runner: QueryRunner): Promise<void> {
    for (const name of CONSTRAINTS) {
      await runner.query(`ALTER TABLE ledger_entries VALIDATE CONSTRAINT ${name}`);
    }
  }

  async down(): Promise<void> {
    throw new Error('Migrations go forward only.');
  }
}
