import { sqlList } from '../database';
import { QUEUE_SLACK_MS } from './longest-order';
import { CLOSED_FOR_MAINTENANCE } from './maintenance';
import { IS_RENEWAL_SQL, PROXY_FAILURES, statesBefore } from './order-states';

/* These SQL expressions, which refer to a row of `orders`, define the queue. */

/** False during maintenance, because an order that seems queued may have been sent before the restore. */
export const IN_QUEUE_SQL = `state IN ${sqlList(statesBefore('submitting'))} AND next_search_at > now()
            AND NOT (SELECT ${CLOSED_FOR_MAINTENANCE})`;

/** How long a stored expiry is trusted. Limited because the rental may be prolonged in the meantime. */
const AN_END_COUNTS_FOR = `interval '1 hour'`;

export const IS_READY_SQL = `(kind = 'purchase'
            OR date_end_before IS NOT NULL AND end_read_at > now() - ${AN_END_COUNTS_FOR})`;

/**
 * Returns an SQL expression for whether a rental's expiry must be read. A replica that has not stored the
 * expiry in time is presumed dead, and another one reads the expiry.
 * @param longestReadingSeconds SQL parameter
 */
export const isEndUnreadSql = (longestReadingSeconds: string): string => `(kind = 'prolongation'
            AND (end_read_at IS NULL
                 OR date_end_before IS NULL
                    AND end_read_at <= now() - make_interval(secs => ${longestReadingSeconds})
                 OR date_end_before IS NOT NULL AND end_read_at <= now() - ${AN_END_COUNTS_FOR}))`;

export const QUEUE_LEFT_MS_SQL = `CASE state WHEN 'reserved' THEN
                extract(epoch FROM queued_until - now())::double precision * 1000 - ${QUEUE_SLACK_MS} END`;

/** Renewals yield to other orders, but only for ten minutes. Otherwise, a busy service would never renew. */
export const YIELDS_TO_OTHERS_SQL = `(${IS_RENEWAL_SQL} AND created_at > now() - interval '10 minutes')`;

/** `oldest` excludes renewals, because they yield to other orders. */
export const WAITING_ORDERS = `
  SELECT count(*)::integer AS count, min(created_at) FILTER (WHERE NOT ${IS_RENEWAL_SQL}) AS oldest
    FROM orders WHERE state = 'reserved'`;

export const WAS_RECENTLY_REFUSED_SQL = `EXISTS (
              SELECT FROM orders AS refused
               WHERE refused.proxy_id = orders.proxy_id AND refused.state = 'canceled'
                 AND refused.failure IN ${sqlList(PROXY_FAILURES)}
                 AND refused.closed_at > now() - interval '1 hour')`;

/** @param user SQL expression */
export const lastServedAtSql = (user: string): string => `(SELECT submitted_at FROM orders
                           WHERE orders.user_id = ${user} AND submitted_at IS NOT NULL
                           ORDER BY created_at DESC, id DESC LIMIT 1)`;
