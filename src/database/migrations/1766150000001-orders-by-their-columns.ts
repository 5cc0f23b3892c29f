import type { MigrationInterface, QueryRunner } from 'typeorm';

/** `place_orders` reads orders by the columns of their table, so that it does not list their types. */
export class OrdersByTheirColumns1766150000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(PLACE_ORDERS);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(PLACE_ORDERS_BEFORE);
  }
}

const PLACE_ORDERS = `
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
      SELECT one.*
        FROM ROWS FROM (jsonb_populate_recordset(NULL::orders, asked),
                        jsonb_to_recordset(asked) AS (limited_by bigint[])) WITH ORDINALITY AS one
       ORDER BY user_id, ordinality
    LOOP
      "position" := wanted.ordinality;
      id := NULL;
      IF wanted.user_id IS DISTINCT FROM entry.user_id THEN
        SELECT user_id, seq, available, held INTO entry.user_id, entry.seq, entry.available_after, entry.held_after
          FROM accounts WHERE user_id = wanted.user_id;
      END IF;
      -- The key may be the one that such an order had, and that a restore of the database has forgotten.
      IF wanted.idempotency_key NOT LIKE 'renewal % %' AND EXISTS (
        SELECT FROM orders
         WHERE key_forgotten AND user_id = wanted.user_id
           AND (kind, country, version, period, count, proxy_type)
               = (wanted.kind, wanted.country, wanted.version, wanted.period, wanted.count, wanted.proxy_type)
           AND proxy_id IS NOT DISTINCT FROM wanted.proxy_id) THEN
        refusal := 'key-in-use';
      ELSE
        refusal := (order_refusals(wanted.user_id, wanted.held, wanted.max_price, entry.available_after,
                                   wanted.idempotency_key, wanted.proxy_id, wanted.limited_by, taken))[1];
      END IF;
      IF refusal IS NULL THEN
        id := nextval('orders_id_seq');
        ids[wanted.ordinality] := id;
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

    INSERT INTO orders (id, tag, deadline, next_look_at,
                        user_id, kind, country, version, period, count, proxy_type, proxy_id, unit_price, held,
                        max_price, markup_percent, price_rule_id, provider, provider_price, idempotency_key,
                        request_hash, request_id, token_id, attempt)
    SELECT ids[ordinality], format('%su%s.o%sx', tag_prefix, user_id, ids[ordinality]), given_up, given_up,
           user_id, kind, country, version, period, count, proxy_type, proxy_id, unit_price, held,
           max_price, markup_percent, price_rule_id, provider, provider_price, idempotency_key,
           request_hash, request_id, token_id, attempt
      FROM ROWS FROM (jsonb_populate_recordset(NULL::orders, asked),
                      jsonb_to_recordset(asked) AS (wait_seconds double precision)) WITH ORDINALITY AS one,
           LATERAL (SELECT now() + make_interval(secs => wait_seconds) AS given_up) AS times
     WHERE ids[ordinality] IS NOT NULL ORDER BY ids[ordinality];
    INSERT INTO ledger_entries (user_id, seq, kind, order_id, available_delta, held_delta, available_after,
                                held_after)
    SELECT user_id, seq, 'hold', order_id, available_delta, held_delta, available_after, held_after
      FROM unnest(holds);
  END $$`;

const PLACE_ORDERS_BEFORE = `
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
        limited_by bigint[], kind text, country text, version text, period integer, count integer, proxy_type text
      )) WITH ORDINALITY AS one (user_id, held, max_price, idempotency_key, proxy_id, limited_by, kind, country,
                                 version, period, count, proxy_type, place)
      ORDER BY one.user_id, place
    LOOP
      "position" := wanted.place;
      id := NULL;
      IF wanted.user_id IS DISTINCT FROM entry.user_id THEN
        SELECT user_id, seq, available, held INTO entry.user_id, entry.seq, entry.available_after, entry.held_after
          FROM accounts WHERE user_id = wanted.user_id;
      END IF;
      -- The key may be the one that such an order had, and that a restore of the database has forgotten.
      IF wanted.idempotency_key NOT LIKE 'renewal % %' AND EXISTS (
        SELECT FROM orders
         WHERE key_forgotten AND user_id = wanted.user_id
           AND (kind, country, version, period, count, proxy_type)
               = (wanted.kind, wanted.country, wanted.version, wanted.period, wanted.count, wanted.proxy_type)
           AND proxy_id IS NOT DISTINCT FROM wanted.proxy_id) THEN
        refusal := 'key-in-use';
      ELSE
        refusal := (order_refusals(wanted.user_id, wanted.held, wanted.max_price, entry.available_after,
                                   wanted.idempotency_key, wanted.proxy_id, wanted.limited_by, taken))[1];
      END IF;
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
  END $$`;
