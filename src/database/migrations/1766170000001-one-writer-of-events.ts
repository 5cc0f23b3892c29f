import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Events are written by a function of their module, whichever statement they tell of. */
export class OneWriterOfEvents1766170000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE FUNCTION log_event(of_user bigint, of_type text, what jsonb) RETURNS void LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO events (user_id, type, data) VALUES (of_user, of_type, what);
      END $$;
    `);
    await runner.query(
      changeNotes(
        String.raw`INSERT INTO events \(user_id, type, data\)\s+SELECT (NEW\.user_id[^\n]+)`,
        String.raw`PERFORM log_event(\1)`,
      ),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      changeNotes(
        String.raw`PERFORM log_event\((NEW\.user_id[^\n]+)\)\n`,
        String.raw`INSERT INTO events (user_id, type, data) SELECT \1` + '\n',
      ),
    );
    await runner.query('DROP FUNCTION log_event(bigint, text, jsonb)');
  }
}

const changeNotes = (pattern: string, replacement: string): string => `
  DO $do$ BEGIN
    EXECUTE regexp_replace(pg_get_functiondef('note_proxy_changes()'::regprocedure),
                           $text$${pattern}$text$, $text$${replacement}$text$);
  END $do$`;
