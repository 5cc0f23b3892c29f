/**
 * What every tag of an installation begins with. The environment is drawn when the database is made, so that
 * two installations under one provider key can tell their proxies apart.
 */
export const TAG_PREFIX_SQL = `(SELECT format('prs.%s.', environment) FROM installation)`;

/**
 * The tag of a new order, `prs.<environment>.u<user>.o<order>x`: enough to rebuild a lost order row, and at
 * most 50 characters of [A-Za-z0-9._:-]. The letter at the end keeps it from being a part of another tag, so
 * that a filter by prefix or substring finds this order alone. Older tags end with the number of the order.
 *
 * @param user, order SQL expressions of the ids
 */
export const orderTagSql = (user: string, order: string): string =>
  `format('%su%s.o%sx', ${TAG_PREFIX_SQL}, ${user}, ${order})`;

/**
 * The tag under which the provider lists a row of `proxies`: that of the leader of the batch it was bought
 * with, or its own when it was an orphan that staff assigned.
 */
export const PURCHASE_TAG_SQL = `coalesce(proxies.tag,
  (SELECT leader.tag
     FROM orders purchase JOIN orders leader ON leader.id = coalesce(purchase.group_id, purchase.id)
    WHERE purchase.id = proxies.order_id))`;
