import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index';

/**
 * Finds the proxies whose next stage before the end has come, without reading those that were announced. It
 * serves what its predecessor served, so that a purchase writes no more indexes than before.
 */
export class ProxiesByEndAndStage1766010000001 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await createIndexConcurrently(
      runner,
      'proxies_ending_idx',
      'ON proxies (date_end, told_hours) WHERE active',
    );
    await runner.query('DROP INDEX CONCURRENTLY IF EXISTS proxies_expiring_idx');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX proxies_expiring_idx ON proxies (date_end) WHERE active;
      DROP INDEX proxies_ending_idx;
    `);
  }
}
