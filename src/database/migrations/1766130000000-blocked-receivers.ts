import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What staff switched off for a customer stays off, whatever the customer deletes and makes. */
export class BlockedReceivers1766130000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE blocked_receivers (
        user_id bigint NOT NULL,
        receiver text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT blocked_receivers_pkey PRIMARY KEY (user_id, receiver),
        CONSTRAINT blocked_receivers_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id)
      )
    `);
    await runner.query(`
      INSERT INTO blocked_receivers (user_id, receiver)
      SELECT user_id,
             rtrim(regexp_replace(host, ':[0-9]+$', ''), '.') || ':'
               || coalesce(substring(host FROM ':([0-9]+)$'), CASE WHEN url LIKE 'https:%' THEN '443' ELSE '80' END)
        FROM (SELECT user_id, url, substring(url FROM '^[^:]+://([^/?#]*)') AS host FROM webhooks
               WHERE disabled_reason = 'operator') AS off
          ON CONFLICT DO NOTHING
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE blocked_receivers');
  }
}
