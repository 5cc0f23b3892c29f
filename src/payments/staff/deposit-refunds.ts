import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { domainError, Money } from '../../common';
import { Conditions, queryRows, refusedBy } from '../../database';
import type { PageRequest } from '../../http';
import { OVERDRAFT } from '../../ledger';
import { DepositNotFound } from '../deposits/deposits.errors';
import { Refunds } from '../following/refunds';
import { DEPOSIT_COLUMNS, SHOWN_STATE } from '../records/deposit-records';
import type { DepositRefundOut, DepositState, RefundState, StaffDepositOut } from '../records/deposit.dto';
import { REFUND_COLUMNS, REFUNDABLE_COLUMNS, RefundRecords } from '../records/refund-records';

export class DepositNotPaid extends domainError('conflict', 'The deposit was not paid') {}

export class RefundNotFound extends domainError('not-found', 'Refund not found') {}

export class RefundDecided extends domainError('conflict', 'The refund is decided already') {}

export class DepositRefundTooLarge extends domainError(
  'conflict',
  (left: Money) => `Of the deposit, ${left.toString()} can be refunded`,
) {}

/** A field that is `null` does not filter. */
export interface DepositFilter {
  readonly user_id: number | null;
  readonly state: DepositState | null;
  readonly payment_id: string | null;
  readonly from: Date | null;
  readonly to: Date | null;
}

/** A deposit, and how much of it can be refunded. */
type Refundable = Pick<StaffDepositOut, 'id' | 'user_id' | 'provider' | 'state' | 'amount' | 'refunded'> & {
  readonly left: string;
};

const REFUNDABLE: readonly DepositState[] = ['succeeded', 'refunded'];

@Injectable()
export class DepositRefunds {
  constructor(
    private readonly dataSource: DataSource,
    private readonly records: RefundRecords,
    private readonly refunds: Refunds,
  ) {}

  search(filter: DepositFilter, { cursor, limit }: PageRequest): Promise<StaffDepositOut[]> {
    const { user_id: userId, state, payment_id: paymentId, from, to } = filter;
    const conditions = new Conditions();
    conditions.by(userId, (place) => `user_id = ${place}`);
    conditions.by(state, (place) => `${SHOWN_STATE} = ${place}`);
    conditions.by(paymentId, (place) => `provider_payment_id = ${place}`);
    conditions.by(from, (place) => `created_at >= ${place}`);
    conditions.by(to, (place) => `created_at < ${place}`);
    conditions.by(cursor, (place) => `id < ${place}`);
    return queryRows<StaffDepositOut>(
      this.dataSource,
      `SELECT ${DEPOSIT_COLUMNS}, user_id, provider, provider_payment_id FROM deposits ${conditions.toSql()}
        ORDER BY id DESC LIMIT ${conditions.given(limit)}`,
      conditions.parameters,
    );
  }

  listRefunds(state: RefundState | null, { cursor, limit }: PageRequest): Promise<DepositRefundOut[]> {
    const conditions = new Conditions();
    conditions.by(state, (place) => `state = ${place}`);
    conditions.by(cursor, (place) => `id < ${place}`);
    return queryRows<DepositRefundOut>(
      this.dataSource,
      `SELECT ${REFUND_COLUMNS} FROM deposit_refunds ${conditions.toSql()}
        ORDER BY id DESC LIMIT ${conditions.given(limit)}`,
      conditions.parameters,
    );
  }

  /** Locks a deposit against concurrent refunds. @throws DepositNotFound, DepositNotPaid */
  async lockPaid(depositId: number, manager: EntityManager): Promise<Refundable> {
    // The lock first: a statement that waits for it does not see the refund that was stored meanwhile.
    await queryRows(manager, 'SELECT FROM deposits WHERE id = $1 FOR UPDATE', [depositId]);
    const [deposit] = await queryRows<Refundable>(
      manager,
      `SELECT ${REFUNDABLE_COLUMNS} FROM deposits WHERE id = $1`,
      [depositId],
    );
    if (!deposit) throw new DepositNotFound();
    if (!REFUNDABLE.includes(deposit.state)) throw new DepositNotPaid();
    return deposit;
  }

  /** Holds the money of a refund. It is requested after the transaction. @throws InsufficientBalance */
  hold(
    deposit: Refundable,
    amount: Money,
    origin: { readonly actionId: number; readonly reason: string },
    manager: EntityManager,
  ): Promise<DepositRefundOut> {
    return refusedBy(OVERDRAFT, () => this.records.hold(deposit, amount.toString(), origin, manager));
  }

  /** @param amount null for the rest of the deposit @throws DepositRefundTooLarge */
  amountOf(deposit: Refundable, amount: Money | null): Money {
    const left = Money.parse(deposit.left);
    const returned = amount ?? left;
    if (!returned.isPositive() || returned.minus(left).isPositive()) throw new DepositRefundTooLarge(left);
    return returned;
  }

  /** Wakes the job that requests refunds. */
  requestSoon(): void {
    this.refunds.wake();
  }

  /** The refund of a staff action, for a retry. */
  async ofAction(actionId: number): Promise<DepositRefundOut | null> {
    const [refund] = await queryRows<DepositRefundOut>(
      this.dataSource,
      `SELECT ${REFUND_COLUMNS} FROM deposit_refunds WHERE action_id = $1`,
      [actionId],
    );
    return refund ?? null;
  }

  /** @throws RefundNotFound, RefundDecided */
  async lockFound(id: number, manager: EntityManager): Promise<DepositRefundOut> {
    const refund = await this.records.get(id, manager, 'FOR UPDATE');
    if (!refund) throw new RefundNotFound();
    if (refund.state !== 'found') throw new RefundDecided();
    return refund;
  }

  /** @throws InsufficientBalance */
  async decideFound(
    refund: DepositRefundOut,
    isDebit: boolean,
    origin: { readonly actionId: number; readonly reason: string },
    manager: EntityManager,
  ): Promise<DepositRefundOut> {
    await refusedBy(OVERDRAFT, () => this.records.decideFound(refund, isDebit, origin, manager));
    const decided = await this.records.get(refund.id, manager);
    if (!decided) throw new RefundNotFound();
    return decided;
  }
}
