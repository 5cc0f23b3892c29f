import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What `count_proxies_change()` takes for a change. */
const countChangesOf = (shown: string): string => `
  CREATE OR REPLACE FUNCTION count_proxies_change() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    concerned bigint[];
    changed bigint;
  BEGIN
    IF TG_OP = 'UPDATE' THEN
      SELECT array_agg(DISTINCT user_id) INTO concerned FROM (
        (SELECT ${shown} FROM is_now EXCEPT SELECT ${shown} FROM was)
        UNION ALL
        (SELECT ${shown} FROM was EXCEPT SELECT ${shown} FROM is_now)
      ) AS changed;
    ELSE
      SELECT array_agg(DISTINCT user_id) INTO concerned FROM is_now;
    END IF;
    UPDATE users SET proxies_revision = proxies_revision + 1
     WHERE id IN (SELECT id FROM users WHERE id = ANY (concerned) ORDER BY id FOR NO KEY UPDATE);
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed <> coalesce(cardinality(concerned), 0) THEN
      RAISE foreign_key_violation
        USING MESSAGE = 'a proxy of a user who does not exist', CONSTRAINT = 'proxies_user_id_fkey';
    END IF;
    RETURN NULL;
  END $$;`;

const SHOWN = `id, user_id, host, port, login, password, proxy_type, country, version, date_start, date_end,
  withdrawn_at, descr`;

/** Customers give their proxies tags of their own. The default is a constant: no row is written. */
export class TagsOfCustomers1765804000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE proxies ADD COLUMN tags text[] NOT NULL DEFAULT '{}';
      ${countChangesOf(`${SHOWN}, tags`)}
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ${countChangesOf(SHOWN)}
      ALTER TABLE proxies DROP COLUMN tags;
    `);
  }
}
