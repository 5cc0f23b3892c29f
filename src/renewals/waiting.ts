import { sqlList } from '../database';
import { MOST_HOURS_AHEAD, SKIP_REASONS, type SkipReason } from './decide';

/** For these, a renewal waits for its customer, or staff want it so: nothing is wrong with the service. */
const NOT_OURS: readonly SkipReason[] = [
  'paused',
  'user-blocked',
  'proxy-withdrawn',
  'order-open',
  'price-above-max',
  'budget-used-up',
  'balance-short',
];

/** For these, a renewal waits for the service or the provider. */
export const OUR_REASONS: readonly SkipReason[] = SKIP_REASONS.filter((reason) => !NOT_OURS.includes(reason));

/**
 * SQL: whether a renewal of the table `renewals` is due and waits for the service or the provider. No renewal
 * is due for longer than the most hours before its end that a rule can have: this bounds what an index reads.
 */
export const RENEWAL_WAITS = `(due_at BETWEEN now() - interval '${MOST_HOURS_AHEAD} hours' AND now()
  AND state IN ${sqlList(['planned', 'skipped'])} AND next_try_at IS NOT NULL
  AND (reason IS NULL OR reason IN ${sqlList(OUR_REASONS)}))`;

/** SQL: how many of them there are, and when the oldest became due. */
export const WAITING_RENEWALS = `
  SELECT count(*)::integer AS count, min(due_at) AS oldest FROM renewals WHERE ${RENEWAL_WAITS}`;
