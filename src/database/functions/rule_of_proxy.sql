-- Returns the rule that applies to a proxy: its own rule; otherwise the newest rule whose filter matches, as
-- in `proxyFilterSql()`; otherwise the rule for all proxies. Returns no row for an excluded proxy.
CREATE OR REPLACE FUNCTION rule_of_proxy(
  of_user bigint, of_proxy bigint, of_country text, of_label text, of_tags text[]
) RETURNS SETOF renewal_rules LANGUAGE sql STABLE AS $$
  SELECT rule.* FROM renewal_rules AS rule
   WHERE rule.period IS NOT NULL AND rule.id = coalesce(
     (SELECT own.id FROM renewal_rules AS own
       WHERE own.disabled_at IS NULL AND own.proxy_id = of_proxy AND own.user_id = of_user),
     (SELECT wide.id FROM renewal_rules AS wide
       WHERE wide.disabled_at IS NULL AND wide.proxy_id IS NULL AND wide.user_id = of_user
         AND (wide.country IS NULL OR wide.country = of_country)
         AND (wide.label IS NULL OR wide.label = of_label)
         AND (wide.tag IS NULL OR wide.tag = ANY (of_tags))
       ORDER BY num_nonnulls(wide.country, wide.label, wide.tag) = 0, wide.id DESC LIMIT 1))
$$;
