import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Changes of proxies are noted row by row, so that updates that change nothing cost next to nothing. */
export class ProxyChangesByRow1765804000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TRIGGER proxies_note_changes ON proxies;
      CREATE OR REPLACE FUNCTION note_proxy_changes() RETURNS trigger LANGUAGE plpgsql
        SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
      BEGIN
        INSERT INTO proxy_changes (proxy_id, user_id, kind, before, after)
        SELECT NEW.id, NEW.user_id, change.kind, change.before, change.after
          FROM (VALUES
            ('moved', (OLD.host, OLD.port) <> (NEW.host, NEW.port),
             OLD.host || ':' || OLD.port, NEW.host || ':' || NEW.port),
            ('credentials_changed', (OLD.login, OLD.password) <> (NEW.login, NEW.password), NULL, NULL),
            ('type_changed', OLD.proxy_type <> NEW.proxy_type, OLD.proxy_type, NEW.proxy_type),
            ('end_changed', OLD.date_end IS DISTINCT FROM NEW.date_end,
             to_char(OLD.date_end AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
             to_char(NEW.date_end AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
            ('withdrawn', OLD.withdrawn_at IS NULL AND NEW.withdrawn_at IS NOT NULL, NULL, NULL),
            ('returned', OLD.withdrawn_at IS NOT NULL AND NEW.withdrawn_at IS NULL, NULL, NULL)
          ) AS change (kind, is_one, before, after)
         WHERE change.is_one;
        RETURN NULL;
      END $$;

      CREATE TRIGGER proxies_note_changes AFTER UPDATE ON proxies
        FOR EACH ROW WHEN (
          (OLD.host, OLD.port, OLD.login, OLD.password, OLD.proxy_type, OLD.date_end, OLD.withdrawn_at)
            IS DISTINCT FROM
          (NEW.host, NEW.port, NEW.login, NEW.password, NEW.proxy_type, NEW.date_end, NEW.withdrawn_at))
        EXECUTE FUNCTION note_proxy_changes();
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TRIGGER proxies_note_changes ON proxies;
      CREATE OR REPLACE FUNCTION note_proxy_changes() RETURNS trigger LANGUAGE plpgsql
        SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
      BEGIN
        INSERT INTO proxy_changes (proxy_id, user_id, kind, before, after)
        SELECT now_is.id, now_is.user_id, change.kind, change.before, change.after
          FROM was JOIN now_is ON now_is.id = was.id
          CROSS JOIN LATERAL (VALUES
            ('moved', (was.host, was.port) <> (now_is.host, now_is.port),
             was.host || ':' || was.port, now_is.host || ':' || now_is.port),
            ('credentials_changed', (was.login, was.password) <> (now_is.login, now_is.password), NULL, NULL),
            ('type_changed', was.proxy_type <> now_is.proxy_type, was.proxy_type, now_is.proxy_type),
            ('end_changed', was.date_end IS DISTINCT FROM now_is.date_end,
             to_char(was.date_end AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
             to_char(now_is.date_end AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
            ('withdrawn', was.withdrawn_at IS NULL AND now_is.withdrawn_at IS NOT NULL, NULL, NULL),
            ('returned', was.withdrawn_at IS NOT NULL AND now_is.withdrawn_at IS NULL, NULL, NULL)
          ) AS change (kind, is_one, before, after)
         WHERE (was.host, was.port, was.login, was.password, was.proxy_type, was.date_end, was.withdrawn_at)
                 IS DISTINCT FROM
               (now_is.host, now_is.port, now_is.login, now_is.password, now_is.proxy_type, now_is.date_end,
                now_is.withdrawn_at)
           AND change.is_one;
        RETURN NULL;
      END $$;

      CREATE TRIGGER proxies_note_changes AFTER UPDATE ON proxies
        REFERENCING OLD TABLE AS was NEW TABLE AS now_is
        FOR EACH STATEMENT EXECUTE FUNCTION note_proxy_changes();
    `);
  }
}
