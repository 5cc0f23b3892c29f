import { sqlList } from '../database';
import { MOST_HOURS_AHEAD, SKIP_REASONS, type SkipReason } from './decide';

/** Reasons of the customer or of staff: the service has no fault. */
const NOT_OURS: readonly SkipReason[] = [
  'paused',
  'user-blocked',
  'proxy-withdrawn',
  'refund-open',
  'order-open',
  'price-above-max',
  'budget-used-up',
  'balance-short',
];

/** Reasons of the service or the provider. */
export const OUR_REASONS: readonly SkipReason[] = SKIP_REASONS.filter((reason) => !NOT_OURS.includes(reason));

/**
 * SQL: whether a row of `renewals` is due and waits for the service or the provider. No renewal is due for
 * longer than the largest `hours_before` of a rule: this limits the range that an index reads.
 */
export const RENEWAL_WAITS = `(due_at BETWEEN now() - interval '${MOST_HOURS_AHEAD} hours' AND now()
  AND state IN ${sqlList(['planned', 'skipped'])} AND next_try_at IS NOT NULL
  AND (reason IS NULL OR reason IN ${sqlList(OUR_REASONS)}))`;

/** SQL: their number, and when the oldest became due. */
export const WAITING_RENEWALS = `
  SELECT count(*)::integer AS count, min(due_at) AS oldest FROM renewals WHERE ${RENEWAL_WAITS}`;
