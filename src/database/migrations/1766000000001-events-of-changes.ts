import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The triggers that write events. Each statement here is a transaction of its own and locks one table, so that
 * no purchase waits for it in a circle, and may be run again.
 */
export class EventsOfChanges1766000000001 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE OR REPLACE TRIGGER orders_log_first_event AFTER INSERT ON orders
        FOR EACH ROW WHEN (NEW.state NOT IN ('reserved', 'submitting'))
        EXECUTE FUNCTION log_order_event()`);
    await runner.query(`
      CREATE OR REPLACE TRIGGER orders_log_event AFTER UPDATE ON orders
        FOR EACH ROW WHEN (
          NEW.state <> OLD.state AND NEW.state NOT IN ('reserved', 'submitting')
          AND NOT (OLD.state IN ('confirming', 'review') AND NEW.state IN ('confirming', 'review')))
        EXECUTE FUNCTION log_order_event()`);
    await runner.query(`
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
        INSERT INTO events (user_id, type, data)
        SELECT NEW.user_id, event.type, jsonb_build_object('proxy_id', NEW.id::text) || event.data
          FROM (VALUES
            ('proxy.moved', (OLD.host, OLD.port) <> (NEW.host, NEW.port), '{}'::jsonb),
            ('proxy.prolonged', NEW.date_end > OLD.date_end + interval '6 hours', jsonb_build_object(
               'date_end', to_char(NEW.date_end AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
               'date_end_before', to_char(OLD.date_end AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))),
            ('proxy.withdrawn', OLD.withdrawn_at IS NULL AND NEW.withdrawn_at IS NOT NULL, jsonb_build_object(
               'date_end', to_char(NEW.date_end AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))),
            ('proxy.expired', OLD.active AND NOT NEW.active AND NEW.withdrawn_at IS NULL
                              AND NEW.date_end <= clock_timestamp(), jsonb_build_object(
               'date_end', to_char(NEW.date_end AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
          ) AS event (type, is_one, data)
         WHERE event.is_one;
        RETURN NULL;
      END $$`);
    await runner.query(`
      CREATE OR REPLACE TRIGGER proxies_note_changes AFTER UPDATE ON proxies
        FOR EACH ROW WHEN (
          (OLD.host, OLD.port, OLD.login, OLD.password, OLD.proxy_type, OLD.date_end, OLD.withdrawn_at)
            IS DISTINCT FROM
          (NEW.host, NEW.port, NEW.login, NEW.password, NEW.proxy_type, NEW.date_end, NEW.withdrawn_at)
          OR (OLD.active AND NOT NEW.active))
        EXECUTE FUNCTION note_proxy_changes()`);
    await runner.query(`
      CREATE OR REPLACE TRIGGER ledger_entries_log_event AFTER INSERT ON ledger_entries
        FOR EACH ROW WHEN (
          NEW.kind IN ('topup', 'refund') OR (NEW.kind = 'adjustment' AND NEW.available_delta > 0))
        EXECUTE FUNCTION log_balance_event()`);
    await runner.query(`
      ALTER TABLE accounts ADD COLUMN IF NOT EXISTS low_balance numeric(14,2);
      CREATE OR REPLACE TRIGGER accounts_follow_ledger BEFORE UPDATE ON accounts
        FOR EACH ROW WHEN (
          pg_trigger_depth() = 0
          AND (OLD.user_id, OLD.available, OLD.held, OLD.spent, OLD.seq)
              IS DISTINCT FROM (NEW.user_id, NEW.available, NEW.held, NEW.spent, NEW.seq))
        EXECUTE FUNCTION refuse_change('a balance changes through ledger_entries only');
      DROP TRIGGER accounts_equal_ledger ON accounts;
      CREATE CONSTRAINT TRIGGER accounts_equal_ledger AFTER UPDATE ON accounts
        DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW WHEN (
          (OLD.user_id, OLD.available, OLD.held, OLD.spent, OLD.seq)
          IS DISTINCT FROM (NEW.user_id, NEW.available, NEW.held, NEW.spent, NEW.seq))
        EXECUTE FUNCTION check_account_follows_ledger();
      CREATE OR REPLACE TRIGGER accounts_log_low_balance AFTER UPDATE ON accounts
        FOR EACH ROW WHEN (OLD.available >= NEW.low_balance AND NEW.available < NEW.low_balance)
        EXECUTE FUNCTION log_low_balance()`);
    await runner.query(`
      CREATE OR REPLACE TRIGGER api_tokens_log_arrival AFTER INSERT ON api_tokens
        FOR EACH ROW EXECUTE FUNCTION log_token_event()`);
    await runner.query(`
      CREATE OR REPLACE TRIGGER api_tokens_log_end AFTER UPDATE ON api_tokens
        FOR EACH ROW WHEN (OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL)
        EXECUTE FUNCTION log_token_event()`);
    // A transaction that begins from now on finds all triggers.
    await runner.query(`
      UPDATE installation SET events_began_at = clock_timestamp() WHERE events_began_at IS NULL`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('UPDATE installation SET events_began_at = NULL');
    await runner.query('DROP TRIGGER IF EXISTS api_tokens_log_end ON api_tokens');
    await runner.query('DROP TRIGGER IF EXISTS api_tokens_log_arrival ON api_tokens');
    await runner.query(`
      DROP TRIGGER IF EXISTS accounts_log_low_balance ON accounts;
      DROP TRIGGER accounts_equal_ledger ON accounts;
      CREATE CONSTRAINT TRIGGER accounts_equal_ledger AFTER UPDATE ON accounts
        DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION check_account_follows_ledger();
      CREATE OR REPLACE TRIGGER accounts_follow_ledger BEFORE UPDATE ON accounts
        FOR EACH ROW WHEN (pg_trigger_depth() = 0)
        EXECUTE FUNCTION refuse_change('a balance changes through ledger_entries only');
      ALTER TABLE accounts DROP COLUMN IF EXISTS low_balance`);
    await runner.query('DROP TRIGGER IF EXISTS ledger_entries_log_event ON ledger_entries');
    await runner.query(`
      CREATE OR REPLACE TRIGGER proxies_note_changes AFTER UPDATE ON proxies
        FOR EACH ROW WHEN (
          (OLD.host, OLD.port, OLD.login, OLD.password, OLD.proxy_type, OLD.date_end, OLD.withdrawn_at)
            IS DISTINCT FROM
          (NEW.host, NEW.port, NEW.login, NEW.password, NEW.proxy_type, NEW.date_end, NEW.withdrawn_at))
        EXECUTE FUNCTION note_proxy_changes()`);
    await runner.query(`
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
      END $$`);
    await runner.query('DROP TRIGGER IF EXISTS orders_log_event ON orders');
    await runner.query('DROP TRIGGER IF EXISTS orders_log_first_event ON orders');
  }
}
