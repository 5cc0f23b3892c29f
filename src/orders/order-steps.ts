import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectDataSource, InjectRepository } from '@nestjs/typeorm';
import { DataSource, Not, Repository } from 'typeorm';
import type { IpVersion, ProxyType } from '../common';
import { AppConfig } from '../config';
import { batchedLookup, databaseTime, mayHaveCommitted, preparedRows, queryRows } from '../database';
import type { Markup } from '../pricing';
import type { Idempotency } from './idempotency';
import { lookOffsetsSeconds } from './look-schedule';
import { ORDER_DAY } from './order-day';
import type { OrderGroup } from './order-group';
import { Order, type OrderKind, type OrderState } from './order.entity';
import { TAG_PREFIX_SQL } from './tag';

export interface NewOrder {
  readonly userId: number;
  readonly kind: OrderKind;
  readonly country: string;
  readonly version: IpVersion;
  readonly period: number;
  readonly count: number;
  readonly proxyType: ProxyType;
  readonly proxyId: number | null;
  readonly unitPrice: string;
  readonly markup: Markup;
  readonly provider: string;
  readonly providerPrice: string;
  readonly idempotency: Idempotency | null;
  readonly requestId: string | null;
  readonly tokenId: number;
  /** Roubles that the token's orders may take in a day; null: no limit. */
  readonly dailyLimit: string | null;
}

/** For our own steps on the way to a claim. */
const SLACK_SECONDS = 2;

/** A purchase is confirmed by one page of a listing, and a URL with the numbers of so many proxies is read everywhere. */
const PROXIES_PER_PURCHASE = 1000;
const PROXIES_PER_PROLONGATION = 200;

/**
 * Counts an order on its token's day. After the hold, as at every end of an order: whoever holds the row of a token's day has the account of
 * its user, so that nobody waits in a circle.
 */
const COUNT_SPENDING = `,
       counted AS (
         INSERT INTO token_spending AS counter (token_id, day, spent, day_limit)
         SELECT token_id, day, held, $20::numeric FROM placed JOIN hold ON hold.order_id = placed.id
         ON CONFLICT (token_id, day) DO UPDATE SET spent = counter.spent + excluded.spent
       )`;

/** An order of a group, with what identifies it at the provider. Of `sent`, which has the columns of `orders`. */
const GROUP_ROWS = `
  SELECT sent.id, sent.group_id AS "groupId", (SELECT tag FROM orders lead WHERE lead.id = sent.group_id) AS tag,
         sent.kind, sent.country, sent.version, sent.period, sent.proxy_type AS "proxyType", sent.count,
         sent.submitted_at AS "submittedAt", sent.deadline, sent.date_end_before AS "dateEndBefore",
         sum(sent.provider_price) OVER (PARTITION BY sent.group_id) AS "providerPrice",
         proxies.provider_proxy_id AS "providerProxyId",
         coalesce(proxies.tag, (SELECT lead.tag FROM orders bought JOIN orders lead ON lead.id = coalesce(bought.group_id, bought.id)
                                 WHERE bought.id = proxies.order_id)) AS "purchaseTag"
    FROM sent LEFT JOIN proxies ON proxies.id = sent.proxy_id
   ORDER BY sent.id`;

/** What the answer to the caller is made of. */
export type OrderOutcome = Pick<
  Order,
  | 'id'
  | 'kind'
  | 'state'
  | 'failure'
  | 'captured'
  | 'answer'
  | 'proxyId'
  | 'proxyType'
  | 'country'
  | 'version'
>;

interface GroupRow {
  readonly id: number;
  readonly groupId: number;
  readonly tag: string;
  readonly kind: OrderKind;
  readonly country: string;
  readonly version: IpVersion;
  readonly period: number;
  readonly proxyType: ProxyType;
  readonly count: number;
  readonly submittedAt: Date;
  readonly deadline: Date;
  readonly dateEndBefore: Date | null;
  readonly providerPrice: string;
  readonly providerProxyId: string | null;
  readonly purchaseTag: string | null;
}

function toGroups(rows: readonly GroupRow[]): OrderGroup[] {
  const groups = new Map<number, GroupRow[]>();
  for (const row of rows) groups.set(row.groupId, [...(groups.get(row.groupId) ?? []), row]);
  return [...groups.values()].flatMap((orders) => {
    const [first] = orders;
    return first ? [{ ...first, id: first.groupId, orders }] : [];
  });
}

/**
 * The way of an order from its reservation to the provider, and the looks after it; `OrderSettlement` has its ends. Each step is one
 * statement, committed by itself, and guarded by the state it starts from, so that running it twice, or at two replicas, changes
 * nothing the second time. Times are the database's, so that the clocks of replicas do not matter.
 */
