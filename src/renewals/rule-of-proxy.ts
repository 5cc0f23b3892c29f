/**
 * Returns a subquery that selects the rule of a proxy with `rule_of_proxy.sql`. It is used as `JOIN LATERAL
 * (…) AS rule ON true` and returns at most one row of `renewal_rules`.
 *
 * @param proxy name of the statement's table of proxies
 * @param id column of that table with the proxy id; if it is null, no rule for a single proxy matches
 */
export const ruleOfProxySql = (proxy = 'proxies', id = 'id'): string => `
  SELECT * FROM rule_of_proxy(
    ${proxy}.user_id, ${proxy}.${id}, ${proxy}.country, ${proxy}.label, ${proxy}.tags)`;
