/**
 * Returns SQL for a subquery that finds a proxy's rule, for `JOIN LATERAL (…) AS rule ON true`.
 * @param proxy table or alias with the proxy's columns
 * @param id column with the proxy's id; if it is null, no rule for a single proxy applies
 */
export const ruleOfProxySql = (proxy = 'proxies', id = 'id'): string => `
  SELECT * FROM rule_of_proxy(
    ${proxy}.user_id, ${proxy}.${id}, ${proxy}.country, ${proxy}.label, ${proxy}.tags)`;