@Injectable()
export class OrderSteps {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    @InjectRepository(Order) private readonly orders: Repository<Order>,
    private readonly config: AppConfig,
  ) {}

  /**
   * Places an order and holds its money; gives its number. Given up at its deadline, should nobody claim it.
   * When the connection was lost before the database's answer came, the order is looked for: it may have been placed.
   *
   * @throws QueryFailedError by the constraints `accounts_available_check`, `orders_idempotency_key`, `orders_open_prolongation_key`,
   *   `token_spending_limit_check`
   */
  async reserve(order: NewOrder): Promise<number> {
    const attempt = randomUUID();
    try {
      return await this.place(order, attempt);
    } catch (error) {
      const placed = mayHaveCommitted(error) ? await this.orders.findOneBy({ attempt }) : null;
      if (!placed) throw error;
      return placed.id;
    }
  }

  private async place(order: NewOrder, attempt: string): Promise<number> {
    const [placed] = await preparedRows<{ id: number }>(
      this.dataSource,
      `WITH number AS (SELECT nextval(pg_get_serial_sequence('orders', 'id')) AS id),
       placed AS (
         INSERT INTO orders (id, user_id, kind, tag, country, version, period, count, proxy_type, proxy_id,
                             unit_price, held, provider, provider_price, idempotency_key, request_hash, request_id, attempt,
                             markup_percent, price_rule_id, token_id, deadline, next_look_at)
         SELECT number.id, $1, $2, format('%su%s.o%s', ${TAG_PREFIX_SQL}, $1::bigint, number.id), $3, $4, $5, $6, $7, $8,
                $9::numeric, $9::numeric * $6::integer, $10, round($11::numeric, 4), $12, $13, $14, $16,
                $17, $18, $19, given_up, given_up
           FROM number, LATERAL (SELECT now() + make_interval(secs => $15) AS given_up) AS times
         RETURNING id, user_id, held, token_id, ${ORDER_DAY} AS day
       ),
       hold AS (
         INSERT INTO ledger_entries (user_id, kind, order_id, available_delta, held_delta)
         SELECT user_id, 'hold', id, -held, held FROM placed
         RETURNING order_id
       )
       ${order.dailyLimit === null ? '' : COUNT_SPENDING}
       SELECT id FROM placed`,
      [
        order.userId,
        order.kind,
        order.country,
        order.version,
        order.period,
        order.count,
        order.proxyType,
        order.proxyId,
        order.unitPrice,
        order.provider,
        order.providerPrice,
        order.idempotency?.key ?? null,
        order.idempotency?.requestHash ?? null,
        order.requestId,
        this.longestWaitSeconds(order.kind),
        attempt,
        order.markup.percent,
        order.markup.ruleId,
        order.tokenId,
        ...(order.dailyLimit === null ? [] : [order.dailyLimit]),
      ],
    );
    if (!placed) throw new Error('a placed order was not returned');
    return placed.id;
  }

  /** The ends of proxies at the provider, read right before their prolongation: with it an order joins the line. */
  async noteDateEnds(ends: ReadonlyMap<number, Date>): Promise<void> {
    await preparedRows(
      this.dataSource,
      `UPDATE orders SET date_end_before = ends.date_end
         FROM unnest($1::bigint[], $2::timestamptz[]) AS ends (order_id, date_end)
        WHERE orders.id = ends.order_id AND state = 'reserved'`,
      [[...ends.keys()], [...ends.values()]],
    );
  }

  /**
   * Takes the next orders of the line, which is that of all replicas, into one group: from here on they count as possibly bought. First
   * comes what was in a group that was taken apart, then whose user was served longest ago, then who came first; with it goes
   * what is of the same kind. Null when nobody waits.
   *
   * @param claim drawn by the caller: the group is found by it when this is not answered
   * @param affordable roubles: the group costs no more, except that the first order goes in any case; null when that is not known
   */
  async claimNext(claim: string, affordable: string | null): Promise<OrderGroup | null> {
    const rows = await preparedRows<GroupRow>(
      this.dataSource,
      `WITH waiting AS MATERIALIZED (
         SELECT id, kind, country, version, period, proxy_type, count, provider_price, travels_alone,
                (SELECT max(submitted_at) FROM orders served
                  WHERE served.user_id = orders.user_id AND submitted_at IS NOT NULL) AS served_at
           FROM orders
          WHERE state = 'reserved' AND next_look_at > now() AND (kind = 'purchase' OR date_end_before IS NOT NULL)
       ),
       head AS (SELECT * FROM waiting ORDER BY travels_alone DESC, served_at NULLS FIRST, id LIMIT 1),
       company AS (
         SELECT waiting.id, row_number() OVER line AS place, sum(waiting.count) OVER line AS size,
                sum(waiting.provider_price) OVER line AS cost,
                CASE head.kind WHEN 'purchase' THEN ${PROXIES_PER_PURCHASE} ELSE ${PROXIES_PER_PROLONGATION} END AS room
           FROM waiting, head
          WHERE waiting.id = head.id
             OR (NOT (waiting.travels_alone OR head.travels_alone)
                 AND (waiting.kind, waiting.version, waiting.period) = (head.kind, head.version, head.period)
                 AND (head.kind = 'prolongation' OR (waiting.country, waiting.proxy_type) = (head.country, head.proxy_type)))
         WINDOW line AS (ORDER BY waiting.id <> head.id, waiting.served_at NULLS FIRST, waiting.id)
       ),
       taken AS (
         SELECT id FROM orders
          WHERE state = 'reserved'
            AND id IN (SELECT id FROM company WHERE place = 1 OR (place <= $3 AND size <= room AND cost <= coalesce($4, cost)))
          ORDER BY id FOR UPDATE SKIP LOCKED
       ),
       leader AS (SELECT min(id) AS id, clock_timestamp() AS sent_at FROM taken),
       sent AS (
         UPDATE orders
            SET state = 'submitting', group_id = leader.id, submitted_at = sent_at,
                deadline = sent_at + make_interval(secs => $1), next_look_at = sent_at + make_interval(secs => $1),
                claim = $2
           FROM leader
          WHERE orders.id IN (SELECT id FROM taken)
         RETURNING orders.*
       )
       ${GROUP_ROWS}`,
      [this.config.provider.timeoutMs / 1000, claim, this.config.provider.ordersPerCall, affordable],
    );
    return toGroups(rows)[0] ?? null;
  }

  /** The group that was claimed without an answer, if it was. */
  async findClaimed(claim: string): Promise<OrderGroup | null> {
    const order = await this.orders.findOneBy({ claim, state: 'submitting' });
    return order?.groupId ? this.findGroup(order.groupId) : null;
  }

  /** What is still open of a group; null when nothing is. */
  async findGroup(groupId: number): Promise<OrderGroup | null> {
    return (await this.findGroups([groupId]))[0] ?? null;
  }

  private async findGroups(groupIds: readonly number[]): Promise<OrderGroup[]> {
    const rows = await queryRows<GroupRow>(
      this.dataSource,
      `WITH sent AS (SELECT * FROM orders WHERE group_id = ANY ($1) AND state IN ('submitting', 'confirming', 'review'))
       ${GROUP_ROWS}`,
      [groupIds],
    );
    return toGroups(rows);
  }

  /** A group was refused as a whole, by which nothing happened: its orders wait in line again, each by itself. */
  async takeApart(groupId: number): Promise<void> {
    await queryRows(
      this.dataSource,
      `UPDATE orders
          SET state = 'reserved', travels_alone = true, group_id = NULL, submitted_at = NULL,
              deadline = now() + make_interval(secs => $2), next_look_at = now() + make_interval(secs => $2)
        WHERE group_id = $1 AND state = 'submitting'`,
      [groupId, this.longestWaitSeconds('purchase')],
    );
  }

  /** The outcome of the call is unknown: reconciliation takes over. */
  async beginConfirming(groupId: number): Promise<void> {
    await queryRows(
      this.dataSource,
      `UPDATE orders SET state = 'confirming', next_look_at = now() WHERE group_id = $1 AND state = 'submitting'`,
      [groupId],
    );
  }

  async sendToReview(orderIds: readonly number[], why: string): Promise<void> {
    await queryRows(
      this.dataSource,
      `UPDATE orders SET state = 'review', failure = $2 WHERE id = ANY ($1) AND state IN ('submitting', 'confirming')`,
      [orderIds, why],
    );
  }

  /**
   * Notes what a complete look at the provider showed, and says how long nothing has been seen by now: null when something was.
   *
   * @param startedAt the database's time before the look began
   */
  async noteLook(
    orderIds: readonly number[],
    startedAt: Date,
    seen: 'something' | 'nothing',
  ): Promise<Date | null> {
    const [order] = await queryRows<{ since: Date | null }>(
      this.dataSource,
      `UPDATE orders
          SET nothing_seen_since = CASE WHEN $3 THEN coalesce(nothing_seen_since, $2) END
        WHERE id = ANY ($1)
       RETURNING nothing_seen_since AS since`,
      [orderIds, startedAt, seen === 'nothing'],
    );
    return order?.since ?? null;
  }

  /**
   * Takes up what is due for a look; no other replica takes it until the next one. Who holds the leader's row has the group.
   *
   * @param limit of groups and of orders that were never sent
   */
  async takeDue(limit: number): Promise<{ unsent: number[]; groups: OrderGroup[] }> {
    const offsets = lookOffsetsSeconds(this.config.reconciliation.quietSeconds);
    const taken = await queryRows<{ id: number; groupId: number | null }>(
      this.dataSource,
      `WITH due AS MATERIALIZED (
         SELECT id, coalesce(group_id, id) AS leader, next_look_at FROM orders
          WHERE state IN ('reserved', 'submitting', 'confirming') AND next_look_at <= now()
       ),
       leaders AS (
         SELECT id FROM orders
          WHERE id IN (SELECT leader FROM due GROUP BY leader ORDER BY min(next_look_at) LIMIT $1)
            FOR UPDATE SKIP LOCKED
       )
       UPDATE orders
          SET state = CASE state WHEN 'submitting' THEN 'confirming' ELSE state END,
              looks = looks + 1,
              next_look_at = coalesce(greatest(deadline + make_interval(secs => ($2::float8[])[looks + 2]), now() + interval '100 ms'),
                                      now() + make_interval(secs => $3 * (1 + random())))
         FROM due JOIN leaders ON leaders.id = due.leader
        WHERE orders.id = due.id AND state IN ('reserved', 'submitting', 'confirming') AND orders.next_look_at <= now()
       RETURNING orders.id, orders.group_id AS "groupId"`,
      [limit, offsets, offsets.at(-1)],
    );
    const groupIds = new Set(taken.flatMap(({ groupId }) => (groupId === null ? [] : [groupId])));
    return {
      unsent: taken.filter(({ groupId }) => groupId === null).map(({ id }) => id),
      groups: groupIds.size > 0 ? await this.findGroups([...groupIds]) : [],
    };
  }

  /** By which a proxy is found at the upstream: the tag it was bought under, and the provider's number of it. */
  async getProviderIdentity(proxyId: number): Promise<{ tag: string; providerProxyId: string }> {
    const [identity] = await preparedRows<{ tag: string; providerProxyId: string }>(
      this.dataSource,
      `SELECT coalesce(p.tag, lead.tag) AS tag, p.provider_proxy_id AS "providerProxyId"
         FROM proxies p JOIN orders o ON o.id = p.order_id JOIN orders lead ON lead.id = coalesce(o.group_id, o.id)
        WHERE p.id = $1`,
      [proxyId],
    );
    if (!identity) throw new Error(`proxy ${proxyId} has no purchase`);
    return identity;
  }

  now(): Promise<Date> {
    return databaseTime(this.dataSource);
  }

  /** What became of an order. */
  async getOutcome(orderId: number): Promise<OrderOutcome> {
    const outcome = await this.outcomeOf(orderId);
    if (!outcome) throw new Error(`order ${orderId} is not there`);
    return outcome;
  }

  /** The callers of a group ask at once. */
  private readonly outcomeOf = batchedLookup(async (orderIds: readonly number[]) => {
    const outcomes = await preparedRows<OrderOutcome>(
      this.dataSource,
      `SELECT id, kind, state, failure, captured, answer, proxy_id AS "proxyId", proxy_type AS "proxyType", country, version
         FROM orders WHERE id = ANY ($1)`,
      [orderIds],
    );
    return new Map(outcomes.map((outcome) => [outcome.id, outcome]));
  });

  find(orderId: number): Promise<Order | null> {
    return this.orders.findOneBy({ id: orderId });
  }

  /** The order that holds or has spent money under a key, if there is one. */
  findByKey(userId: number, idempotencyKey: string): Promise<Order | null> {
    return this.orders.findOneBy({ userId, idempotencyKey, state: Not('refunded') });
  }

  /** By the numbers of orders; without those that do not exist. */
  async statesOf(orderIds: readonly number[]): Promise<ReadonlyMap<number, OrderState>> {
    const rows = await preparedRows<{ id: number; state: OrderState }>(
      this.dataSource,
      'SELECT id, state FROM orders WHERE id = ANY ($1)',
      [orderIds],
    );
    return new Map(rows.map(({ id, state }) => [id, state]));
  }

  /** How many proxies the provider listed in the last sweep; null before the first. */
  async lastListedCount(): Promise<number | null> {
    const [run] = await queryRows<{ listed: number | null }>(
      this.dataSource,
      `SELECT (report->>'listed')::integer AS listed FROM job_runs WHERE name = 'sweep'`,
    );
    return run?.listed ?? null;
  }

  /** An order waits for its permit at the provider; a prolongation before that for another permit and a listing. */
  private longestWaitSeconds(kind: OrderKind): number {
    const { provider, purchases } = this.config;
    const waitMs = kind === 'purchase' ? purchases.waitMs : 2 * purchases.waitMs + provider.timeoutMs;
    return waitMs / 1000 + SLACK_SECONDS;
  }
}
