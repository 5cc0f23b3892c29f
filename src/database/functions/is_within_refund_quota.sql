-- Whether a customer's 30-day quota allows one more refund, of `more` roubles. Refunds by staff do not count.
CREATE OR REPLACE FUNCTION is_within_refund_quota(of_user bigint, more numeric, states text[])
RETURNS boolean LANGUAGE sql STABLE AS $$
  WITH counted AS (
    SELECT coalesce(amount, CASE WHEN quota_sum > 0
                                 THEN refund_amount(proxy_id, requested_at, last_order_id) END) AS amount
      FROM proxy_refunds, refund_rule
     WHERE user_id = of_user AND state = ANY (states)
       AND action_id IS NULL AND reason IS DISTINCT FROM 'forgotten'
       AND coalesce(closed_at, now()) > now() - interval '30 days'
  )
  SELECT (SELECT count(*) FROM counted) < greatest(quota, floor(quota_percent * coalesce((
           SELECT sum(captured / unit_price) FROM orders
            WHERE user_id = of_user AND kind = 'purchase' AND created_at > now() - interval '30 days'), 0) / 100))
     AND (quota_sum = 0 OR more + (SELECT coalesce(sum(amount), 0) FROM counted) <= quota_sum)
    FROM refund_rule
$$;
