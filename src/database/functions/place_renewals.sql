-- Places orders for renewals through `place_orders`, and marks the renewals as placed. Checks each renewal
-- again under locks. Every change that forbids a renewal locks the user or the global pause, so no renewal is
-- placed after such a change.
-- Keeps the `reason` of an earlier attempt until the renewal is done, so that the same reason does not cause
-- a second event.
-- `asked`: as in `place_orders`, with the additional fields `renewal_id` and `rule_id`, the rule that decided
-- the renewal.
CREATE OR REPLACE FUNCTION place_renewals(asked jsonb, of_users bigint[])
RETURNS TABLE ("position" bigint, id bigint, obstacle text) LANGUAGE plpgsql AS $$
DECLARE
  wanted record;
  placed record;
  last_user bigint;
  -- The current user's remaining balance and budget. The budget is null if the user has none.
  available_left numeric;
  budget_left numeric;
  -- Positions in `asked` of the renewals that may be placed.
  chosen bigint[] := '{}';
BEGIN
  PERFORM lock_accounts(of_users);
  PERFORM FROM users WHERE users.id = ANY (of_users) ORDER BY users.id FOR SHARE;
  PERFORM FROM renewals_pause FOR SHARE;
  PERFORM FROM renewals renewal
    WHERE renewal.id IN (SELECT (one ->> 'renewal_id')::bigint FROM jsonb_array_elements(asked) AS one)
    ORDER BY renewal.id FOR UPDATE;

  FOR wanted IN
    SELECT one.*
      FROM ROWS FROM (jsonb_to_recordset(asked) AS (
             user_id bigint, renewal_id bigint, rule_id bigint, hold_amount numeric
           )) WITH ORDINALITY AS one (user_id, renewal_id, rule_id, hold_amount, place)
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
    obstacle := (renewal_obstacles(wanted.renewal_id, wanted.rule_id, wanted.hold_amount, available_left,
                                   budget_left))[1];
    IF obstacle IS NULL THEN
      available_left := available_left - wanted.hold_amount;
      budget_left := budget_left - wanted.hold_amount;
      chosen := chosen || wanted.place;
    ELSE
      RETURN NEXT;
    END IF;
  END LOOP;

  FOR placed IN
    SELECT chosen[result."position"] AS place, result.id, result.refusal
      FROM place_orders((SELECT coalesce(jsonb_agg((asked -> (place - 1)::integer) || '{"origin": "renewal"}'
                                                   ORDER BY at), '[]')
                           FROM unnest(chosen) WITH ORDINALITY AS one (place, at)),
                        of_users, '{}', NULL) AS result
  LOOP
    "position" := placed.place;
    id := placed.id;
    obstacle := placed.refusal;
    IF id IS NOT NULL THEN
      UPDATE renewals renewal
         SET state = 'placed', order_id = placed.id, rule_id = (one ->> 'rule_id')::bigint,
             period = (one ->> 'period')::integer, price = (one ->> 'hold_amount')::numeric,
             next_try_at = NULL
        FROM (SELECT asked -> (placed.place - 1)::integer AS one) AS given
       WHERE renewal.id = (one ->> 'renewal_id')::bigint;
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;
