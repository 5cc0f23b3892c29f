import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { domainError, Money } from '../../common';
import { Conditions, queryRow, queryRows, refusedBy } from '../../database';
import type { PageRequest } from '../../http';
import { OVERDRAFT, SHOWN_KIND_SQL } from '../../ledger';
import { DepositNotFound } from '../deposits/deposits.errors';
import { DepositRefundsJob } from '../following/deposit-refunds.job';
import { DEPOSIT_COLUMNS, SHOWN_STATE_SQL } from '../records/deposit-records';
import type {
  DepositRefundOut,
  DepositState,
  ReceiptState,
  DepositRefundState,
  StaffDepositOut,
} from '../records/deposit.dto';

export class DepositNotPaid extends domainError('conflict', 'The deposit was not paid') {}

export class DepositRefundNotFound extends domainError('not-found', 'Refund not found') {}

export class DepositRefundDecided extends domainError(
  'conflict',
  'Staff have already decided on this refund',
) {}

export class DepositRefundTooLarge extends domainError(
  'conflict',
  (left: Money) => `At most ${left.toString()} of this deposit can be refunded`,
) {}

export class DepositChargedBack extends domainError(
  'conflict',
  (amount: Money) =>
    `${amount.toString()} was debited for a chargeback of the deposit: set despite_chargeback to ` +
    'refund the deposit anyway',
) {}

/** Null fields do not filter. */
export interface DepositFilter {
  readonly user_id: number | null;
  readonly state: DepositState | null;
  readonly payment_id: string | null;
  readonly receipt: ReceiptState;
  readonly from: Date | null;
  readonly to: Date | null;
}

type Refundable = Pick<
  StaffDepositOut,
  'id' | 'user_id' | 'provider' | 'state' | 'amount' | 'refunded' | 'refundable' | 'charged_back'
>;

interface StaffOrigin {
  readonly actionId: number;
  readonly reason: string;
}

const REFUNDABLE: readonly DepositState[] = ['succeeded', 'refunded'];

/** Staff record a chargeback as a debit whose reference is the payment's id. */
const CHARGED_BACK = `(SELECT coalesce(-sum(available_delta), 0)::numeric(14,2) FROM ledger_entries
    WHERE user_id = deposits.user_id AND ${SHOWN_KIND_SQL} = 'debit'
      AND reference = deposits.provider_payment_id) AS charged_back`;

const REFUNDABLE_AMOUNT = `CASE WHEN ${SHOWN_STATE_SQL} IN ('succeeded', 'refunded')
    THEN greatest(0, amount - refunded - coalesce((SELECT sum(amount) FROM deposit_refunds
      WHERE deposit_id = deposits.id AND state IN ('held', 'found')), 0))
    ELSE 0.00 END AS refundable`;

const REFUND_COLUMNS = `id, deposit_id, user_id, amount, state,
  state = 'held' AND end_action_id IS NOT NULL AS ending, reason, provider_reason, receipt_registration,
  created_at, closed_at`;

@Injectable()
export class DepositRefunds {
  constructor(
    private readonly dataSource: DataSource,
    private readonly refunds: DepositRefundsJob,
  ) {}

  search(filter: DepositFilter, page: PageRequest): Promise<StaffDepositOut[]> {
    const { user_id: userId, state, payment_id: paymentId, receipt, from, to } = filter;
    const conditions = new Conditions();
    conditions.by(userId, (place) => `user_id = ${place}`);
    conditions.by(state, (place) => `${SHOWN_STATE_SQL} = ${place}`);
    conditions.by(paymentId, (place) => `provider_payment_id = ${place}`);
    conditions.by(receipt, (place) => `receipt_registration = ${place}`);
    conditions.by(from, (place) => `created_at >= ${place}`);
    conditions.by(to, (place) => `created_at < ${place}`);
    return queryRows<StaffDepositOut>(
      this.dataSource,
      `SELECT ${DEPOSIT_COLUMNS}, user_id, provider, provider_payment_id, provider_reason,
              ${CHARGED_BACK}, ${REFUNDABLE_AMOUNT}, receipt_registration,
              receipt_email IS NOT NULL AS has_receipt_email
         FROM deposits ${conditions.toPageSql(page)}`,
      conditions.parameters,
    );
  }

  listRefunds(state: DepositRefundState | null, page: PageRequest): Promise<DepositRefundOut[]> {
    const conditions = new Conditions();
    conditions.by(state, (place) => `state = ${place}`);
    return queryRows<DepositRefundOut>(
      this.dataSource,
      `SELECT ${REFUND_COLUMNS} FROM deposit_refunds ${conditions.toPageSql(page)}`,
      conditions.parameters,
    );
  }

  /** @throws DepositNotFound, DepositNotPaid */
  async lockPaid(depositId: number, manager: EntityManager): Promise<Refundable> {
    // Lock first: a statement that waits for the lock would not see a refund stored during the wait.
    await queryRows(manager, 'SELECT FROM deposits WHERE id = $1 FOR UPDATE', [depositId]);
    const [deposit] = await queryRows<Refundable>(
      manager,
      `SELECT id, user_id, provider, ${SHOWN_STATE_SQL} AS state, amount, refunded, ${CHARGED_BACK},
              ${REFUNDABLE_AMOUNT}
         FROM deposits WHERE id = $1`,
      [depositId],
    );
    if (!deposit) throw new DepositNotFound();
    if (!REFUNDABLE.includes(deposit.state)) throw new DepositNotPaid();
    return deposit;
  }

