/**
 * The rule that applies to a proxy, from `rule_of_proxy.sql`: a subquery for `JOIN LATERAL (…) AS rule ON
 * true`, with at most one row of `renewal_rules`.
 *
 * @param proxy the name of the table of proxies in the statement
 * @param id its column with the id of the proxy; a null there matches no rule for a single proxy
 */
export const ruleOfProxySql = (proxy = 'proxies', id = 'id'): string => `
  SELECT * FROM rule_of_proxy(
    ${proxy}.user_id, ${proxy}.${id}, ${proxy}.country, ${proxy}.descr, ${proxy}.tags)`;
