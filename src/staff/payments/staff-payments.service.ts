import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Money } from '../../common';
import { assertPeriod, readPage } from '../../http';
import { requireIdempotency } from '../../orders';
import {
  type DepositRefundOut,
  DepositRefunds,
  type StaffPaymentOut,
  UnmatchedPayments,
} from '../../payments';
import { UsersService } from '../../users';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService, type RecordChange } from '../audit-log/audit-log.service';
import { refundLink, userLinks } from '../links';
import type {
  DepositRefundRequest,
  DepositRefundsPage,
  DepositsQuery,
  MatchRequest,
  PaymentsQuery,
  RefundDecision,
  DepositRefundsQuery,
  RequestedRefundOut,
  StaffDepositsPage,
  StaffPaymentsPage,
} from './staff-payments.dto';

@Injectable()
export class StaffPaymentsService {
  constructor(
    private readonly deposits: DepositRefunds,
    private readonly payments: UnmatchedPayments,
    private readonly users: UsersService,
    private readonly auditLog: AuditLogService,
  ) {}

  /** Finds deposits. @throws InvalidPeriod */
  async search(query: DepositsQuery): Promise<StaffDepositsPage> {
    assertPeriod(query.from, query.to);
    return readPage(query, async (page) =>
      (await this.deposits.search(query, page)).map((deposit) =>
        Object.assign(deposit, {
          links: { user: userLinks(deposit.user_id).user, refund: refundLink('deposits', deposit) },
        }),
      ),
    );
  }

  listRefunds(query: DepositRefundsQuery): Promise<DepositRefundsPage> {
    return readPage(query, (page) => this.deposits.listRefunds(query.state, page));
  }

  listPayments(query: PaymentsQuery): Promise<StaffPaymentsPage> {
    return readPage(query, (page) => this.payments.list(query.state, page));
  }

  /**
   * Refunds a part or the rest of a deposit, once for each idempotency key. The money is held in the
   * transaction that records the refund in the audit log. The provider is called afterwards.
   *
   * @throws DepositNotFound, DepositNotPaid, DepositRefundTooLarge, DepositChargedBack,
   *   InsufficientBalance, OwnAccount, IdempotencyKeyMissing, IdempotencyKeyInvalid, IdempotencyKeyReused
   */
  async refund(
    audit: AuditContext,
    depositId: number,
    { amount, reason, despite_chargeback: despiteChargeback }: DepositRefundRequest,
    key: string | undefined,
  ): Promise<RequestedRefundOut> {
    const request = { direction: 'deposit-refund', depositId, amount: amount?.toString() ?? 'all', reason };
    const idempotency = requireIdempotency(key, request);
    const refund = await this.auditLog.recordOnce(
      audit,
      idempotency,
      async (manager, record) => {
        const before = await this.deposits.lockPaid(depositId, manager);
        audit.assertConcernsAnother(before.user_id);
        const returned = this.deposits.amountOf(before, amount, despiteChargeback);
        const refundable = Money.parse(before.refundable).minus(returned).toString();
        const after = { ...before, refundable };
        const actionId = await record({ target: userOf(before), reason, before, after });
        return this.deposits.hold(before, returned, { actionId, reason }, manager);
      },
      (actionId) => this.deposits.ofAction(actionId),
    );
    if (!refund.replayed) this.deposits.requestSoon();
    return refund;
  }

  /**
   * Decides about a found refund.
   * @throws DepositRefundNotFound, RefundDecided, InsufficientBalance, OwnAccount
   */
  decideRefund(
    audit: AuditContext,
    refundId: number,
    decision: RefundDecision,
    reason: string,
  ): Promise<DepositRefundOut> {
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const before = await this.deposits.lockUndecided(refundId, 'found', manager);
      audit.assertConcernsAnother(before.user_id);
      const after = Object.assign({}, before, { state: decision === 'debit' ? 'succeeded' : 'written-off' });
      const actionId = await record({ target: userOf(before), reason, before, after });
      return this.deposits.decideFound(before, decision === 'debit', { actionId, reason }, manager);
    });
  }

  /** Ends a held refund. @throws DepositRefundNotFound, RefundDecided, OwnAccount */
  endRefund(audit: AuditContext, refundId: number, reason: string): Promise<DepositRefundOut> {
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const before = await this.deposits.lockUndecided(refundId, 'held', manager);
      audit.assertConcernsAnother(before.user_id);
      const after = Object.assign({}, before, { ending: true });
      const actionId = await record({ target: userOf(before), reason, before, after });
      return this.deposits.end(before, actionId, manager);
    });
  }

  /**
   * Credits a payment that was not credited automatically.
   *
   * @throws PaymentNotFound, PaymentDecided, AmountNeeded, AmountKnown, AmountTooLarge, PaymentOfAnother,
   *   BalanceTooLarge, UserNotFound, OwnAccount
   */
  match(
    audit: AuditContext,
    id: number,
    { user_id: userId, amount, reason }: MatchRequest,
  ): Promise<StaffPaymentOut> {
    audit.assertConcernsAnother(userId);
    return this.decide(audit, id, async (manager, before, record) => {
      await this.users.assertExists(userId);
      const roubles = this.payments.roublesOf(before, amount);
      const credited = { state: 'credited', user_id: userId, amount: roubles.toString() };
      const after = Object.assign({}, before, credited);
      const actionId = await record({ target: { type: 'user', id: userId }, reason, before, after });
      await this.payments.match(before, userId, roubles, { actionId, reason }, manager);
    });
  }

  /** @throws PaymentNotFound, ServiceUnavailable */
  take(paymentId: string): Promise<StaffPaymentOut> {
    return this.payments.take(paymentId);
  }

  /** Rejects an unmatched payment. @throws PaymentNotFound, PaymentDecided */
  reject(audit: AuditContext, id: number, reason: string): Promise<StaffPaymentOut> {
    return this.decide(audit, id, async (manager, before, record) => {
      const actionId = await record({
        reason,
        before,
        after: Object.assign({}, before, { state: 'rejected' }),
      });
      await this.payments.reject(before, actionId, manager);
    });
  }

  private decide(
    audit: AuditContext,
    id: number,
    decision: (manager: EntityManager, before: StaffPaymentOut, record: RecordChange) => Promise<void>,
  ): Promise<StaffPaymentOut> {
    return this.auditLog.recordChange(audit, async (manager, record) => {
      await decision(manager, await this.payments.lockUnmatched(id, manager), record);
      return this.payments.get(id, manager);
    });
  }
}

const userOf = ({ user_id: id }: { readonly user_id: number }) => ({ type: 'user', id }) as const;
