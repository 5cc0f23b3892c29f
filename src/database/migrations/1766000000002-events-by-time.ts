import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index';

/** Finds the events of a period. Ranges (BRIN) would not: rows are stored wherever old ones have left room. */
export class EventsByTime1766000000002 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await createIndexConcurrently(runner, 'events_at_idx', 'ON events (at)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX IF EXISTS events_at_idx');
  }
}
