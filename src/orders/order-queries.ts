import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { IpVersion } from '../common';
import {
  RowWaiters,
  batchedLookup,
  databaseTime,
  Notifier,
  preparedRow,
  preparedRows,
  queryRows,
  sqlList,
  waitForStandby,
} from '../database';
import type { BatchMember, OrderBatch } from './order-batch';
import type { Idempotency } from './order-keys';
import { type OrderOutcome, type OrderProgress, WHOLE_OUTCOME_COLUMNS } from './order-outcome';
import { QUEUE_LEFT_MS_SQL } from './order-queue';
import { IS_RENEWAL_SQL, isOpen, POSSIBLY_BOUGHT_STATES } from './order-states';
import { IdempotencyKeyReused } from './orders.errors';

type SentOrder = Pick<OrderOutcome, 'kind' | 'state'> & {
  /** `null` until the order is sent. */
  readonly batchId: number | null;
};

/** Marks a request whose order was lost in a database restore and written off by staff. */
export const WRITTEN_OFF = 'written-off';

export type EarlierRequest = OrderOutcome | typeof WRITTEN_OFF;

export type BatchRow = BatchMember & Omit<OrderBatch, 'members'> & { readonly batchId: number };

export const REFERENCE_PREFIX_SQL = '(SELECT reference_prefix FROM installation)';

/** SQL for a proxy's order reference at the provider. Only a proxy that staff assigned stores its own. */
export const PURCHASE_REFERENCE_SQL = `coalesce(proxies.order_reference,
  (SELECT leader.order_reference
     FROM orders purchase JOIN orders leader ON leader.id = coalesce(purchase.batch_id, purchase.id)
    WHERE purchase.id = proxies.order_id))`;

/** SQL that selects {@link BatchRow}s from a CTE `sent` with the columns of `orders`. */
export const SELECT_BATCH_ROWS = `
  SELECT sent.id, sent.batch_id AS "batchId", sent.user_id AS "userId",
         (SELECT order_reference FROM orders leader WHERE leader.id = sent.batch_id) AS "orderReference",
         sent.kind, sent.country, sent.version, sent.period, sent.proxy_type AS "proxyType", sent.count,
         sent.created_at AS "placedAt", ${IS_RENEWAL_SQL} AS "isRenewal",
         sent.submitted_at AS "submittedAt", sent.sent_before AS "sentBefore",
         sent.date_end_before AS "dateEndBefore",
         sent.resent, sent.provider_price AS cost,
         sum(sent.provider_price) OVER (PARTITION BY sent.batch_id) AS "providerPrice",
         proxies.provider_proxy_id AS "providerProxyId",
         ${PURCHASE_REFERENCE_SQL} AS "purchaseReference"
    FROM sent LEFT JOIN proxies ON proxies.id = sent.proxy_id
   ORDER BY sent.id`;

export function toBatches(rows: readonly BatchRow[]): OrderBatch[] {
  const batches = new Map<number, BatchRow[]>();
  for (const row of rows) batches.set(row.batchId, [...(batches.get(row.batchId) ?? []), row]);
  return [...batches.values()].flatMap((members) => {
    const [first] = members;
    return first ? [{ ...first, id: first.batchId, members }] : [];
  });
}

@Injectable()
export class OrderQueries {
  readonly awaited: RowWaiters<OrderProgress>;

  constructor(
    private readonly dataSource: DataSource,
    notifier: Notifier,
  ) {
    this.awaited = new RowWaiters(notifier, 'orders', async (waits) =>
      (await this.outcomesOf([...waits.keys()])).values(),
    );
  }

  now(): Promise<Date> {
    return databaseTime(this.dataSource);
  }

  async find(orderId: number): Promise<SentOrder | null> {
    const [order] = await queryRows<SentOrder>(
      this.dataSource,
      'SELECT kind, state, batch_id AS "batchId" FROM orders WHERE id = $1',
      [orderId],
    );
    return order ?? null;
  }

  /**
   * Finds the order under a key, unless the order was canceled. The result survives a failover. Must not be
   * called with the key of an accepted bulk request, for which it would return WRITTEN_OFF.
   * @throws IdempotencyKeyReused if the key belongs to another request
   */
  async findByKey(userId: number, { key, requestHash }: Idempotency): Promise<EarlierRequest | null> {
    const requests = await preparedRows<{ orderId: number | null; requestHash: Buffer }>(
      this.dataSource,
      'SELECT order_id AS "orderId", request_hash AS "requestHash" FROM requests_of_key($1, $2)',
      [userId, key],
    );
    const own = requests.find((request) => request.requestHash.equals(requestHash));
    if (requests.length > 0 && !own) throw new IdempotencyKeyReused(key);
    if (!own) return null;
    await waitForStandby(this.dataSource);
    if (own.orderId === null) return WRITTEN_OFF;
    const [order] = await preparedRows<OrderOutcome>(
      this.dataSource,
      `SELECT ${WHOLE_OUTCOME_COLUMNS} FROM orders WHERE id = $1 AND state <> 'canceled'`,
      [own.orderId],
    );
    return order ?? null;
  }

