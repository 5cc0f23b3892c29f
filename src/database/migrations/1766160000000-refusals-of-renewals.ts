import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What is confirmed to a customer or to staff holds for every renewal that is charged afterwards. */
export class RefusalsOfRenewals1766160000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const definition of [RENEWALS_SPENT, RENEWALS_HELD_UP, RENEWAL_REFUSALS, END_CONFIRMED_AT]) {
      await runner.query(definition);
    }
    await runner.query(PLACE_RENEWALS);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(PLACE_RENEWALS_BEFORE);
    await runner.query(`
      DROP FUNCTION end_confirmed_at(bigint);
      DROP FUNCTION renewal_refusals(bigint, bigint, numeric, numeric, numeric);
      DROP FUNCTION renewals_held_up(bigint);
      DROP FUNCTION renewals_spent(bigint, timestamptz);
    `);
  }
}

const RENEWALS_SPENT = `
  CREATE OR REPLACE FUNCTION renewals_spent(of_user bigint, since timestamptz) RETURNS numeric
  LANGUAGE plpgsql STABLE AS $$
  BEGIN
    RETURN (
      SELECT coalesce(sum(price), 0.00) FROM renewals
       WHERE user_id = of_user AND state IN ('placed', 'done')
         AND coalesce(charged_at, (SELECT created_at FROM orders WHERE orders.id = renewals.order_id)) >= since);
  END $$`;

const RENEWALS_HELD_UP = `
  CREATE OR REPLACE FUNCTION renewals_held_up(of_user bigint) RETURNS text[] LANGUAGE plpgsql STABLE AS $$
  BEGIN
    RETURN array_remove(ARRAY[
      CASE WHEN EXISTS (SELECT FROM installation WHERE renewals_paused_at IS NOT NULL)
             OR EXISTS (SELECT FROM renewal_settings WHERE user_id = of_user AND paused_at IS NOT NULL)
           THEN 'paused' END,
      CASE WHEN EXISTS (SELECT FROM users WHERE id = of_user AND blocked_at IS NOT NULL) THEN 'user-blocked' END
    ], NULL);
  END $$`;

const RENEWAL_REFUSALS = `
  CREATE OR REPLACE FUNCTION renewal_refusals(
    of_renewal bigint, decided_by bigint, price numeric, available numeric, budget_left numeric)
  RETURNS text[] LANGUAGE plpgsql STABLE AS $$
  DECLARE
    found record;
    held_up text[];
    -- Why no order of the proxy could be placed, whoever wants it.
    of_order text[];
  BEGIN
    SELECT renewal.user_id, renewal.proxy_id, proxy.withdrawn_at, rule.id AS rule_id, rule.max_price,
           renewal.state IN ('planned', 'skipped') AND proxy.date_end = renewal.date_end_before AS is_needed
      INTO found
      FROM renewals renewal
      JOIN proxies proxy ON proxy.id = renewal.proxy_id
      LEFT JOIN LATERAL (
        SELECT * FROM rule_of_proxy(proxy.user_id, proxy.id, proxy.country, proxy.descr, proxy.tags)
      ) AS rule ON true
     WHERE renewal.id = of_renewal;
    held_up := renewals_held_up(found.user_id);
    of_order := order_refusals(found.user_id, price, found.max_price, available, NULL, found.proxy_id, NULL, '{}');
    RETURN array_remove(ARRAY[
      CASE WHEN found.is_needed IS NOT TRUE THEN 'superfluous' END,
      CASE WHEN (found.rule_id = coalesce(decided_by, found.rule_id)) IS NOT TRUE THEN 'rule-off' END,
      CASE WHEN 'paused' = ANY (held_up) THEN 'paused' END,
      CASE WHEN 'user-blocked' = ANY (held_up) THEN 'user-blocked' END,
      CASE WHEN 'recovering' = ANY (of_order) THEN 'orders-shut' END,
      CASE WHEN found.withdrawn_at IS NOT NULL THEN 'proxy-withdrawn' END,
      CASE WHEN 'prolongation-open' = ANY (of_order) THEN 'order-open' END,
      CASE WHEN 'above-max-price' = ANY (of_order) THEN 'price-above-max' END,
      CASE WHEN price > budget_left THEN 'budget-used-up' END,
      CASE WHEN 'insufficient-balance' = ANY (of_order) THEN 'balance-short' END
    ], NULL);
  END $$`;

const END_CONFIRMED_AT = `
  CREATE OR REPLACE FUNCTION end_confirmed_at(of_proxy bigint) RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
  DECLARE
    swept_from CONSTANT timestamptz := (
      SELECT max(began_at) FROM completed_sweeps WHERE began_at BETWEEN now() - interval '1 hour' AND now());
  BEGIN
    RETURN (
      SELECT swept_from FROM proxies
       WHERE id = of_proxy AND absences = 0 AND created_at < swept_from
         AND NOT EXISTS (SELECT FROM orders
                          WHERE proxy_id = of_proxy AND submitted_at IS NOT NULL AND closed_at >= swept_from));
  END $$`;

