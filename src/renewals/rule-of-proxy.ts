/**
 * Returns a subquery for a proxy's rule, at most one row of `renewal_rules`. Use it as `JOIN LATERAL (…) AS
 * rule ON true`.
 * @param proxy name of the statement's table of proxies
 * @param id column of that table with the proxy id; if null, no rule for a single proxy matches
 */
export const ruleOfProxySql = (proxy = 'proxies', id = 'id'): string => `
  SELECT * FROM rule_of_proxy(
    ${proxy}.user_id, ${proxy}.${id}, ${proxy}.country, ${proxy}.label, ${proxy}.tags)`;