  async findIdsByAttempt(
    attempts: readonly { readonly userId: number; readonly attempt: string }[],
  ): Promise<ReadonlyMap<string, number>> {
    const rows = await queryRows<{ id: number; attempt: string }>(
      this.dataSource,
      // Searches only the last day, because users may have many orders. The attempts were made minutes ago.
      `SELECT id, attempt FROM orders
        WHERE user_id = ANY ($1) AND created_at > now() - interval '1 day' AND attempt = ANY ($2)`,
      [attempts.map(({ userId }) => userId), attempts.map(({ attempt }) => attempt)],
    );
    return new Map(rows.map(({ id, attempt }) => [attempt, id]));
  }

  /** @throws Error if there is no such order */
  async getOutcome(orderId: number): Promise<OrderOutcome> {
    const outcome = await this.outcomeOf(orderId);
    if (!outcome) throw new Error(`order ${orderId} does not exist`);
    return outcome;
  }

  /**
   * Combines concurrent reads: when a batch ends, all of its requests read their outcomes at the same time.
   */
  private readonly outcomeOf = batchedLookup((orderIds: readonly number[]) => this.outcomesOf(orderIds));

  /** Omits unknown ids. An order returned as closed stays closed even after a failover. */
  async outcomesOf(orderIds: readonly number[]): Promise<ReadonlyMap<number, OrderProgress>> {
    const outcomes = await preparedRows<OrderProgress>(
      this.dataSource,
      `SELECT ${WHOLE_OUTCOME_COLUMNS}, ${QUEUE_LEFT_MS_SQL} AS "leftMs", resent,
              state = 'confirming' AND searches = 1 AND submitted_at < created_at AS "isInFirstSearch"
         FROM orders WHERE id = ANY ($1)`,
      [orderIds],
    );
    if (outcomes.some(({ state }) => !isOpen(state))) await waitForStandby(this.dataSource);
    return new Map(outcomes.map((outcome) => [outcome.id, outcome]));
  }

  async countQueuedProxies(country: string, version: IpVersion): Promise<number> {
    const { count } = await preparedRow<{ count: number }>(
      this.dataSource,
      `SELECT coalesce(sum(count), 0)::integer AS count FROM orders
        WHERE state IN ${sqlList(['reserved', 'submitting'])}
          AND kind = 'purchase' AND (country, version) = ($1, $2)`,
      [country, version],
    );
    return count;
  }

  /** Finds a batch's members that may have been bought; null if there are none. */
  async findBatch(batchId: number): Promise<OrderBatch | null> {
    return (await this.findBatches([batchId]))[0] ?? null;
  }

  async findBatches(batchIds: readonly number[]): Promise<OrderBatch[]> {
    if (batchIds.length === 0) return [];
    const rows = await queryRows<BatchRow>(
      this.dataSource,
      `WITH sent AS (
         SELECT * FROM orders WHERE batch_id = ANY ($1) AND state IN ${sqlList(POSSIBLY_BOUGHT_STATES)}
       )
       ${SELECT_BATCH_ROWS}`,
      [batchIds],
    );
    return toBatches(rows);
  }

  /** @throws Error if there is no such proxy */
  getProviderIdentity(proxyId: number): Promise<{ orderReference: string; providerProxyId: string }> {
    return preparedRow(
      this.dataSource,
      `SELECT ${PURCHASE_REFERENCE_SQL} AS "orderReference", provider_proxy_id AS "providerProxyId"
         FROM proxies WHERE id = $1`,
      [proxyId],
    );
  }

  async findOwnedProxyIds(
    provider: string,
    providerProxyIds: readonly string[],
  ): Promise<ReadonlySet<string>> {
    const rows = await queryRows<{ id: string }>(
      this.dataSource,
      'SELECT provider_proxy_id AS id FROM proxies WHERE provider = $1 AND provider_proxy_id = ANY ($2)',
      [provider, providerProxyIds],
    );
    return new Set(rows.map(({ id }) => id));
  }
}
