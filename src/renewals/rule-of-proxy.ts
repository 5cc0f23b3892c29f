/**
 * The rule that holds for a proxy: its own; otherwise the newest filter that matches it, as
 * `proxyFilterSql()` would; otherwise the rule for all. A subquery for `JOIN LATERAL (…) AS rule ON true`,
 * with no row or one of `renewal_rules`: a proxy that is excluded has none. Rules are read as they are, so a
 * change counts with the next statement.
 *
 * @param proxy the name of the table of proxies in the statement
 */
export const ruleOfProxySql = (proxy = 'proxies'): string => `
  SELECT rule.* FROM renewal_rules AS rule
   WHERE rule.period IS NOT NULL AND rule.id = coalesce(
     (SELECT own.id FROM renewal_rules AS own
       WHERE own.switched_off_at IS NULL AND own.proxy_id = ${proxy}.id AND own.user_id = ${proxy}.user_id),
     (SELECT wide.id FROM renewal_rules AS wide
       WHERE wide.switched_off_at IS NULL AND wide.proxy_id IS NULL AND wide.user_id = ${proxy}.user_id
         AND (wide.country IS NULL OR wide.country = ${proxy}.country)
         AND (wide.label IS NULL OR wide.label = ${proxy}.descr)
         AND (wide.tag IS NULL OR wide.tag = ANY (${proxy}.tags))
       ORDER BY num_nonnulls(wide.country, wide.label, wide.tag) = 0, wide.id DESC LIMIT 1))`;
