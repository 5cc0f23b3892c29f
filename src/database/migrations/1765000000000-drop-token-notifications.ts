import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Undoes `TokenChanges1764800000000`: tokens are looked up for every request, so nobody listens for their changes. */
export class DropTokenNotifications1765000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TRIGGER users_tell_token_change ON users;
      DROP TRIGGER api_tokens_tell_change ON api_tokens;
      DROP FUNCTION tell_token_change();
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE FUNCTION tell_token_change() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM pg_notify('token_changes', '');
        RETURN NULL;
      END $$;
      CREATE TRIGGER api_tokens_tell_change
        AFTER UPDATE OF user_id, token_hash, scopes, expires_at, revoked_at, allowed_ips, daily_limit
           OR DELETE OR TRUNCATE ON api_tokens
        FOR EACH STATEMENT EXECUTE FUNCTION tell_token_change();
      CREATE TRIGGER users_tell_token_change AFTER UPDATE OF blocked_at ON users
        FOR EACH STATEMENT EXECUTE FUNCTION tell_token_change();
    `);
  }
}
