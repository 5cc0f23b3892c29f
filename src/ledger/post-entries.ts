/**
 * Returns SQL that posts entries and updates each account once, in the order of user ids. It numbers the
 * entries itself, because triggers would run separate queries for each entry.
 * @param entries a query for `user_id`, `kind`, `order_id`, `available_delta` and `held_delta`
 */
export const postEntriesSql = (entries: string, users: string): string => `
  INSERT INTO ledger_entries (user_id, seq, kind, order_id, available_delta, held_delta, available_after,
                              held_after)
  SELECT entry.user_id, account.seq + row_number() OVER earlier, kind, order_id, available_delta, held_delta,
         available + sum(available_delta) OVER earlier, held + sum(held_delta) OVER earlier
    FROM (${entries}) AS entry JOIN lock_accounts(ARRAY(${users})) AS account USING (user_id)
  WINDOW earlier AS (PARTITION BY entry.user_id ORDER BY order_id, kind)`;
