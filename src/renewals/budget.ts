/**
 * What is used of the budget of a month, as a subquery: what renewals were charged in it, and what those hold
 * that were ordered in it and are under way.
 *
 * @param user an expression: the id of the user
 * @param month an expression: when the month begins, see `monthOf()`
 */
export const spentOfBudgetSql = (user: string, month: string): string => `
  (SELECT coalesce(sum(price), 0.00) FROM renewals
    WHERE renewals.user_id = ${user} AND state IN ('placed', 'done')
      AND coalesce(charged_at,
                   (SELECT created_at FROM orders WHERE orders.id = renewals.order_id)) >= ${month})`;

/**
 * Whether staff keep the renewals of a user from being carried out, as an expression: `paused`,
 * `user-blocked` or null.
 *
 * @param user an expression: the id of the user
 */
export const heldUpSql = (user: string): string => `
  CASE WHEN EXISTS (SELECT FROM installation WHERE renewals_paused_at IS NOT NULL)
         OR EXISTS (SELECT FROM renewal_settings WHERE user_id = ${user} AND paused_at IS NOT NULL)
         THEN 'paused'
       WHEN EXISTS (SELECT FROM users WHERE id = ${user} AND blocked_at IS NOT NULL) THEN 'user-blocked' END`;
