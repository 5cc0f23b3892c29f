import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What the service's role needs when it may neither write `accounts` nor create temporary tables: functions
 * that write the accounts with the owner's rights, and a table for what the provider lists. Which rights the
 * role has is granted after the migrations, by `grantServiceRole()`.
 */
export class ServiceRole1765100000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER FUNCTION apply_ledger_entry() SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp;
      ALTER FUNCTION open_account() SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp;

      CREATE FUNCTION lock_account(of_user bigint) RETURNS TABLE (balance numeric, held numeric)
      LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
        SELECT available, held FROM accounts WHERE user_id = of_user FOR UPDATE
      $$;
      REVOKE EXECUTE ON FUNCTION lock_account(bigint) FROM PUBLIC;

      CREATE FUNCTION check_account_follows_ledger() RETURNS trigger
      LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
      BEGIN
        PERFORM FROM ledger_entries
          WHERE user_id = NEW.user_id AND seq = NEW.seq
            AND available_after = NEW.available AND held_after = NEW.held;
        IF NOT FOUND THEN
          RAISE EXCEPTION 'the account of user % changed without a ledger entry', NEW.user_id;
        END IF;
        RETURN NULL;
      END $$;
      CREATE CONSTRAINT TRIGGER accounts_equal_ledger AFTER UPDATE ON accounts
        DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION check_account_follows_ledger();

      CREATE UNLOGGED TABLE provider_listings (
        audit uuid NOT NULL,
        provider_proxy_id text NOT NULL,
        tag text NOT NULL,
        date_end timestamptz NOT NULL,
        listed_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT provider_listings_pkey PRIMARY KEY (audit, provider_proxy_id)
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE provider_listings;
      DROP TRIGGER accounts_equal_ledger ON accounts;
      DROP FUNCTION check_account_follows_ledger();
      DROP FUNCTION lock_account(bigint);
      ALTER FUNCTION open_account() SECURITY INVOKER RESET search_path;
      ALTER FUNCTION apply_ledger_entry() SECURITY INVOKER RESET search_path;
    `);
  }
}
