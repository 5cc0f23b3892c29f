import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { Money } from '../../common';
import { queryRow, queryRows } from '../../database';
import { postEntriesSql } from '../../ledger';
import { REFERENCE_PREFIX_SQL } from '../order-queries';
import type { OrderKind } from '../order-states';

/** An order lost in a database restore, reconstructed from information from the provider and staff. */
export interface ForgottenOrder {
  /** `null` for a new id. */
  readonly id: number | null;
  /** `null` if this order is the leader. */
  readonly batchId: number | null;
  readonly userId: number;
  readonly kind: OrderKind;
  /** `null` to derive the reference from the id. */
  readonly orderReference: string | null;
  readonly country: string;
  readonly version: string;
  readonly period: number;
  readonly count: number;
  /** A retry for at most this many proxies is treated as a retry of this order. */
  readonly foundCount: number;
  readonly proxyType: string;
  readonly proxyId: number | null;
  readonly dateEndBefore: Date | null;
  readonly unitPrice: Money;
  readonly unitCost: Money;
  readonly provider: string;
}

export interface WrittenOffRequest {
  readonly userId: number;
  /** Longest possible rental period, in days. */
  readonly days: number;
  readonly orderReference?: string;
  readonly country?: string | null;
  readonly version?: string | null;
  readonly proxyId?: number;
}

@Injectable()
export class ForgottenOrderRecords {
  /** @throws QueryFailedError (`accounts_available_check`) if the user's balance is below the price */
  async putBackForgotten(order: ForgottenOrder, manager: EntityManager): Promise<number> {
    const placed = await queryRow<{ id: number }>(
      manager,
      `WITH placed AS (
         INSERT INTO orders (id, batch_id, user_id, kind, state, order_reference, country, version, period,
                             count, proxy_type, proxy_id, unit_price, hold_amount, provider, provider_price,
                             sent_before, next_search_at, submitted_at, date_end_before, key_forgotten,
                             found_count)
         SELECT named.id, coalesce($2, named.id), $3, $4, 'submitting',
                coalesce($5, order_reference_of(${REFERENCE_PREFIX_SQL}, $3::bigint, named.id)), $6, $7,
                $8::integer, $9::integer, $10, $11::bigint, $12::numeric, $12::numeric * $9::integer, $13,
                $14::numeric * $9::integer, now(), now(), now(), $15::timestamptz, true,
                $16::integer
           FROM (SELECT coalesce($1, nextval(pg_get_serial_sequence('orders', 'id'))) AS id) AS named
         RETURNING id, user_id, hold_amount
       ),
       entries AS (
         ${postEntriesSql(
           `SELECT user_id, 'hold' AS kind, id AS order_id, -hold_amount AS available_delta,
                   hold_amount AS held_delta
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
        order.orderReference,
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
        order.foundCount,
      ],
    );
    // The order may have been written off. The account's lock keeps a concurrent retry from buying it again.
    const { orderReference } = order;
    await queryRows(manager, 'DELETE FROM written_off_requests WHERE order_reference = $1', [orderReference]);
    return placed.id;
  }

  /** Makes `take_forgotten_key.sql` refuse a retry. A simultaneous retry waits for the account's lock. */
  async writeOff(request: WrittenOffRequest, manager: EntityManager): Promise<void> {
    const { userId, days, orderReference = null, country = null, version = null, proxyId = null } = request;
    await queryRows(manager, 'SELECT FROM lock_accounts(ARRAY[$1::bigint])', [userId]);
    await queryRows(
      manager,
      `INSERT INTO written_off_requests (user_id, days, order_reference, country, version, proxy_id)
       SELECT $1::bigint, $2::integer, $3::text, $4, $5, $6::bigint
        WHERE NOT EXISTS (SELECT FROM orders WHERE order_reference = $3::text)
       ON CONFLICT (order_reference) DO NOTHING`,
      [userId, days, orderReference, country, version, proxyId],
    );
  }

  /** Has no effect if a retry's key has already been matched with the written-off order. */
  async withdrawWriteOff(orderReference: string, manager: EntityManager): Promise<void> {
    const untaken = 'order_reference = $1 AND idempotency_key IS NULL';
    await queryRows(manager, `DELETE FROM written_off_requests WHERE ${untaken}`, [orderReference]);
  }
}
