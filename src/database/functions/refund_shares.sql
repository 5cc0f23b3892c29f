-- Returns what a refund of a proxy gives back of each order, when it was requested at `asked_at`: the whole
-- days that are left then of the days that the order paid for, at its price, rounded down to the kopeck, and
-- never more than what is left of its charge. Orders of which nothing is given back are omitted.
--
-- An order paid for its period from the start of the rental, or, of a prolongation, from the earlier end or
-- from when it was sent, whichever was later. A proxy that staff assigned was not paid for by its purchase.
CREATE OR REPLACE FUNCTION refund_shares(of_proxy bigint, asked_at timestamptz)
RETURNS TABLE (order_id bigint, amount numeric) LANGUAGE sql STABLE AS $$
  SELECT id, share
    FROM (SELECT paid.id,
                 least(trunc(unit_price * least(period, days) / period, 2), captured - refunded) AS share
            FROM (SELECT purchase.*, coalesce(proxy.date_start, proxy.created_at) AS began_at
                    FROM proxies proxy JOIN orders purchase ON purchase.id = proxy.order_id
                   WHERE proxy.id = of_proxy AND assigned_action_id IS NULL
                  UNION ALL
                  SELECT prolongation.*, greatest(date_end_before, submitted_at)
                    FROM orders prolongation WHERE proxy_id = of_proxy) AS paid,
                 LATERAL (SELECT coalesce(floor(extract(
                            epoch FROM began_at + period * interval '24 hours' - asked_at) / 86400), 0) AS days
                         ) AS rest
           WHERE captured > 0) AS shares
   WHERE share > 0
$$;
