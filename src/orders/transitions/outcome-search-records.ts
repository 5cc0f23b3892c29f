import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AppConfig } from '../../config';
import { preparedRows, type Queryable, queryRows, sqlList } from '../../database';
import { RetryClockCorrection } from '../../jobs';
import { Metrics } from '../../metrics';
import type { OrderBatch } from '../order-batch';
import { countOutcomes, type EndedOrder } from '../order-outcome';
import { OrderQueries } from '../order-queries';
import { statesBefore, UNATTENDED_STATES } from '../order-states';

/**
 * When to search, in seconds after the latest time at which the order may have been sent. The values are for
 * a settlement delay of 600 s, and are scaled for other delays.
 */
const OFFSETS_SECONDS = [0, 2, 5, 15, 30, 60, 120, 300, 600] as const;
const ORDINARY_SETTLEMENT_DELAY_SECONDS = 600;

/** Seconds after which an order moves to review. */
export const SEARCHES_END_AFTER_SECONDS = 24 * 3600;

/** Returns the longest pause between two searches. It exceeds the time that sending a call can take. */
const longestPauseSeconds = (settlementDelaySeconds: number): number =>
  Math.max(ORDINARY_SETTLEMENT_DELAY_SECONDS, settlementDelaySeconds) * 2;

function searchOffsetsSeconds(settlementDelaySeconds: number): number[] {
  return OFFSETS_SECONDS.map(
    (offset) => (offset * settlementDelaySeconds) / ORDINARY_SETTLEMENT_DELAY_SECONDS,
  );
}

/** Returns how far apart two empty searches must be for both to count as evidence that nothing was bought. */
export function spacingOfEmptySearchesSeconds(settlementDelaySeconds: number): number {
  return Math.min(60, settlementDelaySeconds / 10);
}

/** After a restore, even a queued order may have been sent already, so every open order is reconciled. */
export async function countOpenOrdersAsPossiblyBought(queryable: Queryable): Promise<void> {
  await queryRows(
    queryable,
    `UPDATE orders
        SET state = CASE state WHEN 'reserved' THEN 'submitting' ELSE state END,
            batch_id = coalesce(batch_id, orders.id), submitted_at = coalesce(submitted_at, now()),
            date_end_before = CASE WHEN proxy_id IS NOT NULL THEN
              coalesce(date_end_before, (SELECT date_end FROM proxies WHERE proxies.id = proxy_id)) END,
            queued_until = NULL, sent_before = greatest(sent_before, queued_until, now()),
            next_search_at = now(), searches = 0, nothing_seen_since = NULL
      WHERE state IN ${sqlList(UNATTENDED_STATES)}`,
  );
}

@Injectable()
export class OutcomeSearchRecords {
  constructor(
    private readonly dataSource: DataSource,
    private readonly queries: OrderQueries,
    private readonly config: AppConfig,
    private readonly metrics: Metrics,
    clockCorrection: RetryClockCorrection,
  ) {
    const seconds = longestPauseSeconds(config.reconciliation.settlementDelaySeconds);
    clockCorrection.add({
      table: 'orders',
      column: 'next_search_at',
      where: "state = 'confirming'",
      longestPause: `interval '${seconds} seconds'`,
    });
  }

  async beginConfirming(batchId: number): Promise<void> {
    await queryRows(
      this.dataSource,
      `UPDATE orders SET state = 'confirming', next_search_at = now()
        WHERE id IN (SELECT id FROM orders
                      WHERE batch_id = $1 AND state IN ${sqlList(statesBefore('confirming'))}
                      ORDER BY id FOR NO KEY UPDATE)`,
      [batchId],
    );
  }

