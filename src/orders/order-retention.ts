import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AppConfig } from '../config';
import { queryRow, queryRows, sqlList } from '../database';
import { Retention, type RetentionStep, STEP_ROWS } from '../jobs';
import { BulkRecords } from './bulk/bulk-records';
import { OPEN_STATES } from './order-states';

/** An order with an unknown outcome is closed or goes to review within this many days. */
const DAYS_TO_CLOSE = 2;

/** Small, because one order may have delivered a thousand proxies. */
const FORGOTTEN_AT_ONCE = 200;

/** Removes old order data, except what accounting needs. */
@Injectable()
export class OrderRetention {
  constructor(
    retention: Retention,
    private readonly dataSource: DataSource,
    bulks: BulkRecords,
    { purchases: { replayDays }, retention: { historyDays, providerCallDays } }: AppConfig,
  ) {
    retention.add<{ ended: string; id: number }>('order_passwords', (cursor) =>
      this.forgetCredentials(replayDays, cursor ?? { ended: '', id: 0 }),
    );
    retention.add('unused_bulks', () => bulks.forgetUnused());
    retention.add('expected_retries', () => this.endExpectedRetries());
    if (historyDays > 0) {
      // After the removal, a replay returns the proxies as they are now.
      retention.add('delivered_proxies', () =>
        this.forgetBatch(
          `UPDATE orders SET delivered_proxies = NULL WHERE id = ANY (ARRAY(
             SELECT id FROM orders
              WHERE delivered_proxies IS NOT NULL AND delivered_proxies #> '{0,password}' IS NULL
                AND delivered_proxies #>> '{0,date_end}'
                    < to_jsonb(now() - make_interval(days => $1)) #>> '{}'
              ORDER BY delivered_proxies #>> '{0,date_end}', id LIMIT $2))`,
          historyDays,
        ),
      );
      // Money released after a day's row was removed is no longer subtracted from that day's spending.
      retention.add('token_spending_days', () =>
        this.forgetBatch(
          `DELETE FROM token_spending WHERE (token_id, day) IN (
             SELECT token_id, day FROM token_spending
              WHERE day < (now() AT TIME ZONE 'UTC')::date - $1::integer
              ORDER BY day LIMIT $2 FOR UPDATE SKIP LOCKED)`,
          historyDays,
        ),
      );
    }
    retention.addOldRows({
      name: 'order_histories',
      table: 'orders',
      time: 'created_at',
      days: historyDays && historyDays + DAYS_TO_CLOSE,
      stays: `closed_at IS NULL OR closed_at >= now() - make_interval(days => $2 - ${DAYS_TO_CLOSE})`,
      removal: `UPDATE orders SET history = jsonb_build_array(history -> -1)
                 WHERE id = ANY (ARRAY(SELECT id FROM old)) AND jsonb_array_length(history) > 1`,
    });
    // Open orders keep their call records, because staff may need them in a review.
    retention.addOldRows({
      name: 'provider_calls',
      table: 'provider_calls',
      time: 'created_at',
      days: providerCallDays,
      stays: `order_id = ANY (ARRAY(SELECT unnest(ARRAY[id, coalesce(batch_id, id)]) FROM orders
                                     WHERE state IN ${sqlList(OPEN_STATES)}))`,
      removal: 'DELETE FROM provider_calls WHERE id = ANY (ARRAY(SELECT id FROM old))',
    });
  }

  /** @param after last row of the previous batch */
  private async forgetCredentials(
    days: number,
    after: { readonly ended: string; readonly id: number },
  ): Promise<RetentionStep<{ ended: string; id: number }>> {
    const [batch] = await queryRows<{ forgotten: number; ended: string; id: number }>(
      this.dataSource,
      `WITH due AS MATERIALIZED (
         SELECT delivered_proxies #>> '{0,date_end}' AS ended, id FROM orders
          WHERE delivered_proxies #> '{0,password}' IS NOT NULL
            AND (delivered_proxies #>> '{0,date_end}', id) > ($1, $2::bigint)
            AND delivered_proxies #>> '{0,date_end}' < to_jsonb(now() - make_interval(days => $3)) #>> '{}'
          ORDER BY delivered_proxies #>> '{0,date_end}', id LIMIT $4
       ),
       forgotten AS (
         UPDATE orders
            SET delivered_proxies = (SELECT jsonb_agg(proxy - 'login' - 'password' ORDER BY position)
                                       FROM jsonb_array_elements(delivered_proxies)
                                         WITH ORDINALITY AS kept (proxy, position))
          WHERE id = ANY (ARRAY(SELECT id FROM due ORDER BY id))
            AND NOT EXISTS (SELECT FROM proxies WHERE order_id = orders.id
                               AND date_end >= now() - make_interval(days => $3))
            AND NOT EXISTS (SELECT FROM proxies WHERE proxies.id = orders.proxy_id
                               AND date_end >= now() - make_interval(days => $3))
         RETURNING 1
       )
       SELECT (SELECT count(*) FROM forgotten) AS forgotten, ended, id FROM due
        ORDER BY ended DESC, id DESC LIMIT 1`,
      [after.ended, after.id, days, FORGOTTEN_AT_ONCE],
    );
    return { removed: batch?.forgotten ?? 0, next: batch ?? null };
  }

  /** Stops expecting retries of requests that a restore lost, once the time for such retries is over. */
  private async endExpectedRetries(): Promise<RetentionStep<true>> {
    const { removed } = await queryRow<{ removed: number }>(
      this.dataSource,
      `WITH put_back AS (
         UPDATE orders SET key_forgotten = false WHERE key_forgotten AND NOT (SELECT is_after_restore())
         RETURNING 1
       ),
       written_off AS (
         DELETE FROM written_off_requests WHERE idempotency_key IS NULL AND NOT (SELECT is_after_restore())
         RETURNING 1
       )
       SELECT (SELECT count(*) FROM put_back) + (SELECT count(*) FROM written_off) AS removed`,
    );
    return { removed, next: null };
  }

  /** @param removal SQL whose parameter `$2` limits the number of rows */
  private async forgetBatch(removal: string, days: number): Promise<RetentionStep<true>> {
    const { removed } = await queryRow<{ removed: number }>(
      this.dataSource,
      `WITH removed AS (${removal} RETURNING 1) SELECT count(*) AS removed FROM removed`,
      [days, STEP_ROWS],
    );
    return { removed, next: removed === STEP_ROWS ? true : null };
  }
}
