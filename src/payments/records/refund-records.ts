import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { queryRow, queryRows } from '../../database';
import type { NewRefund, ProviderRefund } from '../provider/payment-provider';
import { SHOWN_STATE } from './deposit-records';
import type { DepositRefundOut } from './deposit.dto';

export const REFUND_COLUMNS = `id, deposit_id, user_id, amount, state, reason, created_at, closed_at`;

/** A refund to request from the provider, or to look up there. */
export interface DueRefund extends NewRefund {
  /** Whether its only call was made. */
  readonly isRequested: boolean;
  /** Since its request; 0 before. */
  readonly ageSeconds: number;
}

/** Pauses between checks grow as those of deposits. */
const SHORTEST_PAUSE_SECONDS = 5;
const LONGEST_PAUSE_SECONDS = 600;

/** The statements of refunds: the money is held first, and each step is guarded by the state before. */
@Injectable()
export class RefundRecords {
  constructor(private readonly dataSource: DataSource) {}

  /**
   * Stores a refund and holds its money, in the transaction of staff's action.
   *
   * @throws the violated check of the account if the balance is lower
   */
  hold(
    deposit: { readonly id: number; readonly user_id: number; readonly provider: string },
    amount: string,
    origin: { readonly actionId: number; readonly reason: string },
    manager: EntityManager,
  ): Promise<DepositRefundOut> {
    return queryRow<DepositRefundOut>(
      manager,
      `WITH refund AS (
         INSERT INTO deposit_refunds (deposit_id, user_id, amount, state, provider, reason, action_id,
                                      next_check_at)
         VALUES ($1, $2, $3, 'held', $4, $5, $6, now()) RETURNING ${REFUND_COLUMNS}
       ),
       entry AS (
         INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta, refund_id, reason, action_id)
         SELECT user_id, 'hold', -amount, amount, id, $5, $6 FROM refund
       )
       SELECT * FROM refund`,
      [deposit.id, deposit.user_id, amount, deposit.provider, origin.reason, origin.actionId],
    );
  }

  /** Claims due refunds, to request them or to look for them. The claim records the request. */
  claimDue(provider: string, room: number): Promise<DueRefund[]> {
    return queryRows<DueRefund>(
      this.dataSource,
      `WITH due AS (
         SELECT id, requested_at FROM deposit_refunds
          WHERE next_check_at <= now() AND state = 'held' AND provider = $1
          ORDER BY next_check_at LIMIT $2 FOR UPDATE SKIP LOCKED
       )
       UPDATE deposit_refunds AS refund
          SET requested_at = coalesce(refund.requested_at, now()),
              next_check_at = now() + make_interval(secs => least(${LONGEST_PAUSE_SECONDS},
                greatest(${SHORTEST_PAUSE_SECONDS}, extract(epoch FROM now() - due.requested_at) / 4)))
         FROM due JOIN deposit_refunds USING (id) JOIN deposits ON deposits.id = deposit_refunds.deposit_id
        WHERE refund.id = due.id
       RETURNING refund.id AS "refundId", refund.refund_key AS "refundKey", refund.amount,
                 deposits.provider_payment_id AS "paymentId", due.requested_at IS NOT NULL AS "isRequested",
                 coalesce(extract(epoch FROM now() - due.requested_at), 0)::double precision AS "ageSeconds"`,
      [provider, room],
    );
  }

  /** Returns a refund for which the provider was certainly not called, to be requested later. */
  async giveBack(refundKey: string): Promise<void> {
    await queryRows(
      this.dataSource,
      `UPDATE deposit_refunds SET requested_at = NULL WHERE refund_key = $1 AND state = 'held'`,
      [refundKey],
    );
  }