  /**
   * Claims orders that are due for a search, by locking the row of each batch's leader. Once the schedule is
   * exhausted, searches follow each other after one to two settlement delays. Waits are capped at the longest
   * pause, in case the database's clock is set back.
   * @param limit maximum number of batches; an order that was never sent counts as one
   */
  async claimDueSearches(limit: number): Promise<{ unsent: number[]; batches: OrderBatch[] }> {
    const { settlementDelaySeconds } = this.config.reconciliation;
    const offsets = searchOffsetsSeconds(settlementDelaySeconds);
    const claimed = await preparedRows<{ id: number; batchId: number | null }>(
      this.dataSource,
      `WITH due AS MATERIALIZED (
         SELECT id, coalesce(batch_id, id) AS leader, next_search_at FROM orders
          WHERE state IN ${sqlList(UNATTENDED_STATES)} AND next_search_at <= now()
       ),
       leaders AS (
         SELECT id FROM orders
          WHERE id IN (SELECT leader FROM due GROUP BY leader ORDER BY min(next_search_at) LIMIT $1)
            -- FOR UPDATE would deadlock with a settlement that has locked members and records the leader's
            -- call, because the record's foreign key locks the leader.
            FOR NO KEY UPDATE SKIP LOCKED
       ),
       locked AS MATERIALIZED (
         SELECT id FROM orders
          WHERE id IN (SELECT due.id FROM due JOIN leaders ON leaders.id = due.leader)
            AND state IN ${sqlList(UNATTENDED_STATES)} AND next_search_at <= now()
          ORDER BY id FOR NO KEY UPDATE
       )
       UPDATE orders
          SET state = CASE state WHEN 'submitting' THEN 'confirming' ELSE state END,
              searches = searches + 1,
              next_search_at = least(now() + make_interval(secs => $4), coalesce(
                (SELECT min(scheduled_at)
                   FROM unnest($2::float8[]) AS seconds,
                        LATERAL (SELECT coalesce(sent_before, queued_until)
                                          + make_interval(secs => seconds) AS scheduled_at) AS schedule
                  WHERE scheduled_at > now() + interval '100 ms'),
                now() + make_interval(secs => $3 * (1 + random()))))
         FROM locked
        WHERE orders.id = locked.id
       RETURNING orders.id, orders.batch_id AS "batchId"`,
      [limit, offsets, offsets.at(-1), longestPauseSeconds(settlementDelaySeconds)],
    );
    const batchIds = new Set(claimed.flatMap(({ batchId }) => (batchId === null ? [] : [batchId])));
    return {
      unsent: claimed.filter(({ batchId }) => batchId === null).map(({ id }) => id),
      batches: await this.queries.findBatches([...batchIds]),
    };
  }

  /**
   * After the first empty search, moves the next one to the earliest time at which it can prove that nothing
   * was bought.
   * @param startedAt the database's time before the search began
   * @returns since when nothing has been found; null if something was found
   */
  async recordSearch(
    orderIds: readonly number[],
    startedAt: Date,
    found: 'something' | 'nothing',
  ): Promise<Date | null> {
    const { settlementDelaySeconds } = this.config.reconciliation;
    const [order] = await queryRows<{ since: Date | null }>(
      this.dataSource,
      `UPDATE orders
          SET nothing_seen_since = CASE WHEN $3 THEN coalesce(nothing_seen_since, $2) END,
              next_search_at = CASE WHEN $3 AND nothing_seen_since IS NULL THEN
                least(next_search_at, greatest(sent_before + make_interval(secs => $4),
                                             $2 + make_interval(secs => $5)))
                ELSE next_search_at END
        WHERE id IN (SELECT id FROM orders WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE)
       RETURNING nothing_seen_since AS since`,
      [
        orderIds,
        startedAt,
        found === 'nothing',
        settlementDelaySeconds,
        spacingOfEmptySearchesSeconds(settlementDelaySeconds),
      ],
    );
    return order?.since ?? null;
  }

  /** @param why shown to staff */
  async sendToReview(orderIds: readonly number[], why: string): Promise<void> {
    const sent = await queryRows<EndedOrder>(
      this.dataSource,
      `UPDATE orders SET state = 'review', failure = $2
        WHERE id IN (SELECT id FROM orders
                      WHERE id = ANY ($1) AND state IN ${sqlList(statesBefore('review'))}
                      ORDER BY id FOR NO KEY UPDATE)
       RETURNING kind, state`,
      [orderIds, why],
    );
    countOutcomes(this.metrics, sent);
  }
}
