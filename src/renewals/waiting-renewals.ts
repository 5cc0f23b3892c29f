import { sqlList } from '../database';
import { MAX_HOURS_AHEAD, RENEWAL_OBSTACLES, type RenewalObstacle } from './renewal-decision';

/** Obstacles that only the customer or staff can remove. */
const NOT_OURS: readonly RenewalObstacle[] = [
  'paused',
  'user-blocked',
  'proxy-withdrawn',
  'refund-open',
  'order-open',
  'price-above-max',
  'budget-used-up',
  'balance-short',
];

export const OUR_OBSTACLES: readonly RenewalObstacle[] = RENEWAL_OBSTACLES.filter(
  (reason) => !NOT_OURS.includes(reason),
);

/** The lower bound of `due_at` limits how much of the index is scanned. */
export const RENEWAL_WAITS_SQL = `(due_at BETWEEN now() - interval '${MAX_HOURS_AHEAD} hours' AND now()
  AND state IN ${sqlList(['planned', 'skipped'])} AND next_try_at IS NOT NULL
  AND (reason IS NULL OR reason IN ${sqlList(OUR_OBSTACLES)}))`;

export const WAITING_RENEWALS = `
  SELECT count(*)::integer AS count, min(due_at) AS oldest FROM renewals WHERE ${RENEWAL_WAITS_SQL}`;
