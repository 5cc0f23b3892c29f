import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Money } from '../common';
import { AppConfig } from '../config';
import { groupedStatement, lookUpLost, preparedRows, type Queryable, queryRows, sqlList } from '../database';
import { POSTED_ENTRY, type PostedEntryOut, postEntriesSql } from '../ledger';
import { Metrics } from '../metrics';
import type { ProviderCallRecord, ProviderProxy } from '../provider';
import { type RetentionStep, STEP_ROWS } from '../retention';
import { longestQueueSeconds } from './longest-order';
import { memberIds, type OrderBatch } from './order-batch';
import {
  type BatchRow,
  type OrderOutcome,
  OrderQueries,
  SELECT_BATCH_ROWS,
  toBatches,
} from './order-queries';
import {
  type FailureReason,
  type OpenState,
  type OrderKind,
  type OrderState,
  statesBefore,
  UNATTENDED_STATES,
} from './order-states';
import { TAG_PREFIX_SQL } from './order-tag';
import type { DeliveredProxy, Order } from './order.entity';
import type { Idempotency } from './placing/idempotency';
import { checkOffsetsSeconds } from './reconciliation/check-schedule';

/** What a batch of purchases brought. */
export interface DeliveredPurchases {
  readonly proxies: readonly ProviderProxy[];
  readonly providerOrderId: string | null;
  /** What the provider took for all of them, roubles; null when its answer was lost: the quote stands in. */
  readonly charge: string | null;
}

/** What a batch of prolongations brought. */
export interface DeliveredProlongations {
  readonly ends: readonly { readonly orderId: number; readonly dateEnd: Date }[];
  readonly providerOrderId: string | null;
  readonly charge: string | null;
}

/** The call that brought a delivery, to be recorded under an order. */
export interface RecordedCall {
  readonly orderId: number;
  readonly record: ProviderCallRecord;
}

/** A closed purchase, with the ids of its proxies and where each stands in what was delivered, from 1. */
type ClosedPurchase = Omit<OrderOutcome, 'answer'> & {
  readonly proxyIds: readonly number[] | null;
  readonly places: readonly number[] | null;
};

/** A closed prolongation, with the proxy as it is then. */
type ClosedProlongation = Omit<OrderOutcome, 'answer'> & { readonly proxy: DeliveredProxy };

/** An order that was closed, or left to staff. */
interface EndedOrder {
  readonly kind: OrderKind;
  readonly state: OrderState;
}

/** An order that leaves the queue without having been sent. */
interface LeavingOrder {
  readonly orderId: number;
  readonly reason: FailureReason;
}

/** An order that a restore of the database has forgotten, as far as the provider and staff tell. */
export interface ForgottenOrder {
  /** Null: a new one. */
  readonly id: number | null;
  /** The leader's id; null: it leads. */
  readonly batchId: number | null;
  readonly userId: number;
  readonly kind: OrderKind;
  /** Null: by its id. */
  readonly tag: string | null;
  readonly country: string;
  readonly version: string;
  /** Days. */
  readonly period: number;
  readonly count: number;
  readonly proxyType: string;
  /** Of a prolongation, as the end of its rental before. */
  readonly proxyId: number | null;
  readonly dateEndBefore: Date | null;
  /** What the customer pays for each proxy, and what the provider took. */
  readonly unitPrice: Money;
  readonly unitCost: Money;
  readonly provider: string;
}

/** What a request under an idempotency key asks for. */
export type AskedUnderKey = Pick<
  Order,
  'userId' | 'kind' | 'country' | 'version' | 'period' | 'count' | 'proxyType' | 'proxyId'
> & { readonly maxPrice: Money | null };

/** A statement for so many takes some tens of milliseconds. */
const LEAVING_TOGETHER = 200;

/** The answer of one order can have a thousand proxies. */
const FORGOTTEN_AT_ONCE = 200;

/** The key of the advisory lock of a claim. Any constant does. */
const CLAIM_LOCK = 7_283_002;

/** One page of a listing confirms a purchase, and every server reads a URL that names so many proxies. */
const PROXIES_PER_PURCHASE = 1000;
const PROXIES_PER_PROLONGATION = 200;

/**
 * The day, in UTC, on which an order counts for its token's limit. What is released later is taken off that
 * day again.
 */
const ORDER_DAY = `(created_at AT TIME ZONE 'UTC')::date`;

/**
 * Takes what was released off the days on which the orders were counted. It comes after the entries, as in
 * `place_orders.sql`: accounts are locked before days of tokens, and those in the order of their ids, so that
 * no two statements wait for each other. An earlier version of the service may not have counted an order on
 * all of them; that must not keep money from being given back.
 */
