import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index';

/** Says of tokens that staff issued before by which token that was, as the audit log has it. */
export class TokenIssuers1765500000001 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      UPDATE api_tokens SET issued_by = issuing.token_id
        FROM staff_actions issuing
       WHERE issuing.action = 'tokens.create' AND issuing.after IS NOT NULL
         AND issuing.token_id IS NOT NULL AND issuing.target_type = 'token'
         AND issuing.target_id = api_tokens.id::text AND api_tokens.issued_by IS NULL
    `);
    await runner.query(`
      -- A constraint that is valid already is not validated again.
      -- squawk-ignore prefer-robust-stmts
      ALTER TABLE api_tokens VALIDATE CONSTRAINT api_tokens_issued_by_fkey
    `);
    await createIndexConcurrently(
      runner,
      'api_tokens_issued_by_idx',
      'ON api_tokens (issued_by) WHERE issued_by IS NOT NULL',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX IF EXISTS api_tokens_issued_by_idx');
  }
}
