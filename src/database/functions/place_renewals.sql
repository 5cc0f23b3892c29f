-- Places the orders of renewals as `place_orders` does, and marks the renewals as placed: each order and its
-- renewal together, or neither.
--
-- What a renewal was decided by may have changed since: the end of the rental has moved, the rule was switched
-- off or another one holds for the proxy, renewals were paused, the budget was used up. All of that is asked
-- here under the locks of the accounts, the rules and the renewals. Nobody prolongs a proxy of these users
-- meanwhile, and whoever switches off a rule finds its last order placed, and none after that.
--
-- The reason of an earlier try stays with the renewal until it is done: nobody is told twice of the same one.
--
-- `asked`: as in `place_orders`, with `renewal_id`, and with `rule_id`, by which the renewal was decided.
-- `of_users`: the users that are named there.
--
-- An order is queued at once when the last sweep has confirmed the end of its rental, and no other order of the
-- proxy was sent since: that sweep stands for the listing that a customer's prolongation begins with. Otherwise
-- `is_queued` is false, and the end is to be read.
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
END $$;
