import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AppConfig } from '../../config';
import { preparedRow, preparedRows, queryRows, resolveCommitOutcome, sqlList } from '../../database';
import { PROXIES_PER_CALL } from '../../provider';
import { longestQueueSeconds, longestReadingSeconds, RENEWAL_QUEUE_SECONDS } from '../longest-order';
import type { OrderBatch } from '../order-batch';
import { type BatchRow, SELECT_BATCH_ROWS, toBatches } from '../order-queries';
import {
  YIELDS_TO_OTHERS_SQL,
  IN_QUEUE_SQL,
  IS_READY_SQL,
  isEndUnreadSql,
  lastServedAtSql,
  WAS_RECENTLY_REFUSED_SQL,
} from '../order-queue';
import { statesBefore, IS_RENEWAL_SQL } from '../order-states';
import { OrderCancellations } from './order-cancellations';

/** Arbitrary key of the advisory lock for claims. */
export const CLAIM_LOCK = 7_283_002;

/** With more orders in a call, a lost response would affect more customers. */
export const ORDERS_PER_CALL = 100;

export interface QueueSnapshot {
  readonly hasReady: boolean;
  /** Whether a prolongation waits for a listing that shows its rental's expiry. */
  readonly hasUnread: boolean;
}

export type ClaimedBatch = OrderBatch & {
  readonly leavesOthers: boolean;
  readonly leavesUnread: boolean;
};

@Injectable()
export class OrderClaims {
  constructor(
    private readonly dataSource: DataSource,
    private readonly cancellations: OrderCancellations,
    private readonly config: AppConfig,
  ) {}

  readQueue(): Promise<QueueSnapshot> {
    return preparedRow<QueueSnapshot>(
      this.dataSource,
      `SELECT EXISTS (SELECT FROM orders WHERE ${IN_QUEUE_SQL} AND ${IS_READY_SQL}) AS "hasReady",
              EXISTS (SELECT FROM orders WHERE ${IN_QUEUE_SQL} AND ${isEndUnreadSql('$1')}) AS "hasUnread"`,
      [longestReadingSeconds(this.config)],
    );
  }

  /**
   * Claims the next batch. Once the claim is committed, its orders count as possibly bought. The user who was
   * served longest ago comes first; renewals come last.
   * @param claim client-generated id, which finds the batch if the reply is lost
   * @param affordable maximum cost of the batch and the running calls combined, in roubles; null if unknown.
   * The first order is claimed even if it costs more.
   * @returns null if the queue is empty, or another replica is claiming
   */
  async claimNextBatch(claim: string, affordable: string | null): Promise<ClaimedBatch | null> {
    const rows = await preparedRows<BatchRow & { readonly queued: number; readonly leavesUnread: boolean }>(
      this.dataSource,
      `WITH waiting AS (
         SELECT id, user_id, kind, country, version, period, proxy_type, count, provider_price,
                -- Send a prolongation alone if the provider refused its proxy within the last hour.
                -- Otherwise, the provider would refuse the whole call.
                CASE WHEN kind = 'prolongation' AND claim IS NULL AND ${WAS_RECENTLY_REFUSED_SQL}
                     THEN gen_random_uuid() ELSE claim END AS refused_claim,
                ${YIELDS_TO_OTHERS_SQL} AS gives_way,
                row_number() OVER (PARTITION BY user_id ORDER BY id) AS place
           FROM orders
          WHERE ${IN_QUEUE_SQL} AND ${IS_READY_SQL}
            -- Two concurrent claims would choose the same orders, and one would get none.
            AND (SELECT pg_try_advisory_xact_lock(${CLAIM_LOCK}))
       ),
       queued AS MATERIALIZED (
         -- Looks up the time of each user's last call only once.
         SELECT *, max(CASE place WHEN 1 THEN
                         ${lastServedAtSql('waiting.user_id')} END)
                     OVER (PARTITION BY user_id) AS served_at
           FROM waiting
       ),
       head AS MATERIALIZED (
         SELECT * FROM queued ORDER BY gives_way, served_at NULLS FIRST, id LIMIT 1
       ),
       alike AS (
         SELECT queued.*,
                row_number() OVER (PARTITION BY queued.user_id, queued.gives_way ORDER BY queued.id) AS turn
           FROM queued, head
          WHERE queued.refused_claim IS NOT DISTINCT FROM head.refused_claim
            AND (queued.kind, queued.version, queued.period) = (head.kind, head.version, head.period)
            AND (head.kind = 'prolongation'
                 OR (queued.country, queued.proxy_type) = (head.country, head.proxy_type))
       ),
       candidates AS (
         SELECT id, row_number() OVER queue AS position, sum(count) OVER queue AS size,
                sum(provider_price) OVER queue AS cost,
                CASE kind WHEN 'purchase' THEN ${PROXIES_PER_CALL.purchase}
                          ELSE ${PROXIES_PER_CALL.prolongation} END AS capacity
           FROM alike
         WINDOW queue AS (ORDER BY gives_way, turn, served_at NULLS FIRST, id)
       ),
       under_way AS (
         SELECT coalesce(sum(provider_price), 0) AS cost FROM orders WHERE state = 'submitting'
       ),
       members AS (
         SELECT id FROM orders
          WHERE state IN ${sqlList(statesBefore('submitting'))}
            -- As an array, the subquery is evaluated once rather than for each order.
            AND id = ANY (ARRAY(
                  SELECT id FROM candidates
                   WHERE position = 1
                      OR (position <= $3 AND size <= capacity
                          AND coalesce(cost + (SELECT cost FROM under_way) <= $4, true))))
          ORDER BY id FOR UPDATE SKIP LOCKED
       ),
       leader AS (SELECT min(id) AS id, clock_timestamp() AS sent_at FROM members),
       sent AS (
         UPDATE orders
            SET state = 'submitting', batch_id = leader.id, submitted_at = sent_at,
                queued_until = NULL, sent_before = sent_at + make_interval(secs => $1),
                next_search_at = sent_at + make_interval(secs => $1), claim = $2
           FROM leader
          WHERE orders.id = ANY (ARRAY(SELECT id FROM members))
         RETURNING orders.*
       )
       SELECT batch.*, (SELECT count(*) FROM queued) AS queued,
              EXISTS (SELECT FROM orders WHERE ${IN_QUEUE_SQL} AND ${isEndUnreadSql('$5')}) AS "leavesUnread"
         FROM (${SELECT_BATCH_ROWS}) AS batch`,
      [
        this.config.provider.timeoutMs / 1000,
        claim,
        this.config.tuning.ordersPerCall ?? ORDERS_PER_CALL,
        affordable,
        longestReadingSeconds(this.config),
      ],
    );
    const [batch] = toBatches(rows);
    const [{ queued, leavesUnread } = { queued: 0, leavesUnread: false }] = rows;
    return batch ? { ...batch, leavesUnread, leavesOthers: queued > batch.members.length } : null;
  }

