import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { preparedRows, type Queryable, sqlList } from '../../database';
import { postEntriesSql } from '../../ledger';
import { Metrics } from '../../metrics';
import type { ProviderProxy } from '../../provider';
import { countOutcomes, type DeliveredProxy, type OrderOutcome, OUTCOME_COLUMNS } from '../order-outcome';
import { statesBefore } from '../order-states';
import { callParameters, recordCallSql, type RecordedCall } from '../provider-call-log';
import { UNCOUNT_SPENDING } from './order-cancellations';

export interface DeliveredPurchases {
  readonly proxies: readonly ProviderProxy[];
  /** Like `charge`, unknown if the provider's response was lost. */
  readonly providerOrderId?: string | null;
  /** Roubles for all proxies. If the charge is unknown, the quote is used. */
  readonly charge?: string | null;
}

/** `places` are positions in the delivery, from 1. */
type ClosedPurchase = Omit<OrderOutcome, 'deliveredProxies'> & {
  readonly proxyIds: readonly number[] | null;
  readonly places: readonly number[] | null;
};

export interface DeliveredProlongations {
  readonly ends: readonly { readonly orderId: number; readonly dateEnd: Date }[];
  readonly providerOrderId?: string | null;
  readonly charge?: string | null;
}

type ClosedProlongation = Omit<OrderOutcome, 'deliveredProxies'> & { readonly proxy: DeliveredProxy };

const unixSeconds = (date: Date): number => date.getTime() / 1000;

@Injectable()
export class Settlement {
  constructor(
    private readonly dataSource: DataSource,
    private readonly metrics: Metrics,
  ) {}

