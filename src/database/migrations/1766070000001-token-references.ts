import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index';

const INDEXES = {
  orders_token_id_idx: 'ON orders (token_id) WHERE token_id IS NOT NULL',
  export_links_token_id_idx: 'ON export_links (token_id)',
  staff_actions_token_id_idx: 'ON staff_actions (token_id) WHERE token_id IS NOT NULL',
} as const;

/** Finds what refers to a token, so that one to which nothing refers can be removed without reading tables. */
export class TokenReferences1766070000001 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- A constraint that is valid already is not validated again.
      -- squawk-ignore prefer-robust-stmts
      ALTER TABLE api_tokens VALIDATE CONSTRAINT api_tokens_origin_check
    `);
    for (const [name, definition] of Object.entries(INDEXES)) {
      await createIndexConcurrently(runner, name, definition);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const name of Object.keys(INDEXES)) await runner.query(`DROP INDEX IF EXISTS ${name}`);
  }
}
