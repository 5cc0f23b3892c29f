import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What replicas tell each other about the requests of a minute. Unlogged, because a crash of the database
 * may forget it.
 */
export class RequestCounts1765600000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE UNLOGGED TABLE request_counts (
        name text NOT NULL,
        key text NOT NULL,
        minute bigint NOT NULL,
        total integer NOT NULL,
        CONSTRAINT request_counts_pkey PRIMARY KEY (name, key, minute)
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE request_counts');
  }
}
