import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What customers have asked to be prolonged together, by their keys. */
export class BulkProlongations1765803000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE bulk_prolongations (
        user_id bigint NOT NULL,
        idempotency_key text NOT NULL,
        request_hash bytea NOT NULL,
        proxy_ids bigint[] NOT NULL,
        max_prices numeric(14,2)[],
        created_at timestamptz NOT NULL DEFAULT now(),
        tried_at timestamptz DEFAULT now(),
        CONSTRAINT bulk_prolongations_pkey PRIMARY KEY (user_id, idempotency_key),
        CONSTRAINT bulk_prolongations_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id),
        CONSTRAINT bulk_prolongations_max_prices_check
          CHECK (cardinality(max_prices) = cardinality(proxy_ids))
      );
      CREATE INDEX bulk_prolongations_tried_at_idx ON bulk_prolongations (tried_at)
        WHERE tried_at IS NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE bulk_prolongations');
  }
}
