import type { MigrationInterface, QueryRunner } from 'typeorm';

const SHOWN =
  'id, user_id, host, port, login, password, proxy_type, country, version, date_start, date_end, withdrawn_at, descr';

/**
 * A number for each user that grows with every change of what they see of their proxies: what was made of the proxies before is as
 * good as new while it stays.
 */
export class Revisions1764700000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE users ADD COLUMN proxies_revision bigint NOT NULL DEFAULT 0;

      -- In the order of ids, so that two statements never wait for each other in a circle.
      CREATE FUNCTION count_proxies_change() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        concerned bigint[];
        changed bigint;
      BEGIN
        IF TG_OP = 'UPDATE' THEN
          -- What the user does not see, the flag for staff for one, is no change.
          SELECT array_agg(DISTINCT user_id) INTO concerned FROM (
            (SELECT ${SHOWN} FROM is_now EXCEPT SELECT ${SHOWN} FROM was)
            UNION ALL
            (SELECT ${SHOWN} FROM was EXCEPT SELECT ${SHOWN} FROM is_now)
          ) AS changed;
        ELSE
          SELECT array_agg(DISTINCT user_id) INTO concerned FROM is_now;
        END IF;
        UPDATE users SET proxies_revision = proxies_revision + 1
         WHERE id IN (SELECT id FROM users WHERE id = ANY (concerned) ORDER BY id FOR NO KEY UPDATE);
        GET DIAGNOSTICS changed = ROW_COUNT;
        IF changed <> coalesce(cardinality(concerned), 0) THEN
          RAISE foreign_key_violation USING MESSAGE = 'a proxy of a user who does not exist', CONSTRAINT = 'proxies_user_id_fkey';
        END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER proxies_count_arrivals AFTER INSERT ON proxies
        REFERENCING NEW TABLE AS is_now
        FOR EACH STATEMENT EXECUTE FUNCTION count_proxies_change();
      CREATE TRIGGER proxies_count_departures AFTER DELETE ON proxies
        REFERENCING OLD TABLE AS is_now
        FOR EACH STATEMENT EXECUTE FUNCTION count_proxies_change();
      CREATE TRIGGER proxies_count_changes AFTER UPDATE ON proxies
        REFERENCING OLD TABLE AS was NEW TABLE AS is_now
        FOR EACH STATEMENT EXECUTE FUNCTION count_proxies_change();

      -- The trigger finds that a user does not exist once a statement, this row by row. Who has proxies has orders, and stays.
      ALTER TABLE proxies DROP CONSTRAINT proxies_user_id_fkey;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE proxies ADD CONSTRAINT proxies_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id);
      DROP TRIGGER proxies_count_changes ON proxies;
      DROP TRIGGER proxies_count_departures ON proxies;
      DROP TRIGGER proxies_count_arrivals ON proxies;
      DROP FUNCTION count_proxies_change();
      ALTER TABLE users DROP COLUMN proxies_revision;
    `);
  }
}