const PLACE_RENEWALS = `
  CREATE OR REPLACE FUNCTION place_renewals(asked jsonb, of_users bigint[])
  RETURNS TABLE ("position" bigint, id bigint, refusal text, is_queued boolean) LANGUAGE plpgsql AS $$
  DECLARE
    wanted record;
    placed record;
    last_user bigint;
    -- What the user has left for the renewals that follow. Null, of the budget: there is none.
    available_left numeric;
    budget_left numeric;
    -- The positions of those that may be placed.
    chosen bigint[] := '{}';
  BEGIN
    PERFORM lock_accounts(of_users);
    PERFORM FROM users WHERE users.id = ANY (of_users) ORDER BY users.id FOR SHARE;
    PERFORM FROM installation FOR SHARE;
    PERFORM FROM renewals renewal
      WHERE renewal.id IN (SELECT (one ->> 'renewal_id')::bigint FROM jsonb_array_elements(asked) AS one)
      ORDER BY renewal.id FOR UPDATE;

    FOR wanted IN
      SELECT one.*
        FROM ROWS FROM (jsonb_to_recordset(asked) AS (
               user_id bigint, renewal_id bigint, rule_id bigint, held numeric
             )) WITH ORDINALITY AS one (user_id, renewal_id, rule_id, held, place)
       ORDER BY one.user_id, place
    LOOP
      IF wanted.user_id IS DISTINCT FROM last_user THEN
        last_user := wanted.user_id;
        SELECT available, monthly_budget - renewals_spent(last_user, date_trunc('month', now(), 'UTC'))
          INTO available_left, budget_left
          FROM accounts LEFT JOIN renewal_settings USING (user_id) WHERE user_id = last_user;
      END IF;
      "position" := wanted.place;
      id := NULL;
      is_queued := false;
      refusal := (renewal_refusals(wanted.renewal_id, wanted.rule_id, wanted.held, available_left, budget_left))[1];
      IF refusal IS NULL THEN
        available_left := available_left - wanted.held;
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
               period = (one ->> 'period')::integer, price = (one ->> 'held')::numeric, next_try_at = NULL
          FROM (SELECT asked -> (placed.place - 1)::integer AS one) AS given
         WHERE renewal.id = (one ->> 'renewal_id')::bigint;
        UPDATE orders renewing SET date_end_before = proxy.date_end
          FROM proxies proxy
         WHERE renewing.id = placed.id AND proxy.id = renewing.proxy_id AND end_confirmed_at(proxy.id) IS NOT NULL;
        is_queued := FOUND;
      END IF;
      RETURN NEXT;
    END LOOP;
  END $$`;

const PLACE_RENEWALS_BEFORE = `
  CREATE OR REPLACE FUNCTION place_renewals(asked jsonb, of_users bigint[])
  RETURNS TABLE ("position" bigint, id bigint, refusal text, is_queued boolean) LANGUAGE plpgsql AS $$
  DECLARE
    -- When the last complete sweep began, unless that is long ago.
    swept_from CONSTANT timestamptz := (
      SELECT max(began_at) FROM completed_sweeps WHERE began_at BETWEEN now() - interval '1 hour' AND now());
    all_paused boolean;
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
    PERFORM FROM renewals renewal
      WHERE renewal.id IN (SELECT (one ->> 'renewal_id')::bigint FROM jsonb_array_elements(asked) AS one)
      ORDER BY renewal.id FOR UPDATE;
    SELECT renewals_paused_at IS NOT NULL INTO all_paused FROM installation;

    FOR wanted IN
      SELECT one.*, renewal.state, renewal.date_end_before, proxy.date_end, proxy.withdrawn_at,
             (SELECT current.id FROM rule_of_proxy(proxy.user_id, proxy.id, proxy.country, proxy.descr, proxy.tags)
                       AS current) AS current_rule_id,
             users.blocked_at, settings.paused_at, settings.monthly_budget
        FROM ROWS FROM (jsonb_to_recordset(asked) AS (
               user_id bigint, renewal_id bigint, rule_id bigint, proxy_id bigint, held numeric
             )) WITH ORDINALITY AS one (user_id, renewal_id, rule_id, proxy_id, held, place)
        LEFT JOIN renewals renewal ON renewal.id = one.renewal_id
        LEFT JOIN proxies proxy ON (proxy.id, proxy.user_id) = (one.proxy_id, one.user_id)
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
                  AND coalesce(spent.charged_at, (SELECT created_at FROM orders WHERE orders.id = spent.order_id))
                        >= date_trunc('month', now(), 'UTC')) END;
      END IF;
      "position" := wanted.place;
      id := NULL;
      is_queued := false;
      refusal := CASE
        WHEN wanted.state IN ('planned', 'skipped') IS NOT TRUE
             OR wanted.date_end IS DISTINCT FROM wanted.date_end_before THEN 'superfluous'
        WHEN wanted.current_rule_id IS DISTINCT FROM wanted.rule_id THEN 'rule-off'
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
               period = (one ->> 'period')::integer, price = (one ->> 'held')::numeric, next_try_at = NULL
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
  END $$`;
