import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Money } from '../../common';
import { groupedStatement, preparedRows, type Queryable, queryRow, refusedBy } from '../../database';
import { OVERFLOW, POSTED_ENTRY, type PostedEntryOut, postEntriesSql } from '../../ledger';
import { Metrics } from '../../metrics';
import { countOutcomes, type EndedOrder } from '../order-outcome';
import type { OrderFailure, OpenState } from '../order-states';

const LEAVING_TOGETHER = 200;
/** The UTC day whose token spending includes the order. Later releases are subtracted from the same day. */
const ORDER_DAY = `(created_at AT TIME ZONE 'UTC')::date`;

/**
 * As in `place_orders.sql`, rows of token_spending are locked after accounts, and in the order of token ids,
 * so that no two statements deadlock.
 */
export const UNCOUNT_SPENDING = `
       taken_off AS (
         SELECT limited_id AS token_id, ${ORDER_DAY} AS day, sum(released) AS amount
           FROM closed JOIN entries ON entries.order_id = closed.id
           JOIN LATERAL (SELECT unnest(token.id || token.limited_by) AS limited_id
                           FROM api_tokens token
                          WHERE token.id = closed.token_id AND token.daily_limit IS NOT NULL) AS l ON true
          WHERE entries.kind = 'release' GROUP BY 1, 2
       ),
       uncounted AS (
         UPDATE token_spending AS counter SET spent = greatest(counter.spent - amount, 0)
           FROM (SELECT token_id, day, amount FROM taken_off JOIN token_spending locked USING (token_id, day)
                  ORDER BY token_id, day FOR UPDATE OF locked) AS found
          WHERE (counter.token_id, counter.day) = (found.token_id, found.day)
       )`;

@Injectable()
export class OrderCancellations {
  constructor(
    private readonly dataSource: DataSource,
    private readonly metrics: Metrics,
  ) {}

  /** @param from states in which it is certain, or was decided, that nothing was bought */
  async cancelOrders(
    orderIds: readonly number[],
    reason: OrderFailure,
    from: readonly OpenState[],
    queryable: Queryable = this.dataSource,
  ): Promise<number[]> {
    if (orderIds.length === 0) return [];
    const released = await preparedRows<EndedOrder & { id: number }>(
      queryable,
      `WITH closed AS (
         UPDATE orders
            SET state = 'canceled', released = hold_amount, failure = $2, closed_at = now(),
                queued_until = NULL
          WHERE id IN (SELECT id FROM orders WHERE id = ANY ($1) AND state = ANY ($3) ORDER BY id FOR UPDATE)
         RETURNING id, kind, state, user_id, hold_amount, released, token_id, created_at
       ),
       entries AS (
         ${postEntriesSql(
           `SELECT user_id, 'release' AS kind, id AS order_id, hold_amount AS available_delta,
                   -hold_amount AS held_delta
              FROM closed`,
           'SELECT user_id FROM closed',
         )}
         RETURNING order_id, kind
       ),${UNCOUNT_SPENDING}
       SELECT id, kind, state FROM closed`,
      [[...orderIds], reason, [...from]],
    );
    countOutcomes(this.metrics, released);
    return released.map(({ id }) => id);
  }

  /** Cancels an order that was never sent. @returns false if the order no longer waits in the queue */
  readonly leaveQueue = groupedStatement<{ orderId: number; reason: OrderFailure }, boolean>(
    async (leaving) => {
      const canceled = new Set<number>();
      for (const reason of new Set(leaving.map((order) => order.reason))) {
        const ids = leaving.filter((order) => order.reason === reason).map(({ orderId }) => orderId);
        for (const id of await this.cancelOrders(ids, reason, ['reserved'])) canceled.add(id);
      }
      return leaving.map(({ orderId }) => canceled.has(orderId));
    },
    { maxItems: LEAVING_TOGETHER, maxWaitMs: 500 },
  );

  /** @throws BalanceTooLarge, or QueryFailedError (`orders_refunded_check`) if less than `amount` is left */
  async refundCharge(
    orderId: number,
    amount: Money,
    { reason, reference, actionId }: { reason: string; reference: string | null; actionId: number },
    manager: EntityManager,
  ): Promise<PostedEntryOut> {
    const statement = `WITH paid AS (
         UPDATE orders SET refunded = refunded + $2::numeric WHERE id = $1 RETURNING id, user_id
       )
       INSERT INTO ledger_entries AS entry
         (user_id, kind, order_id, available_delta, held_delta, reason, reference, action_id)
       SELECT user_id, 'refund', id, $2::numeric, 0, $3, $4, $5 FROM paid
       RETURNING ${POSTED_ENTRY}`;
    const given = [orderId, amount.toString(), reason, reference, actionId];
    return refusedBy(OVERFLOW, () => queryRow<PostedEntryOut>(manager, statement, given));
  }
}
