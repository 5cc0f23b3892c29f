/** The prefix of all tags of an installation, read once for a statement. */
export const TAG_PREFIX_SQL = '(SELECT tag_prefix())';

/**
 * The tag under which the provider lists a row of `proxies`: that of the leader of the batch it was bought
 * with, or its own when it was an orphan that staff assigned.
 */
export const PURCHASE_TAG_SQL = `coalesce(proxies.tag,
  (SELECT leader.tag
     FROM orders purchase JOIN orders leader ON leader.id = coalesce(purchase.batch_id, purchase.id)
    WHERE purchase.id = proxies.order_id))`;
