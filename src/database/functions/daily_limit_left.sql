-- Returns how much orders may still spend today (UTC) under these tokens' daily limits; null for no limit.
CREATE OR REPLACE FUNCTION daily_limit_left(tokens bigint[]) RETURNS numeric LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (
    SELECT min(coalesce(counter.day_limit, token.daily_limit) - coalesce(counter.spent, 0))
      FROM api_tokens token LEFT JOIN token_spending counter
        ON counter.token_id = token.id AND counter.day = (now() AT TIME ZONE 'UTC')::date
     WHERE token.id = ANY (tokens));
END $$;