const UNCOUNT_SPENDING = `
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

/** Records the call that brought a delivery. @param first the number of its first parameter */
const recordCall = (first: number): string => {
  const [orderId, method, request, outcome, httpStatus, answer, durationMs] = Array.from(
    { length: 7 },
    (_, place) => `$${first + place}`,
  );
  return `
       recorded AS (
         INSERT INTO upstream_calls
           (order_id, method, request, outcome, http_status, answer_json, duration_ms)
         SELECT ${orderId}::bigint, ${method}, ${request}::jsonb, ${outcome}, ${httpStatus}::integer,
                ${answer}, ${durationMs}::integer
          WHERE ${orderId} IS NOT NULL
       )`;
};

/** The parameters of {@link recordCall}. */
function callParameters(call: RecordedCall | undefined): unknown[] {
  if (!call) return Array<null>(7).fill(null);
  const { method, request, outcome, httpStatus, answer, durationMs } = call.record;
  const json = [JSON.stringify(request), JSON.stringify(answer)] as const;
  return [call.orderId, method, json[0], outcome, httpStatus, json[1], durationMs];
}

const unixSeconds = (date: Date): number => date.getTime() / 1000;

/**
 * Has reconciliation look for evidence of every open order, from the beginning: the database was restored to
 * an earlier moment, and what it knows of them is old. An order that waited may have been sent since. The end
 * of a rental as it was then stands in for the one that is read before a call.
 */
export async function doubtOpenOrders(queryable: Queryable): Promise<void> {
  await queryRows(
    queryable,
    `UPDATE orders
        SET state = CASE state WHEN 'reserved' THEN 'submitting' ELSE state END,
            group_id = coalesce(group_id, orders.id), submitted_at = coalesce(submitted_at, now()),
            date_end_before = CASE WHEN proxy_id IS NOT NULL THEN
              coalesce(date_end_before, (SELECT date_end FROM proxies WHERE proxies.id = proxy_id)) END,
            deadline = greatest(deadline, now()), next_look_at = now(), looks = 0, nothing_seen_since = NULL
      WHERE state IN ${sqlList(UNATTENDED_STATES)}`,
  );
}

/** What {@link OrderOutcome} is made of, apart from the answer. */
export const OUTCOME_COLUMNS = `id, kind, state, failure, captured, proxy_id AS "proxyId",
              proxy_type AS "proxyType", country, version`;

/**
 * Every statement that changes an order, in the order of its life:
 *
 *   place ────→ reserved ── claimNextBatch ──→ submitting ── deliver… ──→ completed | partial | refunded
 *                 │ ↑                           │ │ │                         ↑
 *                 │ └──── requeueRefused ───────┘ │ └─ releaseHolds ──────────┤
 *                 │                               │                           │
 *                 │        beginConfirming, claimDueChecks ──→ confirming ────┤ deliver…, releaseHolds
 *                 │                                                │          │
 *                 │                                   sendToReview └→ review ─┘ deliver…, releaseHolds
 *                 └─ releaseHolds ──→ refunded
 *
 * Each is one statement, committed by itself and guarded by the states it may start from (`order-states.ts`):
 * run twice, or at two replicas, it changes nothing the second time. What is delivered, the orders' states
 * and the entries of the ledger change together or not at all. Entries are made in the order of users, so
 * that two batches never wait for each other. Times are the database's, so that the clocks of replicas do not
 * matter.
 */
@Injectable()
export class OrderTransitions {
  constructor(
    private readonly dataSource: DataSource,
    private readonly queries: OrderQueries,
    private readonly config: AppConfig,
    private readonly metrics: Metrics,
  ) {}

  /**
   * Stores when rentals end at the provider, read right before their prolongation. Only from then on does a
   * prolongation stand in the queue: without that date nobody could tell afterwards whether it was carried
   * out. A listing may lag behind what we know from an answer: an earlier end than that is not believed, or
   * the former prolongation would later be taken for this one.
   */
  async storeDateEnds(ends: ReadonlyMap<number, Date>): Promise<void> {
    await preparedRows(
      this.dataSource,
      `UPDATE orders SET date_end_before = greatest(ends.date_end, proxies.date_end)
         FROM unnest($1::bigint[], $2::timestamptz[]) AS ends (order_id, date_end), proxies
        WHERE orders.id = ends.order_id AND proxies.id = orders.proxy_id AND state = 'reserved'`,
      [[...ends.keys()], [...ends.values()]],
    );
  }

  /**
   * Claims the next orders of the queue, which all replicas share, as one batch: from this commit on they
   * count as possibly bought. First comes the user who was served longest ago, with the order that came
   * first. The other orders of the same kind join, one of each user before the second of any. What a batch
   * that was refused left to be sent again joins nothing else. Null when the queue is empty, or when another
   * replica is claiming from it.
   *
   * @param claim client-generated id: finds the batch when the reply is lost
   * @param affordable roubles that the batch may cost together with the calls under way, except that its
   *   first order goes in any case; null when that is not known
   */
  async claimNextBatch(claim: string, affordable: string | null): Promise<OrderBatch | null> {
    const rows = await preparedRows<BatchRow>(
      this.dataSource,
      `WITH waiting AS (
         SELECT id, user_id, kind, country, version, period, proxy_type, count, provider_price,
                claim AS refused_claim, row_number() OVER (PARTITION BY user_id ORDER BY id) AS place
           FROM orders
          WHERE state IN ${sqlList(statesBefore('submitting'))} AND next_look_at > now()
            AND (kind = 'purchase' OR date_end_before IS NOT NULL)
            -- Two claims at once would choose the same orders, and one of them in vain.
            AND (SELECT pg_try_advisory_xact_lock(${CLAIM_LOCK}))
            -- What waited when the database was restored may have been sent since.
            AND NOT (SELECT EXISTS (SELECT FROM recoveries WHERE ended_at IS NULL))
       ),
       queued AS MATERIALIZED (
         -- Looked up once for each user.
         SELECT *, max(CASE place WHEN 1 THEN
                         (SELECT submitted_at FROM orders
                           WHERE orders.user_id = waiting.user_id AND submitted_at IS NOT NULL
                           ORDER BY created_at DESC, id DESC LIMIT 1) END)
                     OVER (PARTITION BY user_id) AS served_at
           FROM waiting
       ),
       head AS MATERIALIZED (SELECT * FROM queued ORDER BY served_at NULLS FIRST, id LIMIT 1),
       alike AS (
         SELECT queued.*, row_number() OVER (PARTITION BY queued.user_id ORDER BY queued.id) AS turn
           FROM queued, head
          WHERE queued.refused_claim IS NOT DISTINCT FROM head.refused_claim
            AND (queued.kind, queued.version, queued.period) = (head.kind, head.version, head.period)
            AND (head.kind = 'prolongation'
                 OR (queued.country, queued.proxy_type) = (head.country, head.proxy_type))
       ),
       candidates AS (
         SELECT id, row_number() OVER queue AS position, sum(count) OVER queue AS size,
                sum(provider_price) OVER queue AS cost,
                CASE kind WHEN 'purchase' THEN ${PROXIES_PER_PURCHASE}
                          ELSE ${PROXIES_PER_PROLONGATION} END AS room
           FROM alike
         WINDOW queue AS (ORDER BY turn, served_at NULLS FIRST, id)
       ),
       under_way AS (
         SELECT coalesce(sum(provider_price), 0) AS cost FROM orders WHERE state = 'submitting'
       ),
       members AS (
         SELECT id FROM orders
          WHERE state IN ${sqlList(statesBefore('submitting'))}
            -- An array is chosen once, and not again for each order.
            AND id = ANY (ARRAY(
                  SELECT id FROM candidates
                   WHERE position = 1
                      OR (position <= $3 AND size <= room
                          AND coalesce(cost + (SELECT cost FROM under_way) <= $4, true))))
          ORDER BY id FOR UPDATE SKIP LOCKED
       ),
       leader AS (SELECT min(id) AS id, clock_timestamp() AS sent_at FROM members),
       sent AS (
         UPDATE orders
            SET state = 'submitting', group_id = leader.id, submitted_at = sent_at,
                deadline = sent_at + make_interval(secs => $1),
                next_look_at = sent_at + make_interval(secs => $1), claim = $2
           FROM leader
          WHERE orders.id = ANY (ARRAY(SELECT id FROM members))
         RETURNING orders.*
       )
       ${SELECT_BATCH_ROWS}`,
      [this.config.provider.timeoutMs / 1000, claim, this.config.provider.ordersPerCall, affordable],
    );
    return toBatches(rows)[0] ?? null;
  }

  /**
   * Refunds the batch of a claim whose reply was lost, if the claim was committed: nothing is ever sent for
   * it. Gives the ids of its orders.
   *
   * @param error of the claim
   * @throws StatementOutcomeUnknown
   */
  undoClaim(claim: string, error: unknown): Promise<number[]> {
    return lookUpLost(this.dataSource, error, async () => {
      const batch = await this.queries.findClaimedBatch(claim);
      if (!batch) return [];
      await this.releaseHolds(memberIds(batch), 'unavailable', ['submitting']);
      return memberIds(batch);
    });
  }

  /**
   * Puts members of a batch that the provider refused as a whole back into the queue, for one more call:
   * `together`, or each alone. Their users count as served, so that everybody who has not been served since
   * comes first.
   *
   * @returns the orders that are queued again
   */
  async requeueRefused(
    batchId: number,
    orderIds: readonly number[],
    how: 'together' | 'alone',
  ): Promise<number[]> {
    if (orderIds.length === 0) return [];
    const queued = await queryRows<{ id: number }>(
      this.dataSource,
      // Orders join each other by the claim that they come from.
      `UPDATE orders
          SET state = 'reserved', travels_alone = true, group_id = NULL,
              claim = CASE WHEN $3 THEN claim ELSE gen_random_uuid() END,
              deadline = now() + make_interval(secs => $4), next_look_at = now() + make_interval(secs => $4)
        WHERE group_id = $1 AND id = ANY ($2) AND state IN ${sqlList(statesBefore('reserved'))}
       RETURNING id`,
      [batchId, [...orderIds], how === 'together', longestQueueSeconds(this.config, 'purchase')],
    );
    return queued.map(({ id }) => id);
  }

  /** Hands a batch over to reconciliation: the outcome of its call is unknown. */
  async beginConfirming(batchId: number): Promise<void> {
    await queryRows(
      this.dataSource,
      `UPDATE orders SET state = 'confirming', next_look_at = now()
        WHERE group_id = $1 AND state IN ${sqlList(statesBefore('confirming'))}`,
      [batchId],
    );
  }

  /**
   * Claims what is due for a check, until its next one: no other replica takes it meanwhile. Whoever locks
   * the leader's row has the batch.
   *
   * @param limit of batches and of orders that were never sent
   */
  async claimDueChecks(limit: number): Promise<{ unsent: number[]; batches: OrderBatch[] }> {
    const offsets = checkOffsetsSeconds(this.config.reconciliation.quietSeconds);
    const claimed = await queryRows<{ id: number; batchId: number | null }>(
      this.dataSource,
      `WITH due AS MATERIALIZED (
         SELECT id, coalesce(group_id, id) AS leader, next_look_at FROM orders
          WHERE state IN ${sqlList(UNATTENDED_STATES)} AND next_look_at <= now()
       ),
       leaders AS (
         SELECT id FROM orders
          WHERE id IN (SELECT leader FROM due GROUP BY leader ORDER BY min(next_look_at) LIMIT $1)
            FOR UPDATE SKIP LOCKED
       )
       UPDATE orders
          SET state = CASE state WHEN 'submitting' THEN 'confirming' ELSE state END,
              looks = looks + 1,
              next_look_at = coalesce(
                greatest(deadline + make_interval(secs => ($2::float8[])[looks + 2]),
                         now() + interval '100 ms'),
                now() + make_interval(secs => $3 * (1 + random())))
         FROM due JOIN leaders ON leaders.id = due.leader
        WHERE orders.id = due.id AND state IN ${sqlList(UNATTENDED_STATES)} AND orders.next_look_at <= now()
       RETURNING orders.id, orders.group_id AS "batchId"`,
      [limit, offsets, offsets.at(-1)],
    );
    const batchIds = new Set(claimed.flatMap(({ batchId }) => (batchId === null ? [] : [batchId])));
    return {
      unsent: claimed.filter(({ batchId }) => batchId === null).map(({ id }) => id),
      batches: await this.queries.findBatches([...batchIds]),
    };
  }

  /**
   * Records what a complete check showed.
   *
   * @param startedAt the database's time before the check began
   * @returns since when nothing has been found; null when something was
   */
  async recordCheck(
    orderIds: readonly number[],
    startedAt: Date,
    found: 'something' | 'nothing',
  ): Promise<Date | null> {
    const [order] = await queryRows<{ since: Date | null }>(
      this.dataSource,
      `UPDATE orders
          SET nothing_seen_since = CASE WHEN $3 THEN coalesce(nothing_seen_since, $2) END
        WHERE id = ANY ($1)
       RETURNING nothing_seen_since AS since`,
      [orderIds, startedAt, found === 'nothing'],
    );
    return order?.since ?? null;
  }

  /** Leaves orders to staff. @param why shown to staff */
  async sendToReview(orderIds: readonly number[], why: string): Promise<void> {
    const sent = await queryRows<EndedOrder>(
      this.dataSource,
      `UPDATE orders SET state = 'review', failure = $2
        WHERE id = ANY ($1) AND state IN ${sqlList(statesBefore('review'))}
       RETURNING kind, state`,
      [orderIds, why],
    );
    this.countOutcomes(sent);
  }

  /**
   * Hands the proxies of a purchase to the members of its batch, to one order of each user before the second
   * of any and otherwise in order of arrival, captures their price and releases the rest of each hold.
   * Proxies that the batch has received before are left out.
   *
   * @param only the members that receive something; left out: all that are open
   * @param call is recorded exactly when this is committed
   * @returns the orders that were closed
   * @throws QueryFailedError by `proxies_provider_proxy_id_key` when a proxy belongs to an order of another
   *   batch
   */
  async deliverPurchases(
    batchId: number,
    { proxies, providerOrderId, charge }: DeliveredPurchases,
    {
      only,
      queryable = this.dataSource,
      call,
    }: { only?: readonly number[]; queryable?: Queryable; call?: RecordedCall | undefined } = {},
  ): Promise<OrderOutcome[]> {
    const closed = await preparedRows<ClosedPurchase>(
      queryable,
      `WITH member AS MATERIALIZED (
         SELECT id, count, has_key, sum(count) OVER (ORDER BY turn, id) AS last
           FROM (SELECT id, count, has_key, row_number() OVER (PARTITION BY user_id ORDER BY id) AS turn
                   FROM (SELECT id, user_id, count, idempotency_key IS NOT NULL AS has_key FROM orders
                          WHERE group_id = $1 AND state IN ${sqlList(statesBefore('completed'))}
                            AND id = ANY (coalesce($4::bigint[], ARRAY[id]))
                          ORDER BY id FOR UPDATE) AS open) AS in_turn
       ),
       bought AS MATERIALIZED (
         SELECT row_number() OVER (ORDER BY place) AS position, place, provider_proxy_id, host, port, login,
                password, to_timestamp(start_s) AS date_start, to_timestamp(end_s) AS date_end
           FROM unnest($5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
                       $10::float8[], $11::float8[])
             WITH ORDINALITY
               AS given (provider_proxy_id, host, port, login, password, start_s, end_s, place)
          WHERE provider_proxy_id <> ALL (ARRAY(
                  SELECT provider_proxy_id FROM proxies
                   WHERE order_id = ANY (ARRAY(SELECT id FROM orders WHERE group_id = $1))))
          ORDER BY place
       ),
       delivered AS MATERIALIZED (
         SELECT nextval((SELECT pg_get_serial_sequence('proxies', 'id')::regclass)) AS id,
                member.id AS order_id, bought.*
           FROM bought JOIN member ON position > last - count AND position <= last
       ),
       total AS MATERIALIZED (SELECT count(*) AS size FROM delivered),
       share AS (
         SELECT member.id AS order_id, count(delivered.id) AS size,
                array_agg(delivered.id ORDER BY position) FILTER (WHERE position IS NOT NULL) AS proxy_ids,
                array_agg(place ORDER BY position) FILTER (WHERE position IS NOT NULL) AS places,
                -- Kept for idempotent replays.
                jsonb_agg(jsonb_build_object(
                  'id', delivered.id, 'host', host, 'port', port, 'login', login, 'password', password,
                  'date_start', date_start, 'date_end', date_end) ORDER BY position)
                  FILTER (WHERE has_key AND position IS NOT NULL) AS kept_answer,
                -- Rounded on the running total, so that the shares add up to the whole.
                round($3::numeric * least(last, total.size) / nullif(total.size, 0), 4)
                  - round($3::numeric * least(last - member.count, total.size) / nullif(total.size, 0), 4)
                  AS charge
           FROM member CROSS JOIN total
           LEFT JOIN delivered ON delivered.order_id = member.id
          GROUP BY member.id, member.count, last, total.size
       ),
       closed AS (
         UPDATE orders
            SET state = CASE size WHEN count THEN 'completed' WHEN 0 THEN 'refunded' ELSE 'partial' END,
                captured = unit_price * size, released = held - unit_price * size, closed_at = now(),
                failure = CASE size WHEN 0 THEN 'out-of-stock' ELSE failure END,
                provider_order_id = $2,
                provider_charge = coalesce(share.charge, round(provider_price * size / count, 4)),
                answer = kept_answer
           FROM share
          WHERE orders.id = share.order_id
         RETURNING orders.*, proxy_ids, places
       ),
       stored AS (
         INSERT INTO proxies (id, user_id, order_id, provider, provider_proxy_id, host, port, login, password,
                              proxy_type, country, version, period, date_start, date_end)
         SELECT delivered.id, closed.user_id, closed.id, closed.provider, provider_proxy_id, host, port,
                login, password, closed.proxy_type, closed.country, closed.version, closed.period, date_start,
                date_end
           FROM delivered JOIN closed ON closed.id = delivered.order_id
       ),
       entries AS (
         ${postEntriesSql(
           `SELECT user_id, 'capture' AS kind, id AS order_id, 0 AS available_delta, -captured AS held_delta
              FROM closed WHERE captured > 0
            UNION ALL
            SELECT user_id, 'release', id, released, -released FROM closed WHERE released > 0`,
           'SELECT user_id FROM closed',
         )}
         RETURNING order_id, kind
       ),${recordCall(12)},${UNCOUNT_SPENDING}
       SELECT ${OUTCOME_COLUMNS}, proxy_ids AS "proxyIds", places FROM closed ORDER BY id`,
      [
        batchId,
        providerOrderId,
        charge,
        only ?? null,
        // PostgreSQL reads arrays in half the time of JSON, and numbers in a third of that of dates.
        proxies.map(({ id }) => id),
        proxies.map(({ host }) => host),
        proxies.map(({ port }) => port),
        proxies.map(({ login }) => login),
        proxies.map(({ password }) => password),
        proxies.map(({ dateStart }) => unixSeconds(dateStart)),
        proxies.map(({ dateEnd }) => unixSeconds(dateEnd)),
        ...callParameters(call),
      ],
    );
    this.countOutcomes(closed);
    return closed.map(({ proxyIds, places, ...order }) => ({
      ...order,
      answer: (proxyIds ?? []).flatMap((id, n) => {
        const proxy = proxies[(places?.[n] ?? 0) - 1];
        if (!proxy) return [];
        const { host, port, login, password, dateStart, dateEnd } = proxy;
        return [{ id, host, port, login, password, date_start: dateStart, date_end: dateEnd }];
      }),
    }));
  }

  /**
   * Stores the new ends of prolonged proxies and captures the prices. A proxy that was taken for withdrawn is
   * listed again.
   *
   * @param call is recorded exactly when this is committed
   * @returns the orders that were closed
   */
  async deliverProlongations(
    { ends, providerOrderId, charge }: DeliveredProlongations,
    { queryable = this.dataSource, call }: { queryable?: Queryable; call?: RecordedCall | undefined } = {},
  ): Promise<OrderOutcome[]> {
    const closed = await preparedRows<ClosedProlongation>(
      queryable,
      `WITH member AS MATERIALIZED (
         SELECT id, ends.date_end, provider_price,
                sum(provider_price) OVER (ORDER BY id) AS upto, sum(provider_price) OVER () AS total
           FROM (SELECT id, provider_price FROM orders
                  WHERE id IN (SELECT order_id FROM jsonb_to_recordset($1::jsonb) AS given (order_id bigint))
                    AND state IN ${sqlList(statesBefore('completed'))} ORDER BY id FOR UPDATE) AS open
           JOIN jsonb_to_recordset($1::jsonb) AS ends (order_id bigint, date_end timestamptz)
             ON ends.order_id = open.id
       ),
       closed AS (
         UPDATE orders
            SET state = 'completed', captured = held, closed_at = now(), provider_order_id = $2,
                -- Rounded on the running total, so that the shares add up to the whole.
                provider_charge = coalesce(
                  round($3::numeric * upto / nullif(total, 0), 4)
                    - round($3::numeric * (upto - member.provider_price) / nullif(total, 0), 4),
                  member.provider_price),
                -- Kept for idempotent replays.
                answer = CASE WHEN idempotency_key IS NOT NULL THEN
                  (SELECT jsonb_build_array(jsonb_build_object(
                            'id', id, 'host', host, 'port', port, 'login', login, 'password', password,
                            'date_start', date_start, 'date_end', member.date_end, 'descr', descr))
                     FROM proxies WHERE proxies.id = orders.proxy_id)
                END
           FROM member
          WHERE orders.id = member.id
         RETURNING orders.*, member.date_end
       ),
       prolonged AS (
         UPDATE proxies
            SET date_end = closed.date_end, period = closed.period, active = closed.date_end > now(),
                absences = 0, withdrawn_at = NULL
           FROM closed WHERE proxies.id = closed.proxy_id
         RETURNING proxies.id, host, port, login, password, date_start, proxies.date_end, descr
       ),
       entries AS (
         ${postEntriesSql(
           `SELECT user_id, 'capture' AS kind, id AS order_id, 0 AS available_delta, -captured AS held_delta
              FROM closed`,
           'SELECT user_id FROM closed',
         )}
       ),${recordCall(4)}
       SELECT ${OUTCOME_COLUMNS}, (SELECT to_jsonb(prolonged) FROM prolonged WHERE id = proxy_id) AS proxy
         FROM closed ORDER BY id`,
      [
        JSON.stringify(ends.map(({ orderId, dateEnd }) => ({ order_id: orderId, date_end: dateEnd }))),
        providerOrderId,
        charge,
        ...callParameters(call),
      ],
    );
    this.countOutcomes(closed);
    return closed.map(({ proxy, ...order }) => ({ ...order, answer: [proxy] }));
  }

  /**
   * Refunds orders that brought nothing: the whole hold is released.
   *
   * @param from the states in which it is certain that nothing was bought, or that somebody decided so
   * @returns the orders that were refunded
   */
  async releaseHolds(
    orderIds: readonly number[],
    reason: FailureReason,
    from: readonly OpenState[],
    queryable: Queryable = this.dataSource,
  ): Promise<number[]> {
    if (orderIds.length === 0) return [];
    const released = await preparedRows<EndedOrder & { id: number }>(
      queryable,
      `WITH closed AS (
         UPDATE orders SET state = 'refunded', released = held, failure = $2, closed_at = now()
          WHERE id IN (SELECT id FROM orders WHERE id = ANY ($1) AND state = ANY ($3) ORDER BY id FOR UPDATE)
         RETURNING id, kind, state, user_id, held, released, token_id, created_at
       ),
       entries AS (
         ${postEntriesSql(
           `SELECT user_id, 'release' AS kind, id AS order_id, held AS available_delta, -held AS held_delta
              FROM closed`,
           'SELECT user_id FROM closed',
         )}
         RETURNING order_id, kind
       ),${UNCOUNT_SPENDING}
       SELECT id, kind, state FROM closed`,
      [[...orderIds], reason, [...from]],
    );
    this.countOutcomes(released);
    return released.map(({ id }) => id);
  }

  /**
   * Refunds an order that was never sent, with all others that leave the queue in the same moment.
   *
   * @returns false when it no longer waits there
   */
  readonly leaveQueue = groupedStatement<LeavingOrder, boolean>(
    async (leaving) => {
      const refunded = new Set<number>();
      for (const reason of new Set(leaving.map((order) => order.reason))) {
        const ids = leaving.filter((order) => order.reason === reason).map(({ orderId }) => orderId);
        for (const id of await this.releaseHolds(ids, reason, ['reserved'])) refunded.add(id);
      }
      return leaving.map(({ orderId }) => refunded.has(orderId));
    },
    { maxItems: LEAVING_TOGETHER, maxWaitMs: 500 },
  );

  /**
   * Puts back an order that a restore of the database has forgotten, and holds its money: it was sent, and
   * what it brought is known. Its idempotency key is not.
   *
   * @throws QueryFailedError by `accounts_available_check` when the user has less than its price
   */
  async putBackForgotten(order: ForgottenOrder, manager: EntityManager): Promise<number> {
    const [placed] = await queryRows<{ id: number }>(
      manager,
      `WITH placed AS (
         INSERT INTO orders (id, group_id, user_id, kind, state, tag, country, version, period, count,
                             proxy_type, proxy_id, unit_price, held, provider, provider_price, deadline,
                             next_look_at, submitted_at, date_end_before, key_forgotten)
         SELECT named.id, coalesce($2, named.id), $3, $4, 'submitting',
                coalesce($5, format('%su%s.o%sx', ${TAG_PREFIX_SQL}, $3::bigint, named.id)), $6, $7,
                $8::integer, $9::integer, $10, $11::bigint, $12::numeric, $12::numeric * $9::integer, $13,
                $14::numeric * $9::integer, now(), now(), now(), $15::timestamptz, true
           FROM (SELECT coalesce($1, nextval(pg_get_serial_sequence('orders', 'id'))) AS id) AS named
         RETURNING id, user_id, held
       ),
       entries AS (
         ${postEntriesSql(
           `SELECT user_id, 'hold' AS kind, id AS order_id, -held AS available_delta, held AS held_delta
              FROM placed`,
           'SELECT user_id FROM placed',
         )}
       )
       SELECT id FROM placed`,
      [
        order.id,
        order.batchId,
        order.userId,
        order.kind,
        order.tag,
        order.country,
        order.version,
        order.period,
        order.count,
        order.proxyType,
        order.proxyId,
        order.unitPrice.toString(),
        order.provider,
        order.unitCost.toString(),
        order.dateEndBefore,
      ],
    );
    if (!placed) throw new Error('the INSERT of an order that was put back returned no row');
    return placed.id;
  }

  /**
   * Takes an unknown key for that of an order that was put back and asked for the same. The key is its own
   * from then on.
   *
   * @returns the id of the order; null when there is none any more
   */
  async takeForgottenKey(asked: AskedUnderKey, { key, requestHash }: Idempotency): Promise<number | null> {
    const [order] = await queryRows<{ id: number }>(
      this.dataSource,
      `UPDATE orders
          SET key_forgotten = false, idempotency_key = $9, request_hash = $10,
              max_price = CASE WHEN held <= $11::numeric THEN $11::numeric END
        WHERE id = (SELECT id FROM orders
                     WHERE key_forgotten AND user_id = $1
                       AND (kind, country, version, period, count, proxy_type) = ($2, $3, $4, $5, $6, $7)
                       AND proxy_id IS NOT DISTINCT FROM $8
                     ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
       RETURNING id`,
      [
        asked.userId,
        asked.kind,
        asked.country,
        asked.version,
        asked.period,
        asked.count,
        asked.proxyType,
        asked.proxyId,
        key,
        requestHash,
        asked.maxPrice?.toString() ?? null,
      ],
    );
    return order?.id ?? null;
  }

  /**
   * Gives back some of what a closed order has paid.
   *
   * @throws QueryFailedError by `orders_refunded_check` when less than the amount is left of what was paid
   */
  async refundCharge(
    orderId: number,
    amount: Money,
    { reason, reference, actionId }: { reason: string; reference: string | null; actionId: number },
    manager: EntityManager,
  ): Promise<PostedEntryOut> {
    const [entry] = await queryRows<PostedEntryOut>(
      manager,
      `WITH paid AS (
         UPDATE orders SET refunded = refunded + $2::numeric WHERE id = $1 RETURNING id, user_id
       )
       INSERT INTO ledger_entries AS entry
         (user_id, kind, order_id, available_delta, held_delta, reason, reference, action_id)
       SELECT user_id, 'refund', id, $2::numeric, 0, $3, $4, $5 FROM paid
       RETURNING ${POSTED_ENTRY}`,
      [orderId, amount.toString(), reason, reference, actionId],
    );
    if (!entry) throw new Error('the INSERT of a refund returned no row');
    return entry;
  }

  /** What staff decide is counted before their transaction ends. */
  private countOutcomes(orders: readonly EndedOrder[]): void {
    for (const { kind, state } of orders) this.metrics.count('orders_total', { kind, outcome: state });
  }

  /**
   * Removes logins and passwords from the kept answers of a batch of orders whose rentals, as prolonged,
   * ended some days ago.
   *
   * @param after where the batch before ended
   */
  async forgetCredentials(
    days: number,
    after: { readonly ended: string; readonly id: number },
  ): Promise<RetentionStep<{ ended: string; id: number }>> {
    const [batch] = await queryRows<{ forgotten: number; ended: string; id: number }>(
      this.dataSource,
      `WITH due AS MATERIALIZED (
         SELECT answer #>> '{0,date_end}' AS ended, id FROM orders
          WHERE answer #> '{0,password}' IS NOT NULL
            AND (answer #>> '{0,date_end}', id) > ($1, $2::bigint)
            AND answer #>> '{0,date_end}' < to_jsonb(now() - make_interval(days => $3)) #>> '{}'
          ORDER BY answer #>> '{0,date_end}', id LIMIT $4
       ),
       forgotten AS (
         UPDATE orders
            SET answer = (SELECT jsonb_agg(proxy - 'login' - 'password' ORDER BY position)
                            FROM jsonb_array_elements(answer) WITH ORDINALITY AS kept (proxy, position))
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

  /**
   * Removes the kept answers of a batch of orders whose rentals, as first sold, ended some days ago and whose
   * logins and passwords have been removed. A replay then tells the proxies as they are.
   */
  forgetAnswers(days: number): Promise<RetentionStep<true>> {
    return this.forgetBatch(
      `UPDATE orders SET answer = NULL WHERE id = ANY (ARRAY(
         SELECT id FROM orders
          WHERE answer IS NOT NULL AND answer #> '{0,password}' IS NULL
            AND answer #>> '{0,date_end}' < to_jsonb(now() - make_interval(days => $1)) #>> '{}'
          ORDER BY answer #>> '{0,date_end}', id LIMIT $2))`,
      days,
    );
  }

  /** Removes what tokens spent on days some days ago. What is released later is taken off no day then. */
  forgetSpending(days: number): Promise<RetentionStep<true>> {
    return this.forgetBatch(
      `DELETE FROM token_spending WHERE (token_id, day) IN (
         SELECT token_id, day FROM token_spending WHERE day < (now() AT TIME ZONE 'UTC')::date - $1::integer
          ORDER BY day LIMIT $2 FOR UPDATE SKIP LOCKED)`,
      days,
    );
  }

  /** @param removal of so many rows at most: parameter 2 */
  private async forgetBatch(removal: string, days: number): Promise<RetentionStep<true>> {
    const [batch] = await queryRows<{ removed: number }>(
      this.dataSource,
      `WITH removed AS (${removal} RETURNING 1) SELECT count(*) AS removed FROM removed`,
      [days, STEP_ROWS],
    );
    const removed = batch?.removed ?? 0;
    return { removed, next: removed === STEP_ROWS ? true : null };
  }
}
