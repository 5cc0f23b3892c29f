import { sqlList } from '../database';
import { QUEUE_SLACK_MS } from './longest-order';
import { CLOSED_FOR_MAINTENANCE } from './maintenance';
import { IS_RENEWAL_SQL } from './order-keys';
import { PROXY_REFUSALS, statesBefore } from './order-states';

/*
 * The queue in front of the provider is the table of orders: which orders wait, and for what. The constants
 * are expressions over a row of `orders`.
 */

/** Reserved and before its deadline. Orders that waited before a restore may have been sent since. */
export const IN_QUEUE = `state IN ${sqlList(statesBefore('submitting'))} AND next_search_at > now()
            AND NOT (SELECT ${CLOSED_FOR_MAINTENANCE})`;

/** How long a read end is valid: somebody else may prolong the rental. */
const AN_END_COUNTS_FOR = `interval '1 hour'`;

/** Whether the call for an order in the queue can be made. */
export const IS_READY = `(kind = 'purchase'
            OR date_end_before IS NOT NULL AND end_read_at > now() - ${AN_END_COUNTS_FOR})`;

/**
 * Whether an order in the queue waits for a replica to read the end of its rental. A replica that takes too
 * long is considered dead.
 *
 * @param longestReadingSeconds a parameter
 */
export const isUnread = (longestReadingSeconds: string): string => `(kind = 'prolongation'
            AND (end_read_at IS NULL
                 OR date_end_before IS NULL
                    AND end_read_at <= now() - make_interval(secs => ${longestReadingSeconds})
                 OR date_end_before IS NOT NULL AND end_read_at <= now() - ${AN_END_COUNTS_FOR}))`;

/** How many more milliseconds a reserved order may wait; null in another state. */
export const QUEUE_LEFT_MS = `CASE state WHEN 'reserved' THEN
                extract(epoch FROM deadline - now())::double precision * 1000 - ${QUEUE_SLACK_MS} END`;

/**
 * Whether an order lets all others go first: no customer waits for the response of a renewal. One that has
 * waited for long has its turn like any other, or a busy service would never renew.
 */
export const GIVES_WAY = `(${IS_RENEWAL_SQL} AND created_at > now() - interval '10 minutes')`;

/**
 * How many reserved orders wait, and since when the oldest one waits, for the metrics. The oldest is not a
 * renewal, because those let all other orders go first.
 */
export const WAITING_ORDERS = `
  SELECT count(*)::integer AS count, min(created_at) FILTER (WHERE NOT ${IS_RENEWAL_SQL}) AS oldest
    FROM orders WHERE state = 'reserved'`;

/** Whether the provider has refused to prolong the proxy of an order, alone or together with others. */
export const WAS_REFUSED_LATELY = `EXISTS (
              SELECT FROM orders AS refused
               WHERE refused.proxy_id = orders.proxy_id AND refused.state = 'canceled'
                 AND refused.failure IN ${sqlList(PROXY_REFUSALS)}
                 AND refused.closed_at > now() - interval '1 hour')`;

/** When a user was last served by a call, as a subquery. @param user an expression */
export const servedAt = (user: string): string => `(SELECT submitted_at FROM orders
                           WHERE orders.user_id = ${user} AND submitted_at IS NOT NULL
                           ORDER BY created_at DESC, id DESC LIMIT 1)`;
