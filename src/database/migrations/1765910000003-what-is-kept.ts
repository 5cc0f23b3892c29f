import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index';

/**
 * Finds what is old enough to go. No statement of a purchase writes the first index: an answer comes into it
 * when its logins and passwords are removed.
 */
export class WhatIsKept1765910000003 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await createIndexConcurrently(
      runner,
      'orders_kept_answers_idx',
      `ON orders ((answer #>> '{0,date_end}'), id)
        WHERE answer IS NOT NULL AND answer #> '{0,password}' IS NULL`,
    );
    await createIndexConcurrently(runner, 'token_spending_day_idx', 'ON token_spending (day)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX IF EXISTS orders_kept_answers_idx, token_spending_day_idx');
  }
}
