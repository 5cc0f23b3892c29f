import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index';

/** Finds the answers whose logins and passwords are to go, by the end of the rental that was answered. */
export class ReplayWindow1765300000000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await createIndexConcurrently(
      runner,
      'orders_answered_credentials_idx',
      `ON orders ((answer #>> '{0,date_end}'), id) WHERE answer #> '{0,password}' IS NOT NULL`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX IF EXISTS orders_answered_credentials_idx');
  }
}