  /**
   * Distributes a purchase's proxies among its batch's orders: first each user's first order, in order of
   * arrival, then each user's second, and so on. Proxies that the batch has already received are skipped.
   * @param only members that receive something; if omitted, all open ones
   * @throws QueryFailedError (`proxies_provider_proxy_id_key`) if a proxy belongs to another batch's order
   */
  async deliverPurchases(
    batchId: number,
    { proxies, providerOrderId = null, charge = null }: DeliveredPurchases,
    {
      only,
      queryable = this.dataSource,
      call,
    }: { only?: readonly number[]; queryable?: Queryable; call?: RecordedCall | undefined } = {},
  ): Promise<OrderOutcome[]> {
    const closed = await preparedRows<ClosedPurchase>(
      queryable,
      `WITH member AS MATERIALIZED (
         SELECT id, user_id, count, has_key, sum(count) OVER (ORDER BY turn, id) AS last
           FROM (SELECT id, user_id, count, has_key,
                        row_number() OVER (PARTITION BY user_id ORDER BY id) AS turn
                   FROM (SELECT id, user_id, count, idempotency_key IS NOT NULL OR key_forgotten AS has_key
                           FROM orders
                          WHERE batch_id = $1 AND state IN ${sqlList(statesBefore('completed'))}
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
                   WHERE order_id = ANY (ARRAY(SELECT id FROM orders WHERE batch_id = $1))))
          ORDER BY place
       ),
       -- Lock accounts before proxies get their ids, so that a user's proxies become visible in id order, and
       -- paging by cursor misses none.
       locked AS MATERIALIZED (SELECT FROM lock_accounts(ARRAY(SELECT user_id FROM member))),
       delivered AS MATERIALIZED (
         SELECT nextval((SELECT pg_get_serial_sequence('proxies', 'id')::regclass)) AS id,
                member.id AS order_id, bought.*
           FROM bought JOIN member ON position > last - count AND position <= last
          WHERE (SELECT count(*) FROM locked) > 0
       ),
       total AS MATERIALIZED (SELECT count(*) AS size FROM delivered),
       share AS (
         SELECT member.id AS order_id, count(delivered.id) AS size,
                array_agg(delivered.id ORDER BY position) FILTER (WHERE position IS NOT NULL) AS proxy_ids,
                array_agg(place ORDER BY position) FILTER (WHERE position IS NOT NULL) AS places,
                -- Stored for idempotent replays.
                jsonb_agg(jsonb_build_object(
                  'id', delivered.id, 'host', host, 'port', port, 'login', login, 'password', password,
                  'date_start', date_start, 'date_end', date_end) ORDER BY position)
                  FILTER (WHERE has_key AND position IS NOT NULL) AS kept_proxies,
                -- Rounds running totals, so that the shares add up to the whole.
                round($3::numeric * least(last, total.size) / nullif(total.size, 0), 4)
                  - round($3::numeric * least(last - member.count, total.size) / nullif(total.size, 0), 4)
                  AS charge
           FROM member CROSS JOIN total
           LEFT JOIN delivered ON delivered.order_id = member.id
          GROUP BY member.id, member.count, last, total.size
       ),
       closed AS (
         UPDATE orders
            SET state = CASE size WHEN count THEN 'completed' WHEN 0 THEN 'canceled' ELSE 'partial' END,
                captured = unit_price * size, released = hold_amount - unit_price * size, closed_at = now(),
                failure = CASE size WHEN 0 THEN 'out-of-stock' ELSE failure END,
                provider_order_id = $2,
                provider_charge = coalesce(share.charge, round(provider_price * size / count, 4)),
                delivered_proxies = kept_proxies
           FROM share
          WHERE orders.id = share.order_id
         RETURNING orders.*, proxy_ids, places
       ),
       stored AS (
         INSERT INTO proxies (id, user_id, order_id, provider, provider_proxy_id, host, port, login, password,
                              proxy_type, country, version, period, date_start, date_end, reminded_hours,
                              label)
         SELECT delivered.id, closed.user_id, closed.id, closed.provider, provider_proxy_id, host, port,
                login, password, closed.proxy_type, closed.country, closed.version, closed.period, date_start,
                date_end, hours_left(date_end), closed.label
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
       ),${recordCallSql('$12', '$13')},${UNCOUNT_SPENDING}
       SELECT ${OUTCOME_COLUMNS}, proxy_ids AS "proxyIds", places FROM closed ORDER BY id`,
      [
        batchId,
        providerOrderId,
        charge,
        only ?? null,
        // PostgreSQL parses arrays twice as fast as JSON, and numbers three times as fast as dates.
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
    countOutcomes(this.metrics, closed);
    return closed.map(({ proxyIds, places, ...order }) => ({
      ...order,
      deliveredProxies: (proxyIds ?? []).flatMap((id, n) => {
        const proxy = proxies[(places?.[n] ?? 0) - 1];
        if (!proxy) return [];
        const { host, port, login, password, dateStart, dateEnd } = proxy;
        return [{ id, host, port, login, password, date_start: dateStart, date_end: dateEnd }];
      }),
    }));
  }

  /** A withdrawn proxy counts as listed again, unless it was refunded. */
  async deliverProlongations(
    { ends, providerOrderId = null, charge = null }: DeliveredProlongations,
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
            SET state = 'completed', captured = hold_amount, closed_at = now(), provider_order_id = $2,
                -- Rounds running totals, so that the shares add up to the whole.
                provider_charge = coalesce(
                  round($3::numeric * upto / nullif(total, 0), 4)
                    - round($3::numeric * (upto - member.provider_price) / nullif(total, 0), 4),
                  member.provider_price),
                -- Stored for idempotent replays.
                delivered_proxies = CASE WHEN idempotency_key IS NOT NULL OR key_forgotten THEN
                  (SELECT jsonb_build_array(jsonb_build_object(
                            'id', id, 'host', host, 'port', port, 'login', login, 'password', password,
                            'date_start', date_start, 'date_end', member.date_end, 'label', label))
                     FROM proxies WHERE proxies.id = orders.proxy_id)
                END
           FROM member
          WHERE orders.id = member.id
         RETURNING orders.*, member.date_end
       ),
       -- Lock proxies in the same order as label changes and the sweep do, to prevent deadlocks.
       locked AS MATERIALIZED (
         SELECT id FROM proxies WHERE id IN (SELECT proxy_id FROM closed) ORDER BY id FOR NO KEY UPDATE
       ),
       prolonged AS (
         UPDATE proxies
            SET date_end = closed.date_end, period = closed.period,
                active = refunded_at IS NULL AND (proxies.active OR closed.date_end > now()), absences = 0,
                withdrawn_at = CASE WHEN refunded_at IS NOT NULL THEN withdrawn_at END
           FROM closed WHERE proxies.id = closed.proxy_id AND proxies.id = ANY (ARRAY(SELECT id FROM locked))
         RETURNING proxies.id, host, port, login, password, date_start, proxies.date_end, proxies.label
       ),
       entries AS (
         ${postEntriesSql(
           `SELECT user_id, 'capture' AS kind, id AS order_id, 0 AS available_delta, -captured AS held_delta
              FROM closed`,
           'SELECT user_id FROM closed',
         )}
       ),${recordCallSql('$4', '$5')}
       SELECT ${OUTCOME_COLUMNS}, (SELECT to_jsonb(prolonged) FROM prolonged WHERE id = proxy_id) AS proxy
         FROM closed ORDER BY id`,
      [
        JSON.stringify(ends.map(({ orderId, dateEnd }) => ({ order_id: orderId, date_end: dateEnd }))),
        providerOrderId,
        charge,
        ...callParameters(call),
      ],
    );
    countOutcomes(this.metrics, closed);
    return closed.map(({ proxy, ...order }) => ({ ...order, deliveredProxies: [proxy] }));
  }
}