  /** Stores a refund and puts a hold on its amount. @throws InsufficientBalance */
  hold(
    deposit: Refundable,
    amount: Money,
    { actionId, reason }: StaffOrigin,
    manager: EntityManager,
  ): Promise<DepositRefundOut> {
    return refusedBy(OVERDRAFT, () =>
      queryRow<DepositRefundOut>(
        manager,
        `WITH refund AS (
           INSERT INTO deposit_refunds (deposit_id, user_id, amount, state, provider, reason, action_id,
                                        next_try_at)
           VALUES ($1, $2, $3, 'held', $4, $5, $6, now()) RETURNING ${REFUND_COLUMNS}
         ),
         entry AS (
           INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta, refund_id, reason,
                                       action_id)
           SELECT user_id, 'hold', -amount, amount, id, $5, $6 FROM refund
         )
         SELECT * FROM refund`,
        [deposit.id, deposit.user_id, amount.toString(), deposit.provider, reason, actionId],
      ),
    );
  }

  /** @param amount null for the whole remaining amount @throws DepositRefundTooLarge, DepositChargedBack */
  amountOf(deposit: Refundable, amount: Money | null, despiteChargeback: boolean): Money {
    const left = Money.parse(deposit.refundable);
    const returned = amount ?? left;
    if (!returned.isPositive() || returned.minus(left).isPositive()) throw new DepositRefundTooLarge(left);
    const chargedBack = Money.parse(deposit.charged_back);
    if (chargedBack.isPositive() && !despiteChargeback) throw new DepositChargedBack(chargedBack);
    return returned;
  }

  requestSoon(): void {
    this.refunds.wake();
  }

  /** Finds the refund that a retried staff action has already created. */
  async ofAction(actionId: number): Promise<DepositRefundOut | null> {
    const [refund] = await queryRows<DepositRefundOut>(
      this.dataSource,
      `SELECT ${REFUND_COLUMNS} FROM deposit_refunds WHERE action_id = $1`,
      [actionId],
    );
    return refund ?? null;
  }

  /** @throws DepositRefundNotFound, DepositRefundDecided */
  async lockUndecided(
    id: number,
    state: 'found' | 'held',
    manager: EntityManager,
  ): Promise<DepositRefundOut> {
    const refund = await this.get(id, manager, 'FOR UPDATE');
    if (refund.state !== state || refund.ending) throw new DepositRefundDecided();
    return refund;
  }

  /** Stops sending a held refund. The job marks it as failed when the list proves that it was not made. */
  async end({ id }: DepositRefundOut, actionId: number, manager: EntityManager): Promise<DepositRefundOut> {
    await queryRows(
      manager,
      `UPDATE deposit_refunds SET end_action_id = $2, next_try_at = now()
        WHERE id = $1 AND state = 'held' AND end_action_id IS NULL`,
      [id, actionId],
    );
    return this.get(id, manager);
  }

  /**
   * Debits the balance for a refund made elsewhere, or lets the shop bear the loss.
   * @throws InsufficientBalance
   */
  async decideFound(
    { id }: DepositRefundOut,
    isDebit: boolean,
    { actionId, reason }: StaffOrigin,
    manager: EntityManager,
  ): Promise<DepositRefundOut> {
    await refusedBy(OVERDRAFT, () =>
      queryRows(
        manager,
        `WITH refund AS (
           UPDATE deposit_refunds SET state = $2, closed_at = now(), action_id = $3
            WHERE id = $1 AND state = 'found' RETURNING id, deposit_id, user_id, amount
         ),
         deposit AS (
           UPDATE deposits SET refunded = deposits.refunded + refund.amount FROM refund
            WHERE deposits.id = refund.deposit_id
           RETURNING deposits.id, deposits.user_id, refund.id AS refund_id, refund.amount AS went_back,
                     ${SHOWN_STATE_SQL} AS state
         ),
         entry AS (
           INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta, refund_id, reason,
                                       action_id)
           SELECT user_id, 'adjustment', -went_back, 0, refund_id, $4, $3 FROM deposit WHERE $2 = 'succeeded'
         )
         SELECT log_event(user_id, 'deposit.refunded', jsonb_build_object(
                  'deposit_id', id, 'state', state, 'amount', went_back::text)) FROM deposit`,
        [id, isDebit ? 'succeeded' : 'written-off', actionId, reason],
      ),
    );
    return this.get(id, manager);
  }

  private async get(id: number, manager: EntityManager, lock = ''): Promise<DepositRefundOut> {
    const [refund] = await queryRows<DepositRefundOut>(
      manager,
      `SELECT ${REFUND_COLUMNS} FROM deposit_refunds WHERE id = $1 ${lock}`,
      [id],
    );
    if (!refund) throw new DepositRefundNotFound();
    return refund;
  }
}
