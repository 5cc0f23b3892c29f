import type { QueryRunner } from 'typeorm';

/** The requests to the provider of payments, their receipts, and the provider's reasons against them. */
export class PaymentRequests1767850000000 {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE deposits
        -- What creates the payment, as it was sent first: the provider refuses another one with the same key.
        ADD COLUMN request text,
        -- The customer's address for the fiscal receipt. Null: the one of the setting.
        ADD COLUMN receipt_email text,
        -- What became of the receipt: 'pending', 'succeeded' or 'canceled'. Null: none was requested.
        ADD COLUMN receipt_registration text,
        -- Why the provider refused or canceled the payment.
        ADD COLUMN provider_reason text;
      ALTER TABLE deposit_refunds
        ADD COLUMN request text,
        ADD COLUMN receipt_registration text,
        ADD COLUMN provider_reason text`);
  }

  async down(): Promise<void> {
    throw new Error('Migrations go forward only.');
  }
}
