import { Body, Controller, Get, Headers, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { EntityManager } from 'typeorm';
import { Money, ServiceUnavailable } from '../../common';
import { IdParam, INVALID_PERIOD, assertPeriod, readPage } from '../../http';
import { BalanceTooLarge, InsufficientBalance } from '../../ledger';
import { requireIdempotency } from '../../orders';
import {
  AmountKnown,
  AmountNeeded,
  AmountTooLarge,
  DepositChargedBack,
  DepositNotFound,
  DepositNotPaid,
  DepositRefundOut,
  DepositRefundTooLarge,
  PaymentDecided,
  PaymentNotFound,
  PaymentOfAnother,
  DepositRefundDecided,
  DepositRefundNotFound,
  StaffPaymentOut,
  DepositRefunds,
  UnmatchedPayments,
} from '../../payments';
import { UserNotFound, UsersService } from '../../users';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService, type RecordChange } from '../audit-log/audit-log.service';
import { ReasonRequest } from '../fields';
import { refundLink, userLinks } from '../links';
import { CurrentAudit, OWN_ACCOUNT_ERRORS, notFound, POSTING_KEY, StaffRoute } from '../staff-route';
import {
  DepositRefundRequest,
  DepositRefundsPage,
  DepositsQuery,
  MatchPaymentRequest,
  PaymentsQuery,
  DepositRefundDecisionRequest,
  DepositRefundsQuery,
  RequestedDepositRefundOut,
  StaffDepositsPage,
  StaffPaymentsPage,
  TakePaymentRequest,
} from './staff-payments.dto';

const UNDECIDABLE = {
  404: notFound(PaymentNotFound),
  409: ['Nothing was changed', new PaymentDecided('credited')],
} as const;

@ApiTags('Money')
@Controller('staff')
export class StaffPaymentsController {
  constructor(
    private readonly deposits: DepositRefunds,
    private readonly payments: UnmatchedPayments,
    private readonly users: UsersService,
    private readonly auditLog: AuditLogService,
  ) {}

  @Get('deposits')
  @StaffRoute({
    scope: 'staff:balance',
    action: 'deposits.search',
    summary: 'Find deposits',
    description:
      'For support and accounting: the deposits that match all of the given parameters, newest first.',
    response: { description: 'A page of deposits, newest first', type: StaffDepositsPage },
    errors: { 400: INVALID_PERIOD },
  })
  async search(@Query() query: DepositsQuery): Promise<StaffDepositsPage> {
    assertPeriod(query.from, query.to);
    return readPage(query, async (page) =>
      (await this.deposits.search(query, page)).map((deposit) =>
        Object.assign(deposit, {
          links: { user: userLinks(deposit.user_id).user, refund: refundLink('deposits', deposit) },
        }),
      ),
    );
  }

