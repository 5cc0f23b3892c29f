import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Money } from '../../common';
import { queryRows, refusedBy, violatedConstraint } from '../../database';
import { BalanceTooLarge, OVERFLOW } from '../../ledger';
import type { PaidAmount, ProviderPayment, ProviderRefund } from '../provider/payment-provider';
import { UnusableRowReporter } from '../provider/unusable-row-reporter';
import { endStatement } from './deposit-records';
import type { PaymentObstacle } from './payment.dto';

/** Prefix of `provider` for payments that the shop's other systems report. */
export const INTAKE_PREFIX = 'intake:';

export interface SettledPayment {
  readonly outcome: 'credited' | 'ended' | 'unmatched' | 'none';
  /** Deposit whose state changed. */
  readonly depositId?: number;
  readonly reason?: PaymentObstacle;
}

/** Constraints that crediting an already recorded payment would violate. */
const LEFT_TO_STAFF = ['payments_provider_payment_id_key', 'payments_deposit_id_key'];

const RECEIPTS = {
  deposit: ['deposits', 'provider_payment_id'],
  refund: ['deposit_refunds', 'provider_refund_id'],
} as const;

const NONE: SettledPayment = { outcome: 'none' };

/**
 * Returns SQL that adds the ledger entry for a payment stored by the CTE `credited (id, user_id, amount)`.
 * Constraints allow only one entry per payment, with the same user and amount as the payment.
 * @param origin SQL for the reason, the reference and the id of the staff action
 */
export const creditSql = (origin = 'NULL, NULL, NULL::bigint'): string => `
  INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta, payment_id, reason, reference,
                              action_id)
  SELECT user_id, 'topup', amount, 0, id, ${origin} FROM credited`;

/** Returns null for zero, for a fraction of a kopeck, or if the currency is not the rouble. */
export function roublesOf({ value, currency }: PaidAmount): Money | null {
  // The provider sends up to eight decimals.
  if (currency !== 'RUB' || !/^\d+(\.\d\d?0*)?$/.test(value)) return null;
  const amount = Money.parse(value);
  return amount.isPositive() ? amount : null;
}

@Injectable()
export class PaymentRecords {
  private readonly logger = new Logger('Payments');

  constructor(
    private readonly dataSource: DataSource,
    private readonly unusable: UnusableRowReporter,
  ) {}

  /** Ignores outdated states. An ended deposit changes only if it is paid after all. */
  async settle(provider: string, payment: ProviderPayment, areTestsGood: boolean): Promise<SettledPayment> {
    if (payment.state !== 'succeeded') {
      const known = await this.attach(provider, payment);
      if (payment.state === 'pending' || !known) return NONE;
      return this.end(provider, payment);
    }
    await this.attach(provider, payment);
    if (payment.isTest && !areTestsGood) return this.leaveToStaff(provider, payment, 'test-payment');
    if (payment.amount.currency !== 'RUB') return this.leaveToStaff(provider, payment, 'other-currency');
    const credited = await this.credit(provider, payment);
    if (typeof credited === 'number') return { outcome: 'credited', depositId: credited };
    const reason = credited ?? (await this.findObstacle(provider, payment));
    return reason === null ? NONE : this.leaveToStaff(provider, payment, reason);
  }

  /**
   * Stores the payment's id in its deposit. Recreates the deposit if it was lost in a database restore:
   * `mark` can be trusted, because only we know the shop's key.
   * @returns whether the payment has a deposit
   */
  private async attach(provider: string, { id, mark, ...payment }: ProviderPayment): Promise<boolean> {
    if (mark === null) return false;
    const attached = await queryRows(
      this.dataSource,
      `WITH known AS (SELECT id, provider_payment_id FROM deposits WHERE payment_key = $1 AND provider = $2),
            attached AS (
              UPDATE deposits SET provider_payment_id = $3, payment_url = coalesce(payment_url, $4)
               WHERE id IN (SELECT id FROM known WHERE provider_payment_id IS NULL)
            )
       SELECT FROM known`,
      [mark.paymentKey, provider, id, payment.paymentUrl],
    );
    if (attached.length > 0) return true;
    const roubles = roublesOf(payment.amount);
    if (roubles === null) return false;
    const found = await queryRows(
      this.dataSource,
      `INSERT INTO deposits (user_id, provider, amount, payment_key, provider_payment_id, payment_url,
                             idempotency_key, created_at, expires_at, next_read_at)
       SELECT users.id, $1, $2, $3, $4, $5, free.key, $8, $8::timestamptz + interval '1 hour', now()
         FROM users, installation,
              LATERAL (SELECT CASE WHEN NOT EXISTS (
                         SELECT FROM deposits WHERE user_id = users.id AND idempotency_key = $7)
                       THEN $7::text END AS key) AS free
        WHERE users.id = $6 AND users.created_at < $8 AND installation.environment = $9
       ON CONFLICT DO NOTHING RETURNING id`,
      [
        provider,
        roubles.toString(),
        mark.paymentKey,
        id,
        payment.paymentUrl,
        mark.userId,
        mark.idempotencyKey,
        payment.createdAt,
        mark.environment,
      ],
    );
    return found.length > 0;
  }

