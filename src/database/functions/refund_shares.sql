-- Returns each order's share of a proxy's refund: the price of the full days left in the order's period,
-- rounded down to the kopeck and capped at the part of the charge not yet refunded. A purchase has no share
-- in a proxy that staff assigned to it, because the customer did not pay for that proxy.
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
