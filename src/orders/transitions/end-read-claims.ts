import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AppConfig } from '../../config';
import { preparedRow, preparedRows, queryRows, sqlList } from '../../database';
import { longestQueueSeconds, longestReadingSeconds } from '../longest-order';
import { PURCHASE_REFERENCE_SQL } from '../order-queries';
import { YIELDS_TO_OTHERS_SQL, IN_QUEUE_SQL, isEndUnreadSql, lastServedAtSql } from '../order-queue';
import { CANCELED_WITHOUT_PROOF, IS_RENEWAL_SQL } from '../order-states';

export interface EndToRead {
  readonly orderId: number;
  readonly reference: string;
  readonly providerProxyId: string;
  /** Time of the claim. The result is stored only if no other replica has claimed the reading since. */
  readonly readAt: string;
}

export interface StoredEnd {
  readonly orderId: number;
  readonly outcome: 'queued' | 'possibly-bought' | 'not-needed';
}

/** Claims prolongations that wait for their rental's expiry to be read. Only one replica claims each. */
@Injectable()
export class EndReadClaims {
  constructor(
    private readonly dataSource: DataSource,
    private readonly config: AppConfig,
  ) {}

  async countPurchases(): Promise<number> {
    const { purchases } = await preparedRow<{ purchases: number }>(
      this.dataSource,
      `SELECT count(DISTINCT ${PURCHASE_REFERENCE_SQL}) AS purchases
         FROM (SELECT proxy_id FROM orders WHERE ${IN_QUEUE_SQL} AND ${isEndUnreadSql('$1')}) AS unread
         JOIN proxies ON proxies.id = unread.proxy_id`,
      [longestReadingSeconds(this.config)],
    );
    return purchases;
  }

  async lastListedCount(): Promise<number | null> {
    const [last] = await queryRows<{ listed: number }>(
      this.dataSource,
      'SELECT listed FROM completed_sweeps ORDER BY began_at DESC LIMIT 1',
    );
    return last?.listed ?? null;
  }

  /**
   * Claims orders whose rental ends will be read from one listing. Other replicas can claim them only when
   * the time limit for reading is over, even if this replica dies. The reading does not shorten their time in
   * the queue.
   */
  claim(what: 'a purchase' | 'everything'): Promise<EndToRead[]> {
    return preparedRows<EndToRead>(
      this.dataSource,
      `WITH unread AS MATERIALIZED (
         SELECT orders.id, user_id, proxy_id, ${YIELDS_TO_OTHERS_SQL} AS gives_way
           FROM orders WHERE ${IN_QUEUE_SQL} AND ${isEndUnreadSql('$1')}
       ),
       served AS MATERIALIZED (
         SELECT user_id,
                greatest(${lastServedAtSql('waiting.user_id')},
                         (SELECT max(end_read_at) FROM orders
                           WHERE orders.user_id = waiting.user_id AND ${IN_QUEUE_SQL})) AS served_at
           FROM (SELECT DISTINCT user_id FROM unread) AS waiting
       ),
       listed AS MATERIALIZED (
         SELECT unread.id, gives_way, served_at, provider_proxy_id, ${PURCHASE_REFERENCE_SQL} AS reference
           FROM unread JOIN served USING (user_id) JOIN proxies ON proxies.id = unread.proxy_id
       ),
       head AS (
         SELECT reference FROM listed ORDER BY gives_way, served_at NULLS FIRST, id LIMIT 1
       ),
       claimed AS (
         UPDATE orders
            SET end_read_at = clock_timestamp(), date_end_before = NULL,
                queued_until = greatest(queued_until, now() + make_interval(secs => $1 + $3)),
                next_search_at = greatest(next_search_at, now() + make_interval(secs => $1 + $3))
          WHERE id = ANY (ARRAY(SELECT id FROM listed WHERE $2 OR reference = (SELECT reference FROM head)))
            AND ${IN_QUEUE_SQL} AND ${isEndUnreadSql('$1')}
         RETURNING id, end_read_at
       )
       SELECT id AS "orderId", reference, provider_proxy_id AS "providerProxyId",
         end_read_at::text AS "readAt"
         FROM claimed JOIN listed USING (id) ORDER BY id`,
      [longestReadingSeconds(this.config), what === 'everything', longestQueueSeconds(this.config)],
    );
  }

  /**
   * Stores each rental's expiry before its prolongation, so that a later comparison shows whether the
   * prolongation succeeded. Listings lag, so an expiry earlier than the known one is ignored. Otherwise, the
   * previous prolongation would later be mistaken for this one.
   */
  store(ends: readonly (EndToRead & { readonly dateEnd: Date })[]): Promise<StoredEnd[]> {
    return preparedRows<StoredEnd>(
      this.dataSource,
      `WITH read AS MATERIALIZED (
         SELECT orders.id, proxies.date_end AS known, greatest(ends.date_end, proxies.date_end) AS listed,
                late.submitted_at AS sent_at,
                -- A later expiry than the known one may come from an earlier order that was canceled without
                -- proof. This order may then already be fulfilled. It is not sent, and reconciliation
                -- decides.
                CASE WHEN NOT is_prolonged(proxies.date_end, ends.date_end) THEN 'queued'
                     WHEN late.submitted_at IS NOT NULL THEN 'possibly-bought'
                     WHEN ${IS_RENEWAL_SQL} THEN 'not-needed'
                     ELSE 'queued' END AS outcome,
                CASE WHEN ${IS_RENEWAL_SQL} THEN orders.queued_until
                     ELSE now() + make_interval(secs => $4) END AS given_up
           FROM unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[])
                  AS ends (order_id, read_at, date_end)
           JOIN orders ON orders.id = ends.order_id
           JOIN proxies ON proxies.id = orders.proxy_id
           LEFT JOIN LATERAL (
             SELECT submitted_at FROM orders canceled
              WHERE canceled.proxy_id = proxies.id AND canceled.period = orders.period
                AND failure IN ${sqlList(CANCELED_WITHOUT_PROOF)}
                AND NOT is_prolonged(canceled.date_end_before, proxies.date_end)
              ORDER BY canceled.id DESC LIMIT 1) AS late ON true
          WHERE orders.state = 'reserved' AND end_read_at = ends.read_at AND orders.date_end_before IS NULL
       ),
       stored AS (
         UPDATE orders
            SET date_end_before = listed, queued_until = given_up, next_search_at = given_up
           FROM read
          WHERE orders.id = read.id AND state = 'reserved' AND outcome = 'queued'
       ),
       sent AS (
         UPDATE orders
            SET state = 'submitting', batch_id = orders.id, submitted_at = sent_at, date_end_before = known,
                queued_until = NULL, sent_before = now(), next_search_at = now()
           FROM read
          WHERE orders.id = read.id AND state = 'reserved' AND outcome = 'possibly-bought'
       )
       SELECT id AS "orderId", outcome FROM read`,
      [
        ends.map(({ orderId }) => orderId),
        ends.map(({ readAt }) => readAt),
        ends.map(({ dateEnd }) => dateEnd),
        longestQueueSeconds(this.config),
      ],
    );
  }
}
