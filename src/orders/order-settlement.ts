import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager } from 'typeorm';
import type { Money } from '../common';
import { preparedRows, type Queryable, queryRows } from '../database';
import { POSTED_ENTRY, type PostedEntry } from '../ledger';
import type { ProviderProxy } from '../provider';
import { ORDER_DAY } from './order-day';

/** What a group of purchases brought. */
export interface PurchaseOutcome {
  readonly proxies: readonly ProviderProxy[];
  readonly providerOrderId: string | null;
  /** What the provider took for all of them, roubles; null when its answer was lost: the quote stands in. */
  readonly charge: string | null;
}

/** What a group of prolongations brought. */
export interface ProlongationOutcome {
  readonly ends: readonly { readonly orderId: number; readonly dateEnd: Date }[];
  readonly providerOrderId: string | null;
  readonly charge: string | null;
}

/**
 * Takes what was released off the days of the tokens that placed the orders, as far as those have a limit. After the entries, so that
 * the accounts are locked first.
 */
const UNCOUNT_SPENDING = `
       uncounted AS (
         UPDATE token_spending AS counter SET spent = counter.spent - given_back.amount
           FROM (SELECT token_id, ${ORDER_DAY} AS day, sum(released) AS amount
                   FROM closed JOIN entries ON entries.order_id = closed.id
                  WHERE token_id IS NOT NULL AND entries.kind = 'release' GROUP BY 1, 2) AS given_back
          WHERE (counter.token_id, counter.day) = (given_back.token_id, given_back.day)
       )`;

/** States in which the provider may have been asked. */
const POSSIBLY_BOUGHT = `('submitting', 'confirming', 'review')`;

/**
 * The ends of orders. Each is one statement, committed by itself: what was delivered, the orders' states and the entries in the ledger
 * change together or not at all, and a second time changes nothing. Entries are made in the order of users, so that two groups never wait
 * for each other in a circle. With a transaction's manager they are part of it.
 */
@Injectable()
export class OrderSettlement {
  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  /** Gives the money back for those that are in one of these states. Says which. */
  async refund(
    orderIds: readonly number[],
    failure: string,
    from: readonly ('reserved' | 'submitting' | 'confirming' | 'review')[],
    queryable: Queryable = this.dataSource,
  ): Promise<number[]> {
    const released = await preparedRows<{ id: number }>(
      queryable,
      `WITH closed AS (
         UPDATE orders SET state = 'refunded', released = held, failure = $2, closed_at = now()
          WHERE id IN (SELECT id FROM orders WHERE id = ANY ($1) AND state = ANY ($3) ORDER BY id FOR UPDATE)
         RETURNING id, user_id, held, released, token_id, created_at
       ),
       entries AS (
         INSERT INTO ledger_entries (user_id, kind, order_id, available_delta, held_delta)
         SELECT user_id, 'release', id, held, -held FROM closed ORDER BY user_id, id
         RETURNING order_id, kind
       ),${UNCOUNT_SPENDING}
       SELECT order_id AS id FROM entries`,
      [[...orderIds], failure, [...from]],
    );
    return released.map(({ id }) => id);
  }

  /**
   * Hands out what was bought to the orders of a group, in order of arrival, captures its price and releases the rest. What an order
   * of the group has already is left out.
   *
   * @param only the orders of the group that get something; left out: all that are open
   * @throws QueryFailedError by `proxies_provider_proxy_id_key` when a proxy belongs to an order of another group
   */
  async deliver(
    groupId: number,
    { proxies, providerOrderId, charge }: PurchaseOutcome,
    { only, queryable = this.dataSource }: { only?: readonly number[]; queryable?: Queryable } = {},
  ): Promise<number[]> {
    const closed = await preparedRows<{ id: number }>(
      queryable,
      `WITH member AS MATERIALIZED (
         SELECT id, count, sum(count) OVER (ORDER BY id) AS last
           FROM (SELECT id, count FROM orders
                  WHERE group_id = $1 AND state IN ${POSSIBLY_BOUGHT} AND id = ANY (coalesce($4::bigint[], ARRAY[id]))
                  ORDER BY id FOR UPDATE) AS open
       ),
       brought AS (
         SELECT row_number() OVER (ORDER BY place) AS place, provider_proxy_id, host, port, login, password, date_start, date_end
           FROM unnest($5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::timestamptz[], $11::timestamptz[])
             WITH ORDINALITY AS given (provider_proxy_id, host, port, login, password, date_start, date_end, place)
          WHERE provider_proxy_id <> ALL (ARRAY(
                  SELECT provider_proxy_id FROM proxies WHERE order_id = ANY (ARRAY(SELECT id FROM orders WHERE group_id = $1))))
          ORDER BY place
       ),
       handed AS MATERIALIZED (
         SELECT nextval((SELECT pg_get_serial_sequence('proxies', 'id')::regclass)) AS id, member.id AS order_id, brought.*
           FROM brought JOIN member ON place > last - count AND place <= last
       ),
       total AS MATERIALIZED (SELECT count(*) AS size FROM handed),
       share AS (
         SELECT member.id AS order_id, count(handed.id) AS size,
                -- By the running total, so that the shares add up to the whole.
                round($3::numeric * least(last, total.size) / nullif(total.size, 0), 4)
                  - round($3::numeric * least(last - member.count, total.size) / nullif(total.size, 0), 4) AS charge
           FROM member CROSS JOIN total
           LEFT JOIN handed ON handed.order_id = member.id
          GROUP BY member.id, member.count, last, total.size
       ),
       closed AS (
         UPDATE orders
            SET state = CASE size WHEN count THEN 'completed' WHEN 0 THEN 'refunded' ELSE 'partial' END,
                captured = unit_price * size, released = held - unit_price * size, closed_at = now(),
                failure = CASE size WHEN 0 THEN 'out-of-stock' ELSE failure END,
                provider_order_id = $2,
                provider_charge = coalesce(share.charge, round(provider_price * size / count, 4)),
                -- For who asks again.
                answer = CASE WHEN idempotency_key IS NOT NULL THEN
                  (SELECT jsonb_agg(to_jsonb(handed) - 'provider_proxy_id' - 'order_id' - 'place' ORDER BY place)
                     FROM handed WHERE handed.order_id = orders.id)
                END
           FROM share
          WHERE orders.id = share.order_id
         RETURNING orders.*
       ),
       stored AS (
         INSERT INTO proxies (id, user_id, order_id, provider, provider_proxy_id, host, port, login, password,
                              proxy_type, country, version, date_start, date_end)
         SELECT handed.id, closed.user_id, closed.id, closed.provider, provider_proxy_id, host, port, login, password,
                closed.proxy_type, closed.country, closed.version, date_start, date_end
           FROM handed JOIN closed ON closed.id = handed.order_id
       ),
       entries AS (
         INSERT INTO ledger_entries (user_id, kind, order_id, available_delta, held_delta)
         SELECT user_id, kind, id, available_delta, held_delta
           FROM (SELECT user_id, 'capture' AS kind, id, 0 AS available_delta, -captured AS held_delta FROM closed WHERE captured > 0
                 UNION ALL
                 SELECT user_id, 'release', id, released, -released FROM closed WHERE released > 0) AS entry
          ORDER BY user_id, id, kind
         RETURNING order_id, kind
       ),${UNCOUNT_SPENDING}
       SELECT id FROM closed ORDER BY id`,
      [
        groupId,
        providerOrderId,
        charge,
        only ?? null,
        // As arrays they are read in half the time of JSON.
        proxies.map(({ id }) => id),
        proxies.map(({ host }) => host),
        proxies.map(({ port }) => port),
        proxies.map(({ login }) => login),
        proxies.map(({ password }) => password),
        proxies.map(({ dateStart }) => dateStart?.toISOString()),
        proxies.map(({ dateEnd }) => dateEnd?.toISOString()),
      ],
    );
    return closed.map(({ id }) => id);
  }

