import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How each token came about: those of before were issued by staff, or on the command line. */
export class TokenOrigins1766070000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE api_tokens
        ADD COLUMN origin text NOT NULL DEFAULT 'staff'
    `);
    await runner.query(`
      ALTER TABLE api_tokens
        ADD CONSTRAINT api_tokens_origin_check CHECK (origin IN ('staff', 'customer', 'sign-in')) NOT VALID
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE api_tokens DROP COLUMN origin');
  }
}
