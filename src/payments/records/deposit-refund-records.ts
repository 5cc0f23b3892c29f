import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { preparedRows, queryRows, violatedConstraint } from '../../database';
import { RetryClockCorrection } from '../../jobs';
import {
  KEY_MEMORY_SQL,
  type NewRefund,
  type ProviderRefund,
  RETRY_WITHIN_SQL,
} from '../provider/payment-provider';
import { SHOWN_STATE_SQL } from './deposit-records';
import { roublesOf } from './payment-records';

export interface DueDepositRefund extends NewRefund {
  /** Whether an earlier call may have made the refund at the provider. */
  readonly mayBeMade: boolean;
  readonly isSendable: boolean;
  /** Whether the last call is so old (database's clock) that its refund would appear in a listing. */
  readonly isListedByNow: boolean;
  /** Time of the last call by the provider's clock; null before the first call. */
  readonly sentAt: Date | null;
  /** Changes with each claim, so a different value means that the refund has been claimed again. */
  readonly nextTry: string;
  /** Body of the call; null before the first call. */
  readonly request: string | null;
}

/** The pause between attempts is a quarter of the time since the first call, within these bounds. */
const SHORTEST_PAUSE_SECONDS = 5;
const LONGEST_PAUSE_SECONDS = 600;
/** Maximum duration of a call, unless the process is suspended. */
const CALL_SECONDS = 20;
/** Becomes false before the provider forgets the key: a later retry would make a second refund. */
const IS_SENDABLE = `refund.end_action_id IS NULL
  AND (refund.first_sent_at IS NULL OR refund.first_sent_at > now() - ${RETRY_WITHIN_SQL})`;

@Injectable()
export class DepositRefundRecords {
  constructor(
    private readonly dataSource: DataSource,
    clockCorrection: RetryClockCorrection,
  ) {
    clockCorrection.add({
      table: 'deposit_refunds',
      column: 'next_try_at',
      where: 'true',
      longestPause: `interval '${LONGEST_PAUSE_SECONDS} seconds'`,
    });
  }

  claimDue(provider: string, capacity: number): Promise<DueDepositRefund[]> {
    return preparedRows<DueDepositRefund>(
      this.dataSource,
      `WITH due AS (
         SELECT id FROM deposit_refunds
          WHERE next_try_at <= now() AND state = 'held' AND provider = $1
          ORDER BY next_try_at LIMIT $2 FOR UPDATE SKIP LOCKED
       )
       UPDATE deposit_refunds AS refund
          SET next_try_at = now() + make_interval(secs => least(${LONGEST_PAUSE_SECONDS}, greatest(
                CASE WHEN refund.may_be_made THEN ${SHORTEST_PAUSE_SECONDS} ELSE ${CALL_SECONDS} END,
                extract(epoch FROM now() - refund.first_sent_at) / 4)))
         FROM due JOIN deposit_refunds USING (id) JOIN deposits ON deposits.id = deposit_refunds.deposit_id
        WHERE refund.id = due.id
       RETURNING refund.id AS "refundId", refund.refund_key AS "refundKey", refund.amount,
                 refund.next_try_at::text AS "nextTry", refund.request,
                 deposits.amount AS "paidAmount", deposits.request AS "paymentRequest",
                 deposits.provider_payment_id AS "paymentId", refund.may_be_made AS "mayBeMade",
                 ${IS_SENDABLE} AS "isSendable",
                 coalesce(refund.sent_at < now() - ${KEY_MEMORY_SQL}, true) AS "isListedByNow",
                 refund.sent_at AS "sentAt"`,
      [provider, capacity],
    );
  }

  /**
   * Stores the request before it is sent. Checks, by both the database's and the provider's clock, that the
   * provider still remembers the idempotency key.
   * @param at the provider's time; null if unknown
   * @returns the request of the first attempt, which retries must send unchanged; null if the refund must not
   * be sent, or has since been claimed again
   */
  async recordSending(
    { refundKey, nextTry }: DueDepositRefund,
    request: string,
    at: Date | null,
  ): Promise<string | null> {
    const [sent] = await queryRows<{ request: string }>(
      this.dataSource,
      `UPDATE deposit_refunds AS refund
          SET request = coalesce(request, $3), may_be_made = true,
              first_sent_at = coalesce(first_sent_at, $4, now()), sent_at = coalesce($4, now())
        WHERE refund_key = $1 AND state = 'held' AND next_try_at = $2::text::timestamptz AND ${IS_SENDABLE}
          AND (first_sent_at IS NULL OR first_sent_at > $4::timestamptz - ${RETRY_WITHIN_SQL})
       RETURNING request`,
      [refundKey, nextTry, request, at],
    );
    return sent?.request ?? null;
  }