  /** An unknown receipt state never replaces a stored one. */
  async recordReceipt(
    of: 'deposit' | 'refund',
    provider: string,
    { id, receipt }: ProviderPayment | ProviderRefund,
  ): Promise<void> {
    if (receipt === null) return;
    const [rows, providerId] = RECEIPTS[of];
    const isUnknown = receipt === 'unknown';
    if (isUnknown) this.unusable.note('warn', `the receipt of ${id} has an unknown state`);
    const [recorded] = await queryRows<{ id: number }>(
      this.dataSource,
      `UPDATE ${rows} SET receipt_registration = $3
        WHERE provider = $1 AND ${providerId} = $2 AND receipt_registration IS DISTINCT FROM $3
          AND (receipt_registration IS NULL OR NOT $4)
       RETURNING id`,
      [provider, id, isUnknown ? 'pending' : receipt, isUnknown],
    );
    if (recorded && receipt === 'canceled') {
      this.logger.warn(`the receipt of ${of} ${recorded.id} was not registered`);
    }
  }

  private async end(provider: string, { id, state, reason }: ProviderPayment): Promise<SettledPayment> {
    const [ended] = await queryRows<{ id: number }>(
      this.dataSource,
      endStatement('provider = $2 AND provider_payment_id = $3', '$4::text'),
      [state, provider, id, reason],
    );
    return ended ? { outcome: 'ended', depositId: ended.id } : NONE;
  }

  private async credit(provider: string, payment: ProviderPayment): Promise<number | 'above-limit' | null> {
    try {
      const credit = () =>
        queryRows<{ id: number }>(
          this.dataSource,
          `WITH deposit AS (
           UPDATE deposits SET state = 'succeeded', closed_at = now(), next_read_at = NULL
            WHERE provider = $1 AND provider_payment_id = $2 AND amount = $3 AND state <> 'succeeded'
           RETURNING id, user_id, amount
         ),
         credited AS (
           INSERT INTO payments (provider, payment_id, deposit_id, state, user_id, amount, paid_amount,
                                 currency, paid_at, closed_at)
           SELECT $1, $2, id, 'credited', user_id, $3, $3, 'RUB', coalesce($4, now()), now() FROM deposit
           RETURNING id, user_id, amount
         ),
         entry AS (${creditSql()})
         SELECT id, log_event(user_id, 'deposit.succeeded', jsonb_build_object(
                  'deposit_id', id, 'state', 'succeeded', 'amount', amount::text)) FROM deposit`,
          [provider, payment.id, payment.amount.value, payment.paidAt],
        );
      const [credited] = await refusedBy(OVERFLOW, credit);
      return credited?.id ?? null;
    } catch (error) {
      // Do not credit a payment that has already been left to staff, because they may have decided on it.
      if (LEFT_TO_STAFF.includes(violatedConstraint(error) ?? '')) return null;
      if (error instanceof BalanceTooLarge) return 'above-limit';
      throw error;
    }
  }

  private async findObstacle(provider: string, payment: ProviderPayment): Promise<PaymentObstacle | null> {
    const [known] = await queryRows<{ isRecorded: boolean; hasOther: boolean; hasDeposit: boolean }>(
      this.dataSource,
      `SELECT EXISTS (SELECT FROM payments WHERE provider = $1 AND payment_id = $2) AS "isRecorded",
              EXISTS (SELECT FROM deposits WHERE payment_key = $3
                         AND provider_payment_id <> $2) AS "hasOther",
              EXISTS (SELECT FROM deposits WHERE provider = $1 AND provider_payment_id = $2) AS "hasDeposit"`,
      [provider, payment.id, payment.mark?.paymentKey ?? null],
    );
    if (known?.isRecorded) return null;
    if (known?.hasDeposit) return 'other-amount';
    return known?.hasOther ? 'second-payment' : 'no-deposit';
  }

  private async leaveToStaff(
    provider: string,
    { id, amount, paidAt }: ProviderPayment,
    reason: PaymentObstacle,
  ): Promise<SettledPayment> {
    const [stored] = await queryRows<{ depositId: number | null }>(
      this.dataSource,
      `WITH deposit AS (
         UPDATE deposits SET next_read_at = NULL WHERE provider = $1 AND provider_payment_id = $2
         RETURNING id
       )
       INSERT INTO payments (provider, payment_id, deposit_id, state, paid_amount, currency, paid_at, reason)
       VALUES ($1, $2, (SELECT id FROM deposit), 'unmatched', $3, $4, coalesce($5, now()), $6)
       ON CONFLICT DO NOTHING RETURNING deposit_id AS "depositId"`,
      [provider, id, amount.value, amount.currency, paidAt, reason],
    );
    return stored ? { outcome: 'unmatched', reason } : NONE;
  }
}
