import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * An order may name the highest price that it is placed for. The version before goes on working beside it:
 * what it asks `place_orders` for names none. The constraint is checked for new rows from now on, and for the
 * rows before by the next migration.
 */
export class MaxPrices1765802000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE orders ADD COLUMN max_price numeric(14,2);
      ALTER TABLE orders ADD CONSTRAINT orders_max_price_check CHECK (held <= max_price) NOT VALID;

      CREATE FUNCTION order_refusals(
        of_user bigint, price numeric, max_price numeric, available numeric, key text, prolonged bigint,
        limited bigint[], taken text[])
      RETURNS text[] LANGUAGE plpgsql STABLE AS $$
      BEGIN
        RETURN array_remove(ARRAY[
          CASE WHEN key IS NOT NULL AND (
            format('key %s %s', of_user, key) = ANY (taken)
            OR EXISTS (SELECT FROM orders WHERE user_id = of_user AND idempotency_key = key AND state <> 'refunded'))
          THEN 'key-in-use' END,
          CASE WHEN prolonged IS NOT NULL AND (
            format('proxy %s', prolonged) = ANY (taken)
            OR EXISTS (SELECT FROM orders WHERE proxy_id = prolonged AND closed_at IS NULL))
          THEN 'prolongation-open' END,
          CASE WHEN price > max_price THEN 'above-max-price' END,
          CASE WHEN price > available THEN 'insufficient-balance' END,
          CASE WHEN limited IS NOT NULL AND EXISTS (
            -- A token has no row for a day before its first order of that day.
            SELECT FROM api_tokens token LEFT JOIN token_spending counter
                ON counter.token_id = token.id AND counter.day = (now() AT TIME ZONE 'UTC')::date
             WHERE token.id = ANY (limited)
               AND coalesce(counter.spent, 0) + price > coalesce(counter.day_limit, token.daily_limit))
          THEN 'daily-limit' END
        ], NULL);
      END $$;

      CREATE OR REPLACE FUNCTION place_orders(
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
            user_id bigint, held numeric, max_price numeric, idempotency_key text, proxy_id bigint,
            limited_by bigint[]
          )) WITH ORDINALITY AS one (user_id, held, max_price, idempotency_key, proxy_id, limited_by, place)
          ORDER BY one.user_id, place
        LOOP
          "position" := wanted.place;
          id := NULL;
          IF wanted.user_id IS DISTINCT FROM entry.user_id THEN
            SELECT user_id, seq, available, held INTO entry.user_id, entry.seq, entry.available_after, entry.held_after
              FROM accounts WHERE user_id = wanted.user_id;
          END IF;
          refusal := (order_refusals(wanted.user_id, wanted.held, wanted.max_price, entry.available_after,
                                     wanted.idempotency_key, wanted.proxy_id, wanted.limited_by, taken))[1];
          IF refusal IS NULL THEN
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
                            held, max_price, markup_percent, price_rule_id, provider, provider_price, idempotency_key,
                            request_hash, request_id, token_id, attempt, deadline, next_look_at)
        SELECT ids[place], user_id, kind, format('%su%s.o%sx', tag_prefix, user_id, ids[place]), country, version,
               period, count, proxy_type, proxy_id, unit_price, held, max_price, markup_percent, price_rule_id,
               provider, round(provider_price, 4), idempotency_key, request_hash, request_id, token_id, attempt,
               given_up, given_up
          FROM ROWS FROM (jsonb_to_recordset(asked) AS (
                 user_id bigint, kind text, country text, version text, period integer, count integer,
                 proxy_type text, proxy_id bigint, unit_price numeric, held numeric, max_price numeric,
                 markup_percent numeric, price_rule_id bigint, provider text, provider_price numeric,
                 idempotency_key text, request_hash bytea, request_id text, token_id bigint, attempt uuid,
                 wait_seconds double precision
               )) WITH ORDINALITY AS one (
                 user_id, kind, country, version, period, count, proxy_type, proxy_id, unit_price, held, max_price,
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
      CREATE OR REPLACE FUNCTION place_orders(
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

      DROP FUNCTION order_refusals(bigint, numeric, numeric, numeric, text, bigint, bigint[], text[]);
      ALTER TABLE orders DROP COLUMN max_price;
    `);
  }
}