  /** Captures the held money: the provider lists the refund as succeeded. */
  async succeed(provider: string, { id, refundKey }: ProviderRefund): Promise<void> {
    await queryRows(
      this.dataSource,
      `WITH refund AS (
         UPDATE deposit_refunds SET state = 'succeeded', provider_refund_id = $2, closed_at = now(),
                                    next_check_at = NULL
          WHERE refund_key = $1 AND provider = $3 AND state = 'held'
         RETURNING id, deposit_id, user_id, amount, reason
       ),
       deposit AS (
         UPDATE deposits SET refunded = deposits.refunded + refund.amount FROM refund
          WHERE deposits.id = refund.deposit_id
         RETURNING deposits.id, deposits.user_id, refund.id AS refund_id, refund.amount AS went_back,
                   refund.reason, ${SHOWN_STATE} AS state
       ),
       entries AS (
         INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta, refund_id, reason)
         SELECT user_id, kind, available * went_back, held * went_back, refund_id, reason
           FROM deposit, (VALUES (1, 'release', 1, -1), (2, 'adjustment', -1, 0))
                           AS step (n, kind, available, held)
          ORDER BY n
       )
       SELECT id, log_event(user_id, 'deposit.refunded', jsonb_build_object(
                'deposit_id', id, 'state', state, 'amount', went_back::text)) FROM deposit`,
      [refundKey, id, provider],
    );
  }

  /** Releases the held money: the refund certainly failed. */
  async fail(refundKey: string): Promise<void> {
    await queryRows(
      this.dataSource,
      `WITH refund AS (
         UPDATE deposit_refunds SET state = 'failed', closed_at = now(), next_check_at = NULL
          WHERE refund_key = $1 AND state = 'held'
         RETURNING id, user_id, amount, reason
       )
       INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta, refund_id, reason)
       SELECT user_id, 'release', amount, -amount, id, reason FROM refund`,
      [refundKey],
    );
  }

  /**
   * Stores a refund that was made at the provider without this service, once. Only staff may reduce a
   * balance, so they decide.
   *
   * @returns whether it is new
   */
  async find(provider: string, { id, paymentId, amount }: ProviderRefund): Promise<boolean> {
    const found = await queryRows(
      this.dataSource,
      `INSERT INTO deposit_refunds (deposit_id, user_id, amount, state, provider, provider_refund_id, reason)
       SELECT id, user_id, $4, 'found', $1, $2, 'made at the provider'
         FROM deposits WHERE provider = $1 AND provider_payment_id = $3 AND state = 'succeeded'
       ON CONFLICT DO NOTHING RETURNING id`,
      [provider, id, paymentId, amount.value],
    );
    return found.length > 0;
  }

  /**
   * Decides a found refund: debits the balance, or leaves the cost to the shop.
   *
   * @throws the violated check of the account if the balance is lower
   */
  async decideFound(
    refund: DepositRefundOut,
    isDebit: boolean,
    origin: { readonly actionId: number; readonly reason: string },
    manager: EntityManager,
  ): Promise<void> {
    await queryRows(
      manager,
      `WITH refund AS (
         UPDATE deposit_refunds SET state = $2, closed_at = now(), action_id = $3
          WHERE id = $1 AND state = 'found' RETURNING id, deposit_id, user_id, amount
       ),
       deposit AS (
         UPDATE deposits SET refunded = deposits.refunded + refund.amount FROM refund
          WHERE deposits.id = refund.deposit_id
         RETURNING deposits.id, deposits.user_id, refund.id AS refund_id, refund.amount AS went_back,
                   ${SHOWN_STATE} AS state
       ),
       entry AS (
         INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta, refund_id, reason, action_id)
         SELECT user_id, 'adjustment', -went_back, 0, refund_id, $4, $3 FROM deposit WHERE $2 = 'succeeded'
       )
       SELECT log_event(user_id, 'deposit.refunded', jsonb_build_object(
                'deposit_id', id, 'state', state, 'amount', went_back::text)) FROM deposit`,
      [refund.id, isDebit ? 'succeeded' : 'written-off', origin.actionId, origin.reason],
    );
  }

  async get(id: number, queryable: EntityManager | DataSource = this.dataSource, lock = '') {
    const [refund] = await queryRows<DepositRefundOut>(
      queryable,
      `SELECT ${REFUND_COLUMNS} FROM deposit_refunds WHERE id = $1 ${lock}`,
      [id],
    );
    return refund ?? null;
  }
}

export const REFUNDABLE_COLUMNS = `id, user_id, provider, ${SHOWN_STATE} AS state, amount, refunded,
  greatest(0, amount - refunded - coalesce((SELECT sum(amount) FROM deposit_refunds
    WHERE deposit_id = deposits.id AND state IN ('held', 'found')), 0)) AS left`;
