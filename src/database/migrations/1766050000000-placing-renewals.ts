import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Renewals place their orders. When the last complete sweep of the provider's listing began is kept, because
 * it tells how far the ends of rentals can be trusted.
 */
export class PlacingRenewals1766050000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE job_runs ADD COLUMN succeeded_from timestamptz');
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
      END $$;

      CREATE OR REPLACE FUNCTION place_renewals(asked jsonb, of_users bigint[])
      RETURNS TABLE ("position" bigint, id bigint, refusal text, is_queued boolean) LANGUAGE plpgsql AS $$
      DECLARE
        -- When the last complete sweep began, unless that is long ago.
        swept_from CONSTANT timestamptz := (
          SELECT succeeded_from FROM job_runs WHERE name = 'sweep' AND succeeded_from > now() - interval '1 hour');
        all_paused CONSTANT boolean := (SELECT renewals_paused_at IS NOT NULL FROM installation);
        wanted record;
        placed record;
        last_user bigint;
        -- What is left of the budget of the user; null: there is none.
        budget_left numeric;
        -- The positions of those that may be placed.
        chosen bigint[] := '{}';
      BEGIN
        PERFORM lock_accounts(of_users);
        PERFORM FROM renewal_rules rule
          WHERE rule.id IN (SELECT (one ->> 'rule_id')::bigint FROM jsonb_array_elements(asked) AS one)
          ORDER BY rule.id FOR SHARE;

        FOR wanted IN
          SELECT one.*, renewal.state, renewal.date_end_before, proxy.date_end, proxy.withdrawn_at,
                 rule.switched_off_at, users.blocked_at, settings.paused_at, settings.monthly_budget
            FROM ROWS FROM (jsonb_to_recordset(asked) AS (
                   user_id bigint, renewal_id bigint, rule_id bigint, proxy_id bigint, held numeric
                 )) WITH ORDINALITY AS one (user_id, renewal_id, rule_id, proxy_id, held, place)
            LEFT JOIN renewals renewal ON renewal.id = one.renewal_id
            LEFT JOIN proxies proxy ON (proxy.id, proxy.user_id) = (one.proxy_id, one.user_id)
            JOIN renewal_rules rule ON rule.id = one.rule_id
            JOIN users ON users.id = one.user_id
            LEFT JOIN renewal_settings settings ON settings.user_id = one.user_id
           ORDER BY one.user_id, place
        LOOP
          IF wanted.user_id IS DISTINCT FROM last_user THEN
            last_user := wanted.user_id;
            budget_left := CASE WHEN wanted.monthly_budget IS NOT NULL THEN
              wanted.monthly_budget
                - (SELECT coalesce(sum(price), 0) FROM renewals spent
                    WHERE spent.user_id = wanted.user_id AND spent.state IN ('placed', 'done')
                      AND (spent.charged_at IS NULL OR spent.charged_at >= date_trunc('month', now(), 'UTC'))) END;
          END IF;
          "position" := wanted.place;
          id := NULL;
          is_queued := false;
          refusal := CASE
            WHEN wanted.state IN ('planned', 'skipped') IS NOT TRUE
                 OR wanted.date_end IS DISTINCT FROM wanted.date_end_before THEN 'superfluous'
            WHEN wanted.switched_off_at IS NOT NULL THEN 'rule-off'
            WHEN all_paused OR wanted.paused_at IS NOT NULL THEN 'paused'
            WHEN wanted.blocked_at IS NOT NULL THEN 'user-blocked'
            WHEN wanted.withdrawn_at IS NOT NULL THEN 'proxy-withdrawn'
            WHEN wanted.held > budget_left THEN 'budget-used-up'
          END;
          IF refusal IS NULL THEN
            budget_left := budget_left - wanted.held;
            chosen := chosen || wanted.place;
          ELSE
            RETURN NEXT;
          END IF;
        END LOOP;

        FOR placed IN
          SELECT chosen[answer."position"] AS place, answer.id, answer.refusal
            FROM place_orders((SELECT coalesce(jsonb_agg(asked -> (place - 1)::integer ORDER BY at), '[]')
                                 FROM unnest(chosen) WITH ORDINALITY AS one (place, at)),
                              of_users, '{}', NULL) AS answer
        LOOP
          "position" := placed.place;
          id := placed.id;
          refusal := placed.refusal;
          is_queued := false;
          IF id IS NOT NULL THEN
            UPDATE renewals renewal
               SET state = 'placed', order_id = placed.id, rule_id = (one ->> 'rule_id')::bigint,
                   period = (one ->> 'period')::integer, price = (one ->> 'held')::numeric, reason = NULL,
                   next_try_at = NULL
              FROM (SELECT asked -> (placed.place - 1)::integer AS one) AS given
             WHERE renewal.id = (one ->> 'renewal_id')::bigint;
            UPDATE orders renewing SET date_end_before = proxy.date_end
              FROM proxies proxy
             WHERE renewing.id = placed.id AND proxy.id = renewing.proxy_id
               AND proxy.absences = 0 AND proxy.created_at < swept_from
               AND NOT EXISTS (SELECT FROM orders other
                                WHERE other.proxy_id = proxy.id AND other.id <> placed.id
                                  AND other.submitted_at IS NOT NULL AND other.closed_at >= swept_from);
            is_queued := FOUND;
          END IF;
          RETURN NEXT;
        END LOOP;
      END $$;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP FUNCTION place_renewals(jsonb, bigint[]);

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
          IF wanted.idempotency_key IS NOT NULL AND EXISTS (
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
      END $$;
    `);
    await runner.query('ALTER TABLE job_runs DROP COLUMN succeeded_from');
  }
}