  @Post('deposits/:deposit_id/refund')
  @StaffRoute({
    scope: 'staff:balance',
    action: 'deposits.refund',
    summary: 'Refund a deposit',
    description:
      'For accounting, when a customer gets a deposit back: holds the amount on the balance, requests ' +
      'the refund from the provider once, and debits the balance when the provider shows the refund. ' +
      'All refunds of a deposit together never exceed the deposit, and none exceeds the available ' +
      'balance.',
    idempotencyKey: POSTING_KEY,
    response: { description: 'The refund', type: RequestedDepositRefundOut },
    errors: {
      400: ["The user's balance is too low", InsufficientBalance],
      403: OWN_ACCOUNT_ERRORS,
      404: notFound(DepositNotFound),
      409: [
        'Nothing was changed',
        DepositNotPaid,
        new DepositRefundTooLarge(Money.parse('12.54')),
        new DepositChargedBack(Money.parse('12.54')),
      ],
    },
  })
  async refund(
    @CurrentAudit() audit: AuditContext,
    @IdParam('deposit_id', 'Id of the deposit') depositId: number,
    @Body() body: DepositRefundRequest,
    @Headers('idempotency-key') key: string | undefined,
  ): Promise<RequestedDepositRefundOut> {
    const { amount, reason, despite_chargeback: despiteChargeback } = body;
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

  @Get('deposit-refunds')
  @StaffRoute({
    scope: 'staff:balance',
    action: 'deposit-refunds.list',
    summary: 'List refunds of deposits',
    description:
      'For accounting: refunds of deposits, newest first. Refunds in state `found` were made at the ' +
      'provider, not here, and await a decision.',
    response: { description: 'A page of refunds, newest first', type: DepositRefundsPage },
  })
  listRefunds(@Query() query: DepositRefundsQuery): Promise<DepositRefundsPage> {
    return readPage(query, (page) => this.deposits.listRefunds(query.state, page));
  }

  @Post('deposit-refunds/:refund_id/decide')
  @StaffRoute({
    scope: 'staff:balance',
    action: 'deposit-refunds.decide',
    summary: 'Decide a found refund',
    description:
      'For accounting, when a refund was made at the provider: `debit` takes its amount from the balance, ' +
      '`write-off` leaves the balance as it is.',
    response: { description: 'The updated refund', type: DepositRefundOut },
    errors: {
      400: ["The user's balance is too low", InsufficientBalance],
      403: OWN_ACCOUNT_ERRORS,
      404: notFound(DepositRefundNotFound),
      409: ['Nothing was changed', DepositRefundDecided],
    },
  })
  decideRefund(
    @CurrentAudit() audit: AuditContext,
    @IdParam('refund_id', 'Id of the refund') refundId: number,
    @Body() { decision, reason }: DepositRefundDecisionRequest,
  ): Promise<DepositRefundOut> {
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const before = await this.deposits.lockUndecided(refundId, 'found', manager);
      audit.assertConcernsAnother(before.user_id);
      const after = Object.assign({}, before, { state: decision === 'debit' ? 'succeeded' : 'written-off' });
      const actionId = await record({ target: userOf(before), reason, before, after });
      return this.deposits.decideFound(before, decision === 'debit', { actionId, reason }, manager);
    });
  }

  @Post('deposit-refunds/:refund_id/end')
  @StaffRoute({
    scope: 'staff:balance',
    action: 'deposit-refunds.end',
    summary: 'End a held refund',
    description:
      'For accounting, when the provider refuses a refund: the refund is no longer sent. It succeeds ' +
      "if the provider's complete list contains it. Otherwise it fails 24 hours after the last call, " +
      'and its money is released. While the provider refuses to return the list, the refund stays ' +
      'held.',
    response: { description: 'The updated refund', type: DepositRefundOut },
    errors: {
      403: OWN_ACCOUNT_ERRORS,
      404: notFound(DepositRefundNotFound),
      409: ['Nothing was changed', DepositRefundDecided],
    },
  })
  endRefund(
    @CurrentAudit() audit: AuditContext,
    @IdParam('refund_id', 'Id of the refund') refundId: number,
    @Body() { reason }: ReasonRequest,
  ): Promise<DepositRefundOut> {
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const before = await this.deposits.lockUndecided(refundId, 'held', manager);
      audit.assertConcernsAnother(before.user_id);
      const after = Object.assign({}, before, { ending: true });
      const actionId = await record({ target: userOf(before), reason, before, after });
      return this.deposits.end(before, actionId, manager);
    });
  }

  @Get('unmatched-payments')
  @StaffRoute({
    scope: 'staff:balance',
    action: 'payments.list',
    summary: 'List payments that were not credited',
    description:
      'For accounting: payments that await a decision, newest first. Use `state` to list payments that ' +
      'were credited, automatically or by staff, or rejected.',
    response: { description: 'A page of payments, newest first', type: StaffPaymentsPage },
  })
  listPayments(@Query() query: PaymentsQuery): Promise<StaffPaymentsPage> {
    return readPage(query, (page) => this.payments.list(query.state, page));
  }

  @Post('payments/take')
  @StaffRoute({
    scope: 'staff:balance',
    action: 'payments.take',
    summary: 'Record a payment made at the provider',
    description:
      'For accounting, when a payment or its refund appears only in the audit: reads the payment from ' +
      'the provider. The payment is then credited to its deposit, or awaits a decision.',
    response: { description: 'The payment', type: StaffPaymentOut },
    errors: {
      404: ['The provider has no such payment, or reports it as unpaid', PaymentNotFound],
      503: ['The provider did not respond', ServiceUnavailable],
    },
  })
  take(@Body() { payment_id: paymentId }: TakePaymentRequest): Promise<StaffPaymentOut> {
    return this.payments.take(paymentId);
  }

  @Post('unmatched-payments/:payment_id/match')
  @StaffRoute({
    scope: 'staff:balance',
    action: 'payments.match',
    summary: 'Match a payment to a user',
    description:
      "For accounting, when the payer is known: credits the paid amount to the user's balance. The " +
      "payment's deposit succeeds; if a payment at the provider has no deposit, one is created.",
    response: { description: 'The updated payment', type: StaffPaymentOut },
    errors: {
      403: OWN_ACCOUNT_ERRORS,
      404: notFound(PaymentNotFound, UserNotFound),
      409: [
        ...UNDECIDABLE[409],
        PaymentOfAnother,
        AmountNeeded,
        AmountKnown,
        AmountTooLarge,
        BalanceTooLarge,
      ],
    },
  })
  match(
    @CurrentAudit() audit: AuditContext,
    @IdParam('payment_id', 'Id of the payment') paymentId: number,
    @Body() body: MatchPaymentRequest,
  ): Promise<StaffPaymentOut> {
    const { user_id: userId, amount, reason } = body;
    audit.assertConcernsAnother(userId);
    return this.decide(audit, paymentId, async (manager, before, record) => {
      await this.users.assertExists(userId);
      const roubles = this.payments.roublesOf(before, amount);
      const credited = { state: 'credited', user_id: userId, amount: roubles.toString() };
      const after = Object.assign({}, before, credited);
      const actionId = await record({ target: { type: 'user', id: userId }, reason, before, after });
      await this.payments.match(before, userId, roubles, { actionId, reason }, manager);
    });
  }

  @Post('unmatched-payments/:payment_id/reject')
  @StaffRoute({
    scope: 'staff:balance',
    action: 'payments.reject',
    summary: 'Reject a payment',
    description:
      'For accounting, when a payment was not meant for a balance, or was returned at the provider. ' +
      "Nothing is credited, and the payment's deposit is canceled.",
    response: { description: 'The updated payment', type: StaffPaymentOut },
    errors: UNDECIDABLE,
  })
  reject(
    @CurrentAudit() audit: AuditContext,
    @IdParam('payment_id', 'Id of the payment') paymentId: number,
    @Body() { reason }: ReasonRequest,
  ): Promise<StaffPaymentOut> {
    return this.decide(audit, paymentId, async (manager, before, record) => {
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
