-- Places each order independently and holds its cost. Returns, for each order, its position in `asked`, from
-- 1, and either its id or the first of its order_refusals().
-- Locks the accounts first, so that no other statement can place orders for these users. Then locks rows in
-- token_spending. Every statement that writes both tables locks them in this sequence. The account lock also
-- keeps a retry, which calls take_forgotten_key(), from overlapping with a staff decision.
-- `asked`: array of objects whose fields are columns of `orders`; columns that are not in the INSERT below
-- are ignored. Additional fields: `wait_seconds`, the time that an order may wait to be sent, and
-- `limited_by`, the tokens whose daily limits apply.
-- `of_users` and `limited`: all users and tokens in `asked`. `patience_ms`: maximum wait for each lock.
CREATE OR REPLACE FUNCTION place_orders(
  asked jsonb, of_users bigint[], limited bigint[], patience_ms integer)
RETURNS TABLE ("position" bigint, id bigint, refusal text) LANGUAGE plpgsql AS $$
DECLARE
  today CONSTANT date := (now() AT TIME ZONE 'UTC')::date;
  prefix CONSTANT text := (SELECT reference_prefix FROM installation);
  may_be_forgotten boolean;
  wanted record;
  -- The current user's latest ledger entry, and all users' new holds.
  entry ledger_entries;
  holds ledger_entries[] := '{}';
  ids bigint[] := '{}';
  -- Keys and proxies of the orders placed so far.
  taken text[] := '{}';
BEGIN
  IF patience_ms IS NOT NULL THEN
    PERFORM set_config('lock_timeout', patience_ms || 'ms', true);
  END IF;
  PERFORM lock_accounts(of_users);
  may_be_forgotten := is_after_restore();
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
    IF may_be_forgotten AND take_forgotten_key(
         jsonb_populate_record(NULL::orders, asked -> (wanted.ordinality - 1)::integer)) THEN
      refusal := 'key-in-use';
    ELSE
      refusal := (order_refusals(wanted.user_id, wanted.hold_amount, wanted.max_price, entry.available_after,
                                 wanted.idempotency_key, wanted.proxy_id, wanted.limited_by, taken))[1];
    END IF;
    IF refusal IS NULL THEN
      id := nextval('orders_id_seq');
      ids[wanted.ordinality] := id;
      taken := taken || format('key %s %s', wanted.user_id, wanted.idempotency_key)
                     || format('proxy %s', wanted.proxy_id);
      IF wanted.limited_by IS NOT NULL THEN
        UPDATE token_spending SET spent = spent + wanted.hold_amount
         WHERE token_id = ANY (wanted.limited_by) AND day = today;
      END IF;
      entry.seq := entry.seq + 1;
      entry.order_id := id;
      entry.available_delta := -wanted.hold_amount;
      entry.held_delta := wanted.hold_amount;
      entry.available_after := entry.available_after - wanted.hold_amount;
      entry.held_after := entry.held_after + wanted.hold_amount;
      holds := holds || entry;
    END IF;
    RETURN NEXT;
  END LOOP;

  INSERT INTO orders (id, order_reference, queued_until, next_search_at,
                      user_id, origin, kind, country, version, period, count, proxy_type, proxy_id, unit_price,
                      hold_amount,
                      max_price, markup_percent, price_rule_id, provider, provider_price, idempotency_key,
                      request_hash, request_id, token_id, label, attempt, end_read_at, date_end_before)
  SELECT ids[ordinality], order_reference_of(prefix, user_id, ids[ordinality]), given_up, given_up,
         user_id, coalesce(origin, 'customer'), kind, country, version, period, count, proxy_type, proxy_id,
         unit_price, hold_amount,
         max_price, markup_percent, price_rule_id, provider, provider_price, idempotency_key,
         request_hash, request_id, token_id, label, attempt, confirmed_at,
         CASE WHEN confirmed_at IS NOT NULL THEN (SELECT date_end FROM proxies WHERE proxies.id = proxy_id) END
    FROM ROWS FROM (jsonb_populate_recordset(NULL::orders, asked),
                    jsonb_to_recordset(asked) AS (wait_seconds double precision)) WITH ORDINALITY AS one,
         LATERAL (SELECT now() + make_interval(secs => wait_seconds) AS given_up,
                         CASE WHEN proxy_id IS NOT NULL THEN end_confirmed_at(proxy_id) END AS confirmed_at) AS times
   WHERE ids[ordinality] IS NOT NULL ORDER BY ids[ordinality];
  INSERT INTO ledger_entries (user_id, seq, kind, order_id, available_delta, held_delta, available_after,
                              held_after)
  SELECT user_id, seq, 'hold', order_id, available_delta, held_delta, available_after, held_after
    FROM unnest(holds);
END $$;
