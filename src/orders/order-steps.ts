import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { InjectDataSource, InjectRepository } from '@nestjs/typeorm';
import { DataSource, In, Not, Repository } from 'typeorm';
import { AppConfig } from '../config';
import { databaseTime, mayHaveCommitted, queryRows } from '../database';
import type { IpVersion, ProviderPurchase, ProxyType } from '../provider';
import type { Idempotency } from './idempotency';
import { lookOffsetsSeconds } from './look-schedule';
import { Order, type OrderKind } from './order.entity';
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
  readonly provider: string;
  readonly providerPrice: string;
  readonly idempotency: Idempotency | null;
  readonly requestId: string | null;
}

export interface PlacedOrder {
  readonly id: number;
  readonly tag: string;
}

/** For our own steps on the way to a claim. */
const SLACK_SECONDS = 2;

/** States in which the upstream may have been asked. */
const POSSIBLY_BOUGHT = `('submitting', 'confirming', 'review')`;

/**
 * The steps of an order. Each is one statement, committed by itself: the order's state, its ledger entries and what it delivers
 * change together or not at all. Each is guarded by the state it starts from, so that running it twice, or at two replicas, changes
 * nothing the second time. Times are the database's, so that the clocks of replicas do not matter.
 */
@Injectable()
export class OrderSteps {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    @InjectRepository(Order) private readonly orders: Repository<Order>,
    @Inject(AppConfig) private readonly config: AppConfig,
  ) {}

  /**
   * Places an order and holds its money. Given up at its deadline, should nobody claim it.
   * When the connection was lost before the database's answer came, the order is looked for: it may have been placed.
   *
   * @throws QueryFailedError by the constraints `accounts_available_check`, `orders_idempotency_key`, `orders_open_prolongation_key`
   */
  async reserve(order: NewOrder): Promise<PlacedOrder> {
    const attempt = randomUUID();
    try {
      return await this.place(order, attempt);
    } catch (error) {
      const placed = mayHaveCommitted(error) ? await this.orders.findOneBy({ attempt }) : null;
      if (!placed) throw error;
      return placed;
    }
  }

  private async place(order: NewOrder, attempt: string): Promise<PlacedOrder> {
    const [placed] = await queryRows<PlacedOrder>(
      this.dataSource,
      `WITH number AS (SELECT nextval(pg_get_serial_sequence('orders', 'id')) AS id),
       placed AS (
         INSERT INTO orders (id, user_id, kind, tag, country, version, period, count, proxy_type, proxy_id,
                             unit_price, held, provider, provider_price, idempotency_key, request_hash, request_id, attempt,
                             deadline, next_look_at)
         SELECT number.id, $1, $2, format('%su%s.o%s', ${TAG_PREFIX_SQL}, $1::bigint, number.id), $3, $4, $5, $6, $7, $8,
                $9::numeric, $9::numeric * $6::integer, $10, round($11::numeric, 4), $12, $13, $14, $16,
                given_up, given_up
           FROM number, LATERAL (SELECT now() + make_interval(secs => $15) AS given_up) AS times
         RETURNING id, tag, user_id, held
       ),
       hold AS (
         INSERT INTO ledger_entries (user_id, kind, order_id, available_delta, held_delta)
         SELECT user_id, 'hold', id, -held, held FROM placed
       )
       SELECT id, tag FROM placed`,
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
        this.longestWaitSeconds(),
        attempt,
      ],
    );
    if (!placed) throw new Error('a placed order was not returned');
    return placed;
  }

  /**
   * From here on the order counts as possibly bought. False when it is no longer there to be claimed.
   *
   * @param timeoutMs how long from now the call may take
   */
  async claim(orderId: number, timeoutMs: number, dateEndBefore: Date | null = null): Promise<boolean> {
    const claimed = await queryRows(
      this.dataSource,
      `UPDATE orders
          SET state = 'submitting', submitted_at = clock_timestamp(), date_end_before = $3,
              deadline = clock_timestamp() + make_interval(secs => $2), next_look_at = clock_timestamp() + make_interval(secs => $2)
        WHERE id = $1 AND state = 'reserved'
       RETURNING id`,
      [orderId, timeoutMs / 1000, dateEndBefore],
    );
    return claimed.length > 0;
  }

  /** Gives the money back. False when the order was not in one of these states any more. */
  async refund(
    orderId: number,
    failure: string,
    from: readonly ('reserved' | 'submitting' | 'confirming')[],
  ): Promise<boolean> {
    const released = await queryRows(
      this.dataSource,
      `WITH closed AS (
         UPDATE orders SET state = 'refunded', released = held, failure = $2, closed_at = now()
          WHERE id = $1 AND state = ANY ($3)
         RETURNING id, user_id, held
       )
       INSERT INTO ledger_entries (user_id, kind, order_id, available_delta, held_delta)
       SELECT user_id, 'release', id, held, -held FROM closed
       RETURNING order_id`,
      [orderId, failure, [...from]],
    );
    return released.length > 0;
  }

  /**
   * Stores what was bought, captures its price and releases the rest.
   *
   * @throws QueryFailedError by `proxies_provider_proxy_id_key` when a proxy belongs to another order already
   */
  async deliver(orderId: number, purchase: ProviderPurchase): Promise<boolean> {
    const closed = await queryRows(
      this.dataSource,
      `WITH delivered AS MATERIALIZED (
         SELECT nextval(pg_get_serial_sequence('proxies', 'id')) AS id, given.*
           FROM jsonb_to_recordset($2::jsonb) AS given (
             provider_proxy_id text, host text, port text, login text, password text, date_start timestamptz, date_end timestamptz)
       ),
       closed AS (
         UPDATE orders
            SET state = CASE WHEN delivery.size = count THEN 'completed' ELSE 'partial' END,
                captured = unit_price * delivery.size, released = held - unit_price * delivery.size,
                provider_order_id = $3, provider_charge = round($4::numeric, 4), closed_at = now(),
                answer = CASE WHEN idempotency_key IS NOT NULL THEN delivery.answer END
           FROM (SELECT count(*) AS size, jsonb_agg(to_jsonb(delivered) - 'provider_proxy_id') AS answer FROM delivered) AS delivery
          WHERE orders.id = $1 AND state IN ${POSSIBLY_BOUGHT}
         RETURNING orders.*
       ),
       stored AS (
         INSERT INTO proxies (id, user_id, order_id, provider, provider_proxy_id, host, port, login, password,
                              proxy_type, country, version, date_start, date_end)
         SELECT delivered.id, closed.user_id, closed.id, closed.provider, provider_proxy_id, host, port, login, password,
                closed.proxy_type, closed.country, closed.version, date_start, date_end
           FROM closed, delivered
       ),
       entries AS (
         INSERT INTO ledger_entries (user_id, kind, order_id, available_delta, held_delta)
         SELECT user_id, 'capture', id, 0, -captured FROM closed
         UNION ALL
         SELECT user_id, 'release', id, released, -released FROM closed WHERE released > 0
       )
       SELECT id FROM closed`,
      [
        orderId,
        JSON.stringify(
          purchase.proxies.map((proxy) => ({
            provider_proxy_id: proxy.id,
            host: proxy.host,
            port: proxy.port,
            login: proxy.login,
            password: proxy.password,
            date_start: proxy.dateStart,
            date_end: proxy.dateEnd,
          })),
        ),
        purchase.providerOrderId,
        purchase.charge,
      ],
    );
    return closed.length > 0;
  }

  /** Stores a prolonged proxy's new end and captures the price. */
  async deliverProlongation(
    orderId: number,
    prolongation: { dateEnd: Date; providerOrderId: string | null; charge: string | null },
  ): Promise<boolean> {
    const closed = await queryRows(
      this.dataSource,
      `WITH closed AS (
         UPDATE orders
            SET state = 'completed', captured = held, closed_at = now(),
                provider_order_id = $3, provider_charge = round($4::numeric, 4),
                answer = CASE WHEN idempotency_key IS NOT NULL THEN
                  (SELECT jsonb_build_array(jsonb_build_object('id', id, 'host', host, 'port', port, 'login', login,
                            'password', password, 'date_start', date_start, 'date_end', $2::timestamptz))
                     FROM proxies WHERE proxies.id = orders.proxy_id)
                END
          WHERE id = $1 AND state IN ${POSSIBLY_BOUGHT}
         RETURNING *
       ),
       prolonged AS (
         UPDATE proxies SET date_end = $2, active = $2 > now() FROM closed WHERE proxies.id = closed.proxy_id
       ),
       entries AS (
         INSERT INTO ledger_entries (user_id, kind, order_id, available_delta, held_delta)
         SELECT user_id, 'capture', id, 0, -captured FROM closed
       )
       SELECT id FROM closed`,
      [orderId, prolongation.dateEnd, prolongation.providerOrderId, prolongation.charge],
    );
    return closed.length > 0;
  }

  /** The outcome of the call is unknown: reconciliation takes over. */
  async beginConfirming(orderId: number): Promise<void> {
    await queryRows(
      this.dataSource,
      `UPDATE orders SET state = 'confirming', next_look_at = now() WHERE id = $1 AND state = 'submitting'`,
      [orderId],
    );
  }

  async sendToReview(orderId: number, why: string): Promise<void> {
    await queryRows(
      this.dataSource,
      `UPDATE orders SET state = 'review', failure = $2 WHERE id = $1 AND state IN ('submitting', 'confirming')`,
      [orderId, why],
    );
  }

  /**
   * Notes what a complete look at the upstream showed, and says how long nothing has been seen by now: null when something was.
   *
   * @param startedAt the database's time before the look began
   */
  async noteLook(orderId: number, startedAt: Date, seen: 'something' | 'nothing'): Promise<Date | null> {
    const [order] = await queryRows<{ since: Date | null }>(
      this.dataSource,
      `UPDATE orders
          SET nothing_seen_since = CASE WHEN $3 THEN coalesce(nothing_seen_since, $2) END
        WHERE id = $1
       RETURNING nothing_seen_since AS since`,
      [orderId, startedAt, seen === 'nothing'],
    );
    return order?.since ?? null;
  }

  /** Takes up orders whose time for a look has come; no other replica takes them until the next one. */
  async takeDue(limit: number): Promise<Order[]> {
    const offsets = lookOffsetsSeconds(this.config.reconcileQuietSeconds);
    const due = await queryRows<{ id: number }>(
      this.dataSource,
      `UPDATE orders
          SET state = CASE state WHEN 'submitting' THEN 'confirming' ELSE state END,
              looks = looks + 1,
              next_look_at = coalesce(greatest(deadline + make_interval(secs => ($2::float8[])[looks + 2]), now() + interval '100 ms'),
                                      now() + make_interval(secs => $3 * (1 + random())))
        WHERE id IN (SELECT id FROM orders
                      WHERE state IN ('reserved', 'submitting', 'confirming') AND next_look_at <= now()
                      ORDER BY next_look_at LIMIT $1
                        FOR UPDATE SKIP LOCKED)
       RETURNING id`,
      [limit, offsets, offsets.at(-1)],
    );
    if (due.length === 0) return [];
    return this.orders.findBy({ id: In(due.map(({ id }) => id)) });
  }

  /** By which a proxy is found at the upstream: the tag it was bought under, and the provider's number of it. */
  async getUpstreamIdentity(proxyId: number): Promise<{ tag: string; providerProxyId: string }> {
    const [identity] = await queryRows<{ tag: string; providerProxyId: string }>(
      this.dataSource,
      `SELECT o.tag, p.provider_proxy_id AS "providerProxyId"
         FROM proxies p JOIN orders o ON o.id = p.order_id WHERE p.id = $1`,
      [proxyId],
    );
    if (!identity) throw new Error(`proxy ${proxyId} has no purchase`);
    return identity;
  }

  now(): Promise<Date> {
    return databaseTime(this.dataSource);
  }

  async get(orderId: number): Promise<Order> {
    return this.orders.findOneByOrFail({ id: orderId });
  }

  /** The order that holds or has spent money under a key, if there is one. */
  findByKey(userId: number, idempotencyKey: string): Promise<Order | null> {
    return this.orders.findOneBy({ userId, idempotencyKey, state: Not('refunded') });
  }

  /** A reserved order may wait for two turns at the upstream and one answer before it is claimed. */
  private longestWaitSeconds(): number {
    return (2 * this.config.purchaseWaitMs + this.config.providerTimeoutMs) / 1000 + SLACK_SECONDS;
  }
}
