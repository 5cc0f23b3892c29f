import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { domainError, Money, ServiceUnavailable } from '../../common';
import { Conditions, type Queryable, queryRows, refusedBy } from '../../database';
import type { PageRequest } from '../../http';
import { LARGEST_AMOUNT, OVERFLOW } from '../../ledger';
import { EndedPaymentsJob } from '../following/ended-payments.job';
import { PaymentError, PaymentProvider, PaymentRefused } from '../provider/payment-provider';
import { endStatement } from '../records/deposit-records';
import { creditSql, INTAKE_PREFIX, roublesOf } from '../records/payment-records';
import type { PaymentState, StaffPaymentOut } from '../records/payment.dto';

const COLUMNS = `id, provider, payment_id, state, reason, paid_amount, currency, paid_at, deposit_id, user_id,
  amount, details, created_at, closed_at`;

export class PaymentNotFound extends domainError('not-found', 'Payment not found') {}

export class PaymentDecided extends domainError(
  'conflict',
  (state: PaymentState) => `The payment is already ${state}`,
) {}

export class PaymentOfAnother extends domainError(
  'conflict',
  "The payment belongs to another user's deposit",
) {}

export class AmountNeeded extends domainError(
  'conflict',
  'The payment is in another currency, or includes a fraction of a kopeck: set the field amount, in roubles',
) {}

export class AmountKnown extends domainError(
  'conflict',
  'The payment is in roubles: omit `amount` to credit the full amount paid',
) {}

export class AmountTooLarge extends domainError(
  'conflict',
  `At most ${LARGEST_AMOUNT.toString()} can be credited at once`,
) {}

/** Lets staff match payments that were not credited automatically, or reject them. */
@Injectable()
export class UnmatchedPayments {
  constructor(
    private readonly dataSource: DataSource,
    private readonly paymentProvider: PaymentProvider,
    private readonly ended: EndedPaymentsJob,
  ) {}

  /** Records a payment as reconciliation would. @throws PaymentNotFound if unpaid, ServiceUnavailable */
  async take(paymentId: string): Promise<StaffPaymentOut> {
    try {
      await this.ended.read(paymentId);
    } catch (error) {
      // Not a 503, because a retry would be refused again.
      if (error instanceof PaymentRefused) throw new PaymentNotFound();
      throw error instanceof PaymentError ? new ServiceUnavailable() : error;
    }
    const [payment] = await queryRows<{ id: number }>(
      this.dataSource,
      'SELECT id FROM payments WHERE provider = $1 AND payment_id = $2',
      [this.paymentProvider.name, paymentId],
    );
    if (!payment) throw new PaymentNotFound();
    return this.get(payment.id);
  }

  list(state: PaymentState, page: PageRequest): Promise<StaffPaymentOut[]> {
    const conditions = new Conditions();
    conditions.by(state, (place) => `state = ${place}`);
    return queryRows<StaffPaymentOut>(
      this.dataSource,
      `SELECT ${COLUMNS} FROM payments ${conditions.toPageSql(page)}`,
      conditions.parameters,
    );
  }

  async get(id: number, queryable: Queryable = this.dataSource, lock = ''): Promise<StaffPaymentOut> {
    const [payment] = await queryRows<StaffPaymentOut>(
      queryable,
      `SELECT ${COLUMNS} FROM payments WHERE id = $1 ${lock}`,
      [id],
    );
    if (!payment) throw new PaymentNotFound();
    return payment;
  }

  /** @throws PaymentNotFound, PaymentDecided */
  async lockUnmatched(id: number, manager: EntityManager): Promise<StaffPaymentOut> {
    const payment = await this.get(id, manager, 'FOR UPDATE');
    if (payment.state !== 'unmatched') throw new PaymentDecided(payment.state);
    return payment;
  }

  /**
   * @param named amount set by staff, only for a payment in another currency or with a fraction of a kopeck
   * @throws AmountNeeded, AmountKnown, AmountTooLarge
   */
  roublesOf({ currency, paid_amount: value }: StaffPaymentOut, named: Money | null): Money {
    const paid = roublesOf({ value, currency });
    if (paid !== null && named !== null) throw new AmountKnown();
    const roubles = paid ?? named;
    if (roubles === null) throw new AmountNeeded();
    if (roubles.minus(LARGEST_AMOUNT).isPositive()) throw new AmountTooLarge();
    return roubles;
  }

  /**
   * Creates the payment's deposit if it is missing, because later refunds are found through the deposit.
   * @throws PaymentOfAnother, BalanceTooLarge
   */
  async match(
    payment: StaffPaymentOut,
    userId: number,
    amount: Money,
    origin: { readonly actionId: number; readonly reason: string },
    manager: EntityManager,
  ): Promise<void> {
    const statement = `WITH known AS (
         UPDATE deposits SET state = 'succeeded', amount = $3, closed_at = now(), next_read_at = NULL
          WHERE id = $6 AND user_id = $2
         RETURNING id, user_id, amount
       ),
       made AS (
         INSERT INTO deposits (user_id, provider, amount, state, provider_payment_id, expires_at, closed_at)
         SELECT $2, provider, $3, 'succeeded', payment_id, now(), now() FROM payments
          WHERE id = $1 AND state = 'unmatched' AND deposit_id IS NULL
            AND NOT starts_with(provider, '${INTAKE_PREFIX}')
         ON CONFLICT (provider, provider_payment_id) DO NOTHING
         RETURNING id, user_id, amount
       ),
       deposit AS (SELECT * FROM known UNION ALL SELECT * FROM made),
       credited AS (
         UPDATE payments SET state = 'credited', user_id = $2, amount = $3, closed_at = now(), action_id = $4,
                             deposit_id = (SELECT id FROM deposit)
          WHERE id = $1 AND state = 'unmatched' AND (deposit_id IS NULL OR EXISTS (SELECT FROM deposit))
         RETURNING id, user_id, amount
       ),
       entry AS (${creditSql('$5::text, NULL, $4::bigint')}),
       logged AS (
         SELECT log_event(user_id, 'deposit.succeeded', jsonb_build_object(
                  'deposit_id', id, 'state', 'succeeded', 'amount', amount::text)) FROM deposit
       )
       SELECT id, (SELECT count(*) FROM logged) FROM credited`;
    const { actionId, reason } = origin;
    const given = [payment.id, userId, amount.toString(), actionId, reason, payment.deposit_id];
    const matched = await refusedBy(OVERFLOW, () => queryRows(manager, statement, given));
    if (matched.length === 0) throw new PaymentOfAnother();
  }

  /** Also cancels the deposit, because it has no other payment. */
  async reject(payment: StaffPaymentOut, actionId: number, manager: EntityManager): Promise<void> {
    await queryRows(
      manager,
      `UPDATE payments SET state = 'rejected', closed_at = now(), action_id = $2
        WHERE id = $1 AND state = 'unmatched'`,
      [payment.id, actionId],
    );
    await queryRows(manager, endStatement('id = $2'), ['canceled', payment.deposit_id]);
  }
}