  /**
   * Cancels the batch of a claim whose reply was lost, so that the batch is never sent.
   * @throws StatementOutcomeUnknown
   */
  undoClaim(claim: string, error: unknown): Promise<number[]> {
    return resolveCommitOutcome(this.dataSource, error, async () => {
      const claimed = await queryRows<{ id: number }>(
        this.dataSource,
        `SELECT id FROM orders WHERE claim = $1 AND state = 'submitting'`,
        [claim],
      );
      const ids = claimed.map(({ id }) => id);
      return this.cancellations.cancelOrders(ids, 'unavailable', ['submitting']);
    });
  }

  /**
   * Requeues members of a refused batch for one more call. Users who have not been served since the first
   * call come first.
   * @param together order ids, grouped by call
   */
  async requeueRefused(batchId: number, together: readonly (readonly number[])[]): Promise<number[]> {
    const calls = together.flatMap((ids) => Array<string>(ids.length).fill(randomUUID()));
    if (calls.length === 0) return [];
    const queued = await queryRows<{ id: number }>(
      this.dataSource,
      // Orders with the same new claim may share their next call.
      `UPDATE orders
          SET state = 'reserved', resent = true, batch_id = NULL, claim = next_call,
              sent_before = NULL, queued_until = given_up, next_search_at = given_up
         FROM (SELECT id AS order_id, next_call,
                      CASE WHEN ${IS_RENEWAL_SQL}
                           THEN least(created_at + make_interval(secs => $5), date_end_before)
                           ELSE now() + make_interval(secs => $4) END AS given_up
                 FROM orders
                 JOIN unnest($2::bigint[], $3::uuid[]) AS chosen (chosen_id, next_call) ON id = chosen_id
                WHERE batch_id = $1 AND state IN ${sqlList(statesBefore('reserved'))}
                ORDER BY id FOR NO KEY UPDATE OF orders) AS times
        WHERE id = order_id
       RETURNING id`,
      [batchId, together.flat(), calls, longestQueueSeconds(this.config), RENEWAL_QUEUE_SECONDS],
    );
    return queued.map(({ id }) => id);
  }
}
