import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index';

/** Finds the newest event, up to which readers have seen everything, and the oldest, which go after a month. */
export class EventsByPosition1766010000002 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await createIndexConcurrently(
      runner,
      'events_position_idx',
      'ON events (position) WHERE position IS NOT NULL',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX IF EXISTS events_position_idx');
  }
}