  /** @param isUnmade true if it is certain that no call so far has made the refund */
  async recordRefusal(
    { refundKey, nextTry }: DueDepositRefund,
    reason: string | null,
    isUnmade: boolean,
  ): Promise<void> {
    await queryRows(
      this.dataSource,
      `UPDATE deposit_refunds SET may_be_made = may_be_made AND NOT $4,
                                  provider_reason = coalesce($3, provider_reason)
        WHERE refund_key = $1 AND state = 'held' AND next_try_at = $2::text::timestamptz`,
      [refundKey, nextTry, reason, isUnmade],
    );
  }

  /** Captures the held money, or releases it if the refund is already recorded as one made elsewhere. */
  async succeed(provider: string, refund: ProviderRefund & { readonly refundKey: string }): Promise<void> {
    try {
      await this.capture(provider, refund);
    } catch (error) {
      if (violatedConstraint(error) !== 'deposit_refunds_provider_provider_refund_id_key') throw error;
      await this.fail(refund.refundKey, 'listed without its key');
    }
  }

  private async capture(provider: string, { id, refundKey }: ProviderRefund): Promise<void> {
    await queryRows(
      this.dataSource,
      `WITH refund AS (
         UPDATE deposit_refunds SET state = 'succeeded', provider_refund_id = $2, closed_at = now(),
                                    next_try_at = NULL, request = NULL, provider_reason = NULL
          WHERE refund_key = $1 AND provider = $3 AND state = 'held'
         RETURNING id, deposit_id, user_id, amount, reason
       ),
       deposit AS (
         UPDATE deposits SET refunded = deposits.refunded + refund.amount FROM refund
          WHERE deposits.id = refund.deposit_id
         RETURNING deposits.id, deposits.user_id, refund.id AS refund_id, refund.amount AS went_back,
                   refund.reason, ${SHOWN_STATE_SQL} AS state
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

  /**
   * Marks the refund as failed and releases the held money.
   * @param nextTry the value set by the caller's claim. If it no longer matches, the refund was claimed again
   * and may have been resent, so nothing changes. Omit it if the provider itself reported the failure
   * @returns whether the refund was still held
   */
  async fail(refundKey: string, reason: string | null, nextTry?: string): Promise<boolean> {
    const failed = await queryRows(
      this.dataSource,
      `WITH refund AS (
         UPDATE deposit_refunds SET state = 'failed', closed_at = now(), next_try_at = NULL,
                                    request = NULL, provider_reason = $2
          WHERE refund_key = $1 AND state = 'held'
            AND ($3::text IS NULL OR next_try_at = $3::text::timestamptz)
         RETURNING id, user_id, amount, reason
       )
       INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta, refund_id, reason)
       SELECT user_id, 'release', amount, -amount, id, reason FROM refund RETURNING id`,
      [refundKey, reason, nextTry ?? null],
    );
    return failed.length > 0;
  }

  /**
   * Stores a refund that was made outside this service, for staff to resolve. If its amount is in another
   * currency or includes a fraction of a kopeck, the rouble amount is computed pro rata: the deposit's amount
   * times the refunded share of the payment.
   * @returns whether the refund is new
   */
  async find(provider: string, { id, paymentId, amount }: ProviderRefund): Promise<boolean> {
    const found = await queryRows(
      this.dataSource,
      `INSERT INTO deposit_refunds (deposit_id, user_id, amount, state, provider, provider_refund_id, reason)
       SELECT deposits.id, deposits.user_id,
              greatest(0.01, coalesce($4, deposits.amount * $5::numeric / nullif(payments.paid_amount, 0))),
              'found', $1, $2,
              'made at the provider' || CASE WHEN $4::numeric IS NULL THEN ': ' || $5 || ' ' || $6 ELSE '' END
         FROM deposits LEFT JOIN payments ON payments.deposit_id = deposits.id
        WHERE deposits.provider = $1 AND provider_payment_id = $3 AND deposits.state = 'succeeded'
       ON CONFLICT DO NOTHING RETURNING id`,
      [provider, id, paymentId, roublesOf(amount)?.toString() ?? null, amount.value, amount.currency],
    );
    return found.length > 0;
  }
}
