import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Orders that are asked for together are placed by one statement, and a statement writes each account once,
 * however many entries it posts. The version before goes on working beside it: it posts entries without
 * numbers, which get them from the database as before.
 */
export class OrdersTogether1765700000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE FUNCTION lock_accounts(of_users bigint[]) RETURNS SETOF accounts LANGUAGE plpgsql
        SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
      DECLARE
        of_user bigint;
        account accounts;
      BEGIN
        FOR of_user IN SELECT DISTINCT named FROM unnest(of_users) AS named ORDER BY named LOOP
          SELECT * INTO account FROM accounts WHERE user_id = of_user FOR UPDATE;
          IF FOUND THEN
            RETURN NEXT account;
          END IF;
        END LOOP;
      END $$;
      REVOKE EXECUTE ON FUNCTION lock_accounts(bigint[]) FROM PUBLIC;

      DROP TRIGGER ledger_entries_apply ON ledger_entries;
      DROP FUNCTION apply_ledger_entry();

      CREATE FUNCTION number_ledger_entry() RETURNS trigger LANGUAGE plpgsql
        SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
      DECLARE
        last ledger_entries;
      BEGIN
        PERFORM FROM accounts WHERE user_id = NEW.user_id FOR UPDATE;
        IF NOT FOUND THEN
          RAISE EXCEPTION 'user % has no account', NEW.user_id
            USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'ledger_entries_user_id_fkey';
        END IF;
        -- Read after the lock, and it sees the entries that the same statement has inserted before.
        SELECT * INTO last FROM ledger_entries WHERE user_id = NEW.user_id ORDER BY seq DESC LIMIT 1;
        NEW.seq := coalesce(last.seq, 0) + 1;
        NEW.available_after := coalesce(last.available_after, 0) + NEW.available_delta;
        NEW.held_after := coalesce(last.held_after, 0) + NEW.held_delta;
        RETURN NEW;
      END $$;

      CREATE TRIGGER ledger_entries_number BEFORE INSERT ON ledger_entries
        FOR EACH ROW WHEN (NEW.seq IS NULL OR NEW.seq = 0)
        EXECUTE FUNCTION number_ledger_entry();

      CREATE FUNCTION apply_ledger_entries() RETURNS trigger LANGUAGE plpgsql
        SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
      DECLARE
        all_follow boolean;
      BEGIN
        WITH numbered AS (
          SELECT *, seq - row_number() OVER earlier AS seq_before,
                 available_after - sum(available_delta) OVER earlier AS available_before,
                 held_after - sum(held_delta) OVER earlier AS held_before
            FROM arrived WINDOW earlier AS (PARTITION BY user_id ORDER BY seq)
        ),
        posted AS (
          -- Entries that follow each other agree on the account before the first of them.
          SELECT user_id, seq_before, available_before, held_before, max(seq) AS last_seq,
                 sum(available_delta) AS available_delta, sum(held_delta) AS held_delta,
                 sum(CASE kind WHEN 'capture' THEN -held_delta
                               WHEN 'refund' THEN -available_delta
                               ELSE 0 END) AS spent
            FROM numbered GROUP BY user_id, seq_before, available_before, held_before
        ),
        applied AS (
          UPDATE accounts
             SET available = accounts.available + posted.available_delta, held = accounts.held + posted.held_delta,
                 spent = accounts.spent + posted.spent, seq = posted.last_seq
            FROM posted
           WHERE accounts.user_id = posted.user_id
             AND (accounts.seq, accounts.available, accounts.held) = (seq_before, available_before, held_before)
          RETURNING 1
        )
        SELECT (SELECT count(*) FROM applied) = (SELECT count(*) FROM posted) INTO all_follow;
        IF NOT all_follow THEN
          RAISE EXCEPTION 'ledger entries do not follow their accounts';
        END IF;
        RETURN NULL;
      END $$;

      CREATE TRIGGER ledger_entries_apply AFTER INSERT ON ledger_entries
        REFERENCING NEW TABLE AS arrived
        FOR EACH STATEMENT EXECUTE FUNCTION apply_ledger_entries();

      CREATE FUNCTION place_orders(
        asked jsonb, of_users bigint[], limited bigint[], patience_ms integer)
      RETURNS TABLE ("position" bigint, id bigint, refusal text) LANGUAGE plpgsql AS $$
      DECLARE
        today CONSTANT date := (now() AT TIME ZONE 'UTC')::date;
        tag_prefix CONSTANT text := (SELECT format('prs.%s.', environment) FROM installation);
        wanted record;
        -- The last entry of the user's account, and then the holds that follow it.
        entry ledger_entries;
        holds ledger_entries[] := '{}';
        -- By position: the ids of the orders that are placed.
        ids bigint[] := '{}';
        -- What keeps other orders of the statement from being placed.
        taken text[] := '{}';
      BEGIN
        IF patience_ms IS NOT NULL THEN
          PERFORM set_config('lock_timeout', patience_ms || 'ms', true);
        END IF;
        PERFORM lock_accounts(of_users);
        IF limited <> '{}' THEN
          INSERT INTO token_spending (token_id, day, spent, day_limit)
          SELECT token.id, today, 0, daily_limit FROM api_tokens token
           WHERE token.id = ANY (limited) AND daily_limit IS NOT NULL ORDER BY token.id
          ON CONFLICT DO NOTHING;
          PERFORM FROM token_spending WHERE token_id = ANY (limited) AND day = today ORDER BY token_id FOR UPDATE;
        END IF;

        FOR wanted IN
          SELECT one.* FROM ROWS FROM (jsonb_to_recordset(asked) AS (
            user_id bigint, held numeric, idempotency_key text, proxy_id bigint, limited_by bigint[]
          )) WITH ORDINALITY AS one (user_id, held, idempotency_key, proxy_id, limited_by, place)
          ORDER BY one.user_id, place
        LOOP
          "position" := wanted.place;
          id := NULL;
          refusal := NULL;
          IF wanted.user_id IS DISTINCT FROM entry.user_id THEN
            SELECT user_id, seq, available, held INTO entry.user_id, entry.seq, entry.available_after, entry.held_after
              FROM accounts WHERE user_id = wanted.user_id;
          END IF;
          IF wanted.idempotency_key IS NOT NULL AND (
            format('key %s %s', wanted.user_id, wanted.idempotency_key) = ANY (taken)
            OR EXISTS (SELECT FROM orders WHERE orders.user_id = wanted.user_id
                          AND orders.idempotency_key = wanted.idempotency_key AND state <> 'refunded')) THEN
            refusal := 'key-in-use';
          ELSIF wanted.proxy_id IS NOT NULL AND (
            format('proxy %s', wanted.proxy_id) = ANY (taken)
            OR EXISTS (SELECT FROM orders WHERE orders.proxy_id = wanted.proxy_id AND closed_at IS NULL)) THEN
            refusal := 'prolongation-open';
          ELSIF wanted.held > entry.available_after THEN
            refusal := 'insufficient-balance';
          ELSIF wanted.limited_by IS NOT NULL AND EXISTS (
            SELECT FROM token_spending WHERE token_id = ANY (wanted.limited_by) AND day = today
               AND spent + wanted.held > day_limit) THEN
            refusal := 'daily-limit';
          ELSE
            id := nextval('orders_id_seq');
            ids[wanted.place] := id;
            taken := taken || format('key %s %s', wanted.user_id, wanted.idempotency_key)
                           || format('proxy %s', wanted.proxy_id);
            IF wanted.limited_by IS NOT NULL THEN
              UPDATE token_spending SET spent = spent + wanted.held
               WHERE token_id = ANY (wanted.limited_by) AND day = today;
            END IF;
            entry.seq := entry.seq + 1;
            entry.order_id := id;
            entry.available_delta := -wanted.held;
            entry.held_delta := wanted.held;
            entry.available_after := entry.available_after - wanted.held;
            entry.held_after := entry.held_after + wanted.held;
            holds := holds || entry;
          END IF;
          RETURN NEXT;
        END LOOP;

        INSERT INTO orders (id, user_id, kind, tag, country, version, period, count, proxy_type, proxy_id, unit_price,
                            held, markup_percent, price_rule_id, provider, provider_price, idempotency_key,
                            request_hash, request_id, token_id, attempt, deadline, next_look_at)
        SELECT ids[place], user_id, kind, format('%su%s.o%sx', tag_prefix, user_id, ids[place]), country, version,
               period, count, proxy_type, proxy_id, unit_price, held, markup_percent, price_rule_id, provider,
               round(provider_price, 4), idempotency_key, request_hash, request_id, token_id, attempt, given_up,
               given_up
          FROM ROWS FROM (jsonb_to_recordset(asked) AS (
                 user_id bigint, kind text, country text, version text, period integer, count integer,
                 proxy_type text, proxy_id bigint, unit_price numeric, held numeric, markup_percent numeric,
                 price_rule_id bigint, provider text, provider_price numeric, idempotency_key text,
                 request_hash bytea, request_id text, token_id bigint, attempt uuid, wait_seconds double precision
               )) WITH ORDINALITY AS one (
                 user_id, kind, country, version, period, count, proxy_type, proxy_id, unit_price, held,
                 markup_percent, price_rule_id, provider, provider_price, idempotency_key, request_hash, request_id,
                 token_id, attempt, wait_seconds, place),
               LATERAL (SELECT now() + make_interval(secs => wait_seconds) AS given_up) AS times
         WHERE ids[place] IS NOT NULL ORDER BY ids[place];
        INSERT INTO ledger_entries (user_id, seq, kind, order_id, available_delta, held_delta, available_after,
                                    held_after)
        SELECT user_id, seq, 'hold', order_id, available_delta, held_delta, available_after, held_after
          FROM unnest(holds);
      END $$;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP FUNCTION place_orders(jsonb, bigint[], bigint[], integer);
      DROP TRIGGER ledger_entries_apply ON ledger_entries;
      DROP FUNCTION apply_ledger_entries();
      DROP TRIGGER ledger_entries_number ON ledger_entries;
      DROP FUNCTION number_ledger_entry();
      DROP FUNCTION lock_accounts(bigint[]);

      CREATE FUNCTION apply_ledger_entry() RETURNS trigger LANGUAGE plpgsql
        SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
      BEGIN
        UPDATE accounts
           SET available = available + NEW.available_delta, held = held + NEW.held_delta, seq = seq + 1,
               spent = spent + CASE NEW.kind WHEN 'capture' THEN -NEW.held_delta
                                             WHEN 'refund' THEN -NEW.available_delta
                                             ELSE 0 END
         WHERE user_id = NEW.user_id
        RETURNING seq, available, held INTO NEW.seq, NEW.available_after, NEW.held_after;
        IF NOT FOUND THEN
          RAISE EXCEPTION 'user % has no account', NEW.user_id
            USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'ledger_entries_user_id_fkey';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER ledger_entries_apply BEFORE INSERT ON ledger_entries
        FOR EACH ROW EXECUTE FUNCTION apply_ledger_entry();
    `);
  }
}
