-- Why an order cannot be placed now: every reason, in the order in which callers are told. Empty: it can be.
-- `place_orders` asks under the locks of the account and of the days of tokens, a dry run without any.
--
-- `available`: what the account has to spend.
-- `limited`: the tokens whose daily limits the order counts against; null: none.
-- `taken`: the keys and proxies of orders that the same statement is about to place.
CREATE OR REPLACE FUNCTION order_refusals(
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
