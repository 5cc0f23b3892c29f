import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Money } from '../../common';
import { inTransaction, queryRow, queryRows, waitForStandby } from '../../database';
import { type RetentionStep } from '../../jobs';
import { bulkOrderKey, bulkOrderKeySql, type Idempotency } from '../order-keys';
import { type OrderOutcome, WHOLE_OUTCOME_COLUMNS } from '../order-outcome';
import { IdempotencyKeyReused } from '../orders.errors';

/** An accepted bulk request. It never changes. */
export interface Bulk {
  readonly proxyIds: readonly number[];
  /** Maximum price of each order, parallel to `proxyIds`; `null` if there is no limit. */
  readonly maxPrices: readonly Money[] | null;
}

interface BulkRow {
  readonly requestHash: Buffer;
  readonly proxyIds: readonly (number | string)[];
  readonly maxPrices: readonly string[] | null;
}

const BULK = 'request_hash AS "requestHash", proxy_ids AS "proxyIds", max_prices::text[] AS "maxPrices"';

/** How many days a bulk request without orders is kept after the last attempt to use its key. */
const UNUSED_DAYS = 1;
const FORGOTTEN_AT_ONCE = 100;

@Injectable()
export class BulkRecords {
  constructor(private readonly dataSource: DataSource) {}

  /** Finds a key's bulk request, and records the new attempt. @throws IdempotencyKeyReused */
  async retry(userId: number, idempotency: Idempotency): Promise<Bulk | null> {
    const [row] = await queryRows<BulkRow>(
      this.dataSource,
      `UPDATE bulk_prolongations SET tried_at = now() WHERE user_id = $1 AND idempotency_key = $2
       RETURNING ${BULK}`,
      [userId, idempotency.key],
    );
    return row ? toBulk(row, idempotency) : null;
  }

  /**
   * Accepts a bulk request, or returns the one that was accepted under the same key. Placing an order takes
   * the same account lock, so a key never belongs to both an order and a bulk request.
   * @throws IdempotencyKeyReused
   */
  async accept(userId: number, idempotency: Idempotency, bulk: Bulk): Promise<Bulk> {
    const [row] = await inTransaction(this.dataSource, async (manager) => {
      await queryRows(manager, 'SELECT FROM lock_accounts(ARRAY[$1::bigint])', [userId]);
      return queryRows<BulkRow>(
        manager,
        `INSERT INTO bulk_prolongations (user_id, idempotency_key, request_hash, proxy_ids, max_prices)
         SELECT $1, $2, $3, $4, $5
          WHERE NOT EXISTS (SELECT FROM requests_of_key($1, $2) WHERE order_id IS NOT NULL)
         ON CONFLICT (user_id, idempotency_key) DO UPDATE SET tried_at = now()
         RETURNING ${BULK}`,
        [
          userId,
          idempotency.key,
          idempotency.requestHash,
          bulk.proxyIds,
          bulk.maxPrices?.map((price) => price.toString()) ?? null,
        ],
      );
    });
    if (!row) throw new IdempotencyKeyReused(idempotency.key);
    return toBulk(row, idempotency);
  }

  async findOrders(userId: number, key: string, { proxyIds }: Bulk): Promise<Map<number, OrderOutcome>> {
    const orders = await queryRows<OrderOutcome>(
      this.dataSource,
      `SELECT ${WHOLE_OUTCOME_COLUMNS} FROM orders
        WHERE user_id = $1 AND idempotency_key = ANY ($2) AND state <> 'canceled'`,
      [userId, proxyIds.map((id) => bulkOrderKey(key, id))],
    );
    if (orders.length > 0) await waitForStandby(this.dataSource);
    return new Map(orders.map((order) => [order.proxyId ?? 0, order]));
  }

  /** Deletes bulk requests without orders, which frees their keys. Retries need the proxies of all others. */
  async forgetUnused(): Promise<RetentionStep<true>> {
    const { checked, forgotten } = await queryRow<{ checked: number; forgotten: number }>(
      this.dataSource,
      `WITH due AS MATERIALIZED (
         SELECT user_id, idempotency_key, proxy_ids FROM bulk_prolongations
          WHERE tried_at < now() - make_interval(days => $1)
          ORDER BY tried_at LIMIT $2 FOR UPDATE SKIP LOCKED
       ),
       judged AS MATERIALIZED (
         SELECT user_id, idempotency_key,
                EXISTS (SELECT FROM orders
                         WHERE orders.user_id = due.user_id AND state <> 'canceled'
                           AND orders.idempotency_key = ANY (ARRAY(
                                 SELECT ${bulkOrderKeySql('due', 'id')} FROM unnest(due.proxy_ids) AS id)))
                  AS is_used
           FROM due
       ),
       kept AS (
         UPDATE bulk_prolongations AS bulk SET tried_at = NULL FROM judged
          WHERE is_used AND (bulk.user_id, bulk.idempotency_key) = (judged.user_id, judged.idempotency_key)
       ),
       forgotten AS (
         DELETE FROM bulk_prolongations AS bulk USING judged
          WHERE NOT is_used
            AND (bulk.user_id, bulk.idempotency_key) = (judged.user_id, judged.idempotency_key)
         RETURNING 1
       )
       SELECT (SELECT count(*) FROM judged) AS checked, (SELECT count(*) FROM forgotten) AS forgotten`,
      [UNUSED_DAYS, FORGOTTEN_AT_ONCE],
    );
    return { removed: forgotten, next: checked > 0 ? true : null };
  }
}

function toBulk(
  { requestHash, proxyIds, maxPrices }: BulkRow,
  { key, requestHash: hash }: Idempotency,
): Bulk {
  if (!requestHash.equals(hash)) throw new IdempotencyKeyReused(key);
  return {
    proxyIds: proxyIds.map(Number),
    maxPrices: maxPrices?.map((price) => Money.parse(price)) ?? null,
  };
}
