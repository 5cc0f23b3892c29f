import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What the audit log says of refused requests, and by which token another one was issued. */
export class RefusalsAndIssuers1765500000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // No row is rewritten or read: the columns are empty or have a constant default.
    await runner.query(`
      ALTER TABLE staff_actions ADD COLUMN refusal text;
      ALTER TABLE api_tokens
        ADD COLUMN issued_by bigint,
        ADD COLUMN limited_by bigint[] NOT NULL DEFAULT '{}';
      -- The next migration validates it, which locks neither table for writers.
      ALTER TABLE api_tokens
        ADD CONSTRAINT api_tokens_issued_by_fkey FOREIGN KEY (issued_by) REFERENCES api_tokens (id) NOT VALID;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE api_tokens DROP COLUMN limited_by, DROP COLUMN issued_by;
      ALTER TABLE staff_actions DROP COLUMN refusal;
    `);
  }
}
