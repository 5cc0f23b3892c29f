/**
 * The rule that holds for a proxy, as `rule_of_proxy.sql` has it: a subquery for
 * `JOIN LATERAL (…) AS rule ON true`, with no row or one of `renewal_rules`.
 *
 * @param proxy the name of the table of proxies in the statement
 * @param id its column with the id of the proxy; null there: it has no rule of its own
 */
export const ruleOfProxySql = (proxy = 'proxies', id = 'id'): string => `
  SELECT * FROM rule_of_proxy(
    ${proxy}.user_id, ${proxy}.${id}, ${proxy}.country, ${proxy}.descr, ${proxy}.tags)`;
