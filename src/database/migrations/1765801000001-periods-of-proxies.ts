import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * For how long a proxy was last ordered, so that what renewing 100,000 of them costs needs no look at their
 * orders. Where it is null, it is looked up: what was delivered before is not written again.
 */
export class PeriodsOfProxies1765801000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE proxies ADD COLUMN IF NOT EXISTS period integer');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE proxies DROP COLUMN period');
  }
}
