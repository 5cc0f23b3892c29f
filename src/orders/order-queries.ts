import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { IpVersion } from '../common';
import { batchedLookup, databaseTime, preparedRows, queryRows, sqlList, untilReplicated } from '../database';
import type { BatchMember, OrderBatch } from './order-batch';
import { type Idempotency, IS_RENEWAL_SQL } from './order-keys';
import { type OrderOutcome, type OrderProgress, OUTCOME_COLUMNS } from './order-outcome';
import { QUEUE_STEP } from './order-queue';
import { isOpen, type OrderKind, type OrderState, POSSIBLY_BOUGHT_STATES } from './order-states';
import { PURCHASE_TAG_SQL } from './order-tag';
import { IdempotencyKeyReused } from './orders.errors';

interface SentOrder {
  readonly kind: OrderKind;
  readonly state: OrderState;
  /** Null: it was not sent yet. */
  readonly batchId: number | null;
}

/** A request whose order a restore of the database has forgotten and staff have written off. */
export const WRITTEN_OFF = 'written-off';

/** What came of an earlier request with the same idempotency key. */
export type EarlierRequest = OrderOutcome | typeof WRITTEN_OFF;

/** How the provider knows a proxy. */
interface ProviderIdentity {
  readonly tag: string;
  readonly providerProxyId: string;
}

/** An order of a batch together with what the batch has in common. */
export type BatchRow = BatchMember & Omit<OrderBatch, 'members'> & { readonly batchId: number };

/** Selects {@link BatchRow}s from a common table expression `sent` that has the columns of `orders`. */
export const SELECT_BATCH_ROWS = `
  SELECT sent.id, sent.batch_id AS "batchId", sent.user_id AS "userId",
         (SELECT tag FROM orders leader WHERE leader.id = sent.batch_id) AS tag,
         sent.kind, sent.country, sent.version, sent.period, sent.proxy_type AS "proxyType", sent.count,
         sent.created_at AS "placedAt", ${IS_RENEWAL_SQL} AS "isRenewal",
         sent.submitted_at AS "submittedAt", sent.deadline,
         sent.date_end_before AS "dateEndBefore",
         sent.resent, sent.provider_price AS cost,
         sum(sent.provider_price) OVER (PARTITION BY sent.batch_id) AS "providerPrice",
         proxies.provider_proxy_id AS "providerProxyId",
         ${PURCHASE_TAG_SQL} AS "purchaseTag"
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

/**
 * Every statement that reads orders for their own life. Lists of customers, staff, sales and the invariants
 * have their own reports over the table.
 */
@Injectable()
export class OrderQueries {
  constructor(private readonly dataSource: DataSource) {}

  /** The database's time, which all deadlines of orders are measured by. */
  now(): Promise<Date> {
    return databaseTime(this.dataSource);
  }

  /** Where an order stands, and the batch in which it was sent. */
  async find(orderId: number): Promise<SentOrder | null> {
    const [order] = await queryRows<SentOrder>(
      this.dataSource,
      'SELECT kind, state, batch_id AS "batchId" FROM orders WHERE id = $1',
      [orderId],
    );
    return order ?? null;
  }

  /**
   * The order that holds or has spent money under an idempotency key. A failover cannot take it back. The key
   * of an order that has no order is that of a request that was written off; for the key of a bulk, which has
   * none either, the result means nothing.
   *
   * @throws IdempotencyKeyReused when the key is that of another request, for an order or a bulk
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
    await untilReplicated(this.dataSource);
    if (own.orderId === null) return WRITTEN_OFF;
    const [order] = await preparedRows<OrderOutcome>(
      this.dataSource,
      `SELECT ${OUTCOME_COLUMNS}, answer FROM orders WHERE id = $1 AND state <> 'refunded'`,
      [own.orderId],
    );
    return order ?? null;
  }

  /** The ids of the orders that were placed with client-generated ids, by these. */
  async findIdsByAttempt(
    attempts: readonly { readonly userId: number; readonly attempt: string }[],
  ): Promise<ReadonlyMap<string, number>> {
    const rows = await queryRows<{ id: number; attempt: string }>(
      this.dataSource,
      // A busy user has many older ones. The statements of these attempts were sent minutes ago.
      `SELECT id, attempt FROM orders
        WHERE user_id = ANY ($1) AND created_at > now() - interval '1 day' AND attempt = ANY ($2)`,
      [attempts.map(({ userId }) => userId), attempts.map(({ attempt }) => attempt)],
    );
    return new Map(rows.map(({ id, attempt }) => [attempt, id]));
  }

  /** @throws Error when there is no such order */
  async getOutcome(orderId: number): Promise<OrderOutcome> {
    const outcome = await this.outcomeOf(orderId);
    if (!outcome) throw new Error(`order ${orderId} does not exist`);
    return outcome;
  }

  /** The callers of a batch ask in the same moment: their questions become one statement. */
  private readonly outcomeOf = batchedLookup((orderIds: readonly number[]) => this.outcomesOf(orderIds));

  /**
   * Outcomes by order id; ids that do not exist are left out. A failover cannot take back that one is closed.
   */
  async outcomesOf(orderIds: readonly number[]): Promise<ReadonlyMap<number, OrderProgress>> {
    const outcomes = await preparedRows<OrderProgress>(
      this.dataSource,
      `SELECT ${OUTCOME_COLUMNS}, answer, ${QUEUE_STEP} AS step FROM orders WHERE id = ANY ($1)`,
      [orderIds],
    );
    if (outcomes.some(({ state }) => !isOpen(state))) await untilReplicated(this.dataSource);
    return new Map(outcomes.map((outcome) => [outcome.id, outcome]));
  }

  /** Counts the proxies that purchases in the queue and under way are going to take from a stock. */
  async countQueuedProxies(country: string, version: IpVersion): Promise<number> {
    const [queued] = await preparedRows<{ count: number }>(
      this.dataSource,
      `SELECT coalesce(sum(count), 0)::integer AS count FROM orders
        WHERE state IN ${sqlList(['reserved', 'submitting'])}
          AND kind = 'purchase' AND (country, version) = ($1, $2)`,
      [country, version],
    );
    return queued?.count ?? 0;
  }

  /** The members of a batch that may have been bought and are open; null when there are none. */
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

  /**
   * How the provider knows a proxy: its own id of it, and the tag under which it lists it.
   *
   * @throws Error when there is no such proxy
   */
  async getProviderIdentity(proxyId: number): Promise<ProviderIdentity> {
    const identity = await this.identityOf(proxyId);
    if (!identity) throw new Error(`proxy ${proxyId} does not exist`);
    return identity;
  }

  /** The prolongations of a bulk ask in the same moment. */
  private readonly identityOf = batchedLookup(async (proxyIds: readonly number[]) => {
    const rows = await preparedRows<ProviderIdentity & { id: number }>(
      this.dataSource,
      `SELECT id, ${PURCHASE_TAG_SQL} AS tag, provider_proxy_id AS "providerProxyId"
         FROM proxies WHERE id = ANY ($1)`,
      [proxyIds],
    );
    return new Map(rows.map((row) => [row.id, row]));
  });

  /** Of the provider's ids, those of proxies that belong to an order already. */
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
