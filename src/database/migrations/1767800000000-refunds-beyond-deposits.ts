import type { QueryRunner } from 'typeorm';

/**
 * More than a deposit may be returned: a refund that counted as failed is listed after all, when staff have
 * refunded the deposit again. What the provider returned can always be recorded.
 */
export class RefundsBeyondDeposits1767800000000 {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE deposits DROP CONSTRAINT deposits_refunded_check');
  }

  async down(): Promise<void> {
    throw new Error('Migrations go forward only.');
  }
}
