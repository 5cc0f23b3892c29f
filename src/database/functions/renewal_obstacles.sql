-- Returns a renewal's obstacles, in the sequence in which customers see them (`RENEWAL_OBSTACLES`).
-- If `price` is null, obstacles about money are omitted. If `budget_left` is null, there is no budget.
-- Two obstacles cause the renewal to be removed: 'superfluous' (it was placed, or the expiry has moved) and
-- 'rule-disabled' (no rule applies to the proxy, or a rule other than `decided_by`; null accepts any rule).
CREATE OR REPLACE FUNCTION renewal_obstacles(
  of_renewal bigint, decided_by bigint, price numeric, available numeric, budget_left numeric)
RETURNS text[] LANGUAGE plpgsql STABLE AS $$
DECLARE
  found record;
  of_all text[];
  of_order text[];
BEGIN
  SELECT renewal.user_id, renewal.proxy_id, proxy.withdrawn_at, rule.id AS rule_id, rule.max_price,
         renewal.state IN ('planned', 'skipped') AND proxy.date_end = renewal.date_end_before AS is_needed
    INTO found
    FROM renewals renewal
    JOIN proxies proxy ON proxy.id = renewal.proxy_id
    LEFT JOIN LATERAL (
      SELECT * FROM rule_of_proxy(proxy.user_id, proxy.id, proxy.country, proxy.label, proxy.tags)
    ) AS rule ON true
   WHERE renewal.id = of_renewal;
  of_all := renewal_obstacles_of_user(found.user_id);
  of_order := order_refusals(found.user_id, price, found.max_price, available, NULL, found.proxy_id, NULL, '{}');
  RETURN array_remove(ARRAY[
    CASE WHEN found.is_needed IS NOT TRUE THEN 'superfluous' END,
    CASE WHEN (found.rule_id = coalesce(decided_by, found.rule_id)) IS NOT TRUE THEN 'rule-disabled' END,
    CASE WHEN 'paused' = ANY (of_all) THEN 'paused' END,
    CASE WHEN 'user-blocked' = ANY (of_all) THEN 'user-blocked' END,
    CASE WHEN 'closed-for-maintenance' = ANY (of_order) THEN 'closed-for-maintenance' END,
    CASE WHEN found.withdrawn_at IS NOT NULL THEN 'proxy-withdrawn' END,
    CASE WHEN EXISTS (SELECT FROM proxy_refunds
                       WHERE proxy_id = found.proxy_id AND state IN ('checking', 'staff')) THEN 'refund-open' END,
    CASE WHEN 'prolongation-open' = ANY (of_order) THEN 'order-open' END,
    CASE WHEN 'above-max-price' = ANY (of_order) THEN 'price-above-max' END,
    CASE WHEN price > budget_left THEN 'budget-used-up' END,
    CASE WHEN 'insufficient-balance' = ANY (of_order) THEN 'balance-short' END
  ], NULL);
END $$;
