import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The latest change of type of each proxy: whether one is under way, and whether its outcome is known. */
export class ProxyTypeChanges1765807000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE proxy_type_changes (
        proxy_id bigint NOT NULL,
        attempt uuid NOT NULL,
        attempt_until timestamptz NOT NULL,
        settled_at timestamptz,
        CONSTRAINT proxy_type_changes_pkey PRIMARY KEY (proxy_id),
        CONSTRAINT proxy_type_changes_proxy_id_fkey FOREIGN KEY (proxy_id)
          REFERENCES proxies (id) ON DELETE CASCADE
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE proxy_type_changes');
  }
}
