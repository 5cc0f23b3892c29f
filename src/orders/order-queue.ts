import { sqlList } from '../database';
import { QUEUE_SLACK_MS } from './longest-order';
import { CLOSED_FOR_MAINTENANCE } from './maintenance';
import { IS_RENEWAL_SQL, PROXY_FAILURES, statesBefore } from './order-states';

/*
 * The queue is the table of orders. These expressions over a row of `orders` determine which orders are
 * waiting, and for what.
 */

/**
 * Whether an order is reserved and still waits for its call. False during maintenance: after a restore, an
 * order that seems to wait may have been sent already.
 */
export const IN_QUEUE_SQL = `state IN ${sqlList(statesBefore('submitting'))} AND next_search_at > now()
            AND NOT (SELECT ${CLOSED_FOR_MAINTENANCE})`;

/** How long an expiry is trusted after it was read. Somebody else may prolong the rental afterwards. */
const AN_END_COUNTS_FOR = `interval '1 hour'`;

/** Whether a queued order is ready for its call. */
export const IS_READY_SQL = `(kind = 'purchase'
            OR date_end_before IS NOT NULL AND end_read_at > now() - ${AN_END_COUNTS_FOR})`;

/**
 * Whether a queued order waits for a replica to read its rental's expiry. A replica that takes too long
 * counts as dead. @param longestReadingSeconds SQL parameter
 */
export const isEndUnreadSql = (longestReadingSeconds: string): string => `(kind = 'prolongation'
            AND (end_read_at IS NULL
                 OR date_end_before IS NULL
                    AND end_read_at <= now() - make_interval(secs => ${longestReadingSeconds})
                 OR date_end_before IS NOT NULL AND end_read_at <= now() - ${AN_END_COUNTS_FOR}))`;

/** How much longer a reserved order may wait, in milliseconds; null in any other state. */
export const QUEUE_LEFT_MS_SQL = `CASE state WHEN 'reserved' THEN
                extract(epoch FROM queued_until - now())::double precision * 1000 - ${QUEUE_SLACK_MS} END`;

/**
 * Whether an order lets all others go first. A renewal does for ten minutes, because no customer waits for
 * it. After that it takes its turn; otherwise, a busy service would never renew.
 */
export const YIELDS_TO_OTHERS_SQL = `(${IS_RENEWAL_SQL} AND created_at > now() - interval '10 minutes')`;

/**
 * Query for the number of reserved orders, and the time of the oldest one that is not a renewal: renewals let
 * other orders go first.
 */
export const WAITING_ORDERS = `
  SELECT count(*)::integer AS count, min(created_at) FILTER (WHERE NOT ${IS_RENEWAL_SQL}) AS oldest
    FROM orders WHERE state = 'reserved'`;

/** Whether the provider refused within the last hour to prolong an order's proxy, alone or with others. */
export const WAS_RECENTLY_REFUSED_SQL = `EXISTS (
              SELECT FROM orders AS refused
               WHERE refused.proxy_id = orders.proxy_id AND refused.state = 'canceled'
                 AND refused.failure IN ${sqlList(PROXY_FAILURES)}
                 AND refused.closed_at > now() - interval '1 hour')`;

/** Returns a subquery for the time when a user's most recent order was sent. @param user SQL expression */
export const lastServedAtSql = (user: string): string => `(SELECT submitted_at FROM orders
                           WHERE orders.user_id = ${user} AND submitted_at IS NOT NULL
                           ORDER BY created_at DESC, id DESC LIMIT 1)`;
