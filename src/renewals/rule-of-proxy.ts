/**
 * Returns a subquery with at most one row of `renewal_rules`, for `JOIN LATERAL (…) AS rule ON true`.
 * @param proxy table or alias with the proxy's columns
 * @param id column with the proxy's id; if its value is null, no rule for a single proxy applies
 */
export const ruleOfProxySql = (proxy = 'proxies', id = 'id'): string => `
  SELECT * FROM rule_of_proxy(
    ${proxy}.user_id, ${proxy}.${id}, ${proxy}.country, ${proxy}.label, ${proxy}.tags)`;