  /** Stores the new ends of prolonged proxies and captures the prices. */
  async deliverProlongations(
    { ends, providerOrderId, charge }: ProlongationOutcome,
    queryable: Queryable = this.dataSource,
  ): Promise<number[]> {
    const closed = await preparedRows<{ id: number }>(
      queryable,
      `WITH member AS MATERIALIZED (
         SELECT id, ends.date_end, provider_price,
                sum(provider_price) OVER (ORDER BY id) AS upto, sum(provider_price) OVER () AS total
           FROM (SELECT id, provider_price FROM orders
                  WHERE id IN (SELECT order_id FROM jsonb_to_recordset($1::jsonb) AS given (order_id bigint))
                    AND state IN ${POSSIBLY_BOUGHT} ORDER BY id FOR UPDATE) AS open
           JOIN jsonb_to_recordset($1::jsonb) AS ends (order_id bigint, date_end timestamptz) ON ends.order_id = open.id
       ),
       closed AS (
         UPDATE orders
            SET state = 'completed', captured = held, closed_at = now(), provider_order_id = $2,
                provider_charge = coalesce(
                  round($3::numeric * upto / nullif(total, 0), 4)
                    - round($3::numeric * (upto - member.provider_price) / nullif(total, 0), 4),
                  member.provider_price),
                answer = CASE WHEN idempotency_key IS NOT NULL THEN
                  (SELECT jsonb_build_array(jsonb_build_object('id', id, 'host', host, 'port', port, 'login', login,
                            'password', password, 'date_start', date_start, 'date_end', member.date_end))
                     FROM proxies WHERE proxies.id = orders.proxy_id)
                END
           FROM member
          WHERE orders.id = member.id
         RETURNING orders.*, member.date_end
       ),
       prolonged AS (
         -- The provider lists it: it was not withdrawn, or is back.
         UPDATE proxies SET date_end = closed.date_end, active = closed.date_end > now(), absences = 0, withdrawn_at = NULL
           FROM closed WHERE proxies.id = closed.proxy_id
       ),
       entries AS (
         INSERT INTO ledger_entries (user_id, kind, order_id, available_delta, held_delta)
         SELECT user_id, 'capture', id, 0, -captured FROM closed ORDER BY user_id, id
       )
       SELECT id FROM closed ORDER BY id`,
      [
        JSON.stringify(ends.map(({ orderId, dateEnd }) => ({ order_id: orderId, date_end: dateEnd }))),
        providerOrderId,
        charge,
      ],
    );
    return closed.map(({ id }) => id);
  }

  /**
   * Gives back of what an order has paid.
   *
   * @param amount roubles
   * @throws QueryFailedError by `orders_refunded_check` when it is more than is left of what was paid
   */
  async payBack(
    orderId: number,
    amount: Money,
    { reason, reference, actionId }: { reason: string; reference: string | null; actionId: number },
    manager: EntityManager,
  ): Promise<PostedEntry> {
    const [entry] = await queryRows<PostedEntry>(
      manager,
      `WITH paid AS (
         UPDATE orders SET refunded = refunded + $2::numeric WHERE id = $1 RETURNING id, user_id
       )
       INSERT INTO ledger_entries AS entry (user_id, kind, order_id, available_delta, held_delta, reason, reference, action_id)
       SELECT user_id, 'refund', id, $2::numeric, 0, $3, $4, $5 FROM paid
       RETURNING ${POSTED_ENTRY}`,
      [orderId, amount.toString(), reason, reference, actionId],
    );
    if (!entry) throw new Error('a refund was not returned');
    return entry;
  }
}
