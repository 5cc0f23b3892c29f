import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The rows from before name no price, so that this only reads them, beside readers and writers. */
export class MaxPricesHold1765802000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE orders VALIDATE CONSTRAINT orders_max_price_check');
  }

  async down(): Promise<void> {
    // The migration before drops the constraint with its column.
  }
}
