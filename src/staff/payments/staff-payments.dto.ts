import { ApiProperty } from '@nestjs/swagger';
import type { Money } from '../../common';
import {
  AmountField,
  ApiBoolean,
  ApiChoice,
  ApiMoment,
  ApiNullable,
  ApiNullableMoment,
  ApiRoubles,
  ApiText,
  ChoiceField,
  DateTimeField,
  IdField,
  PageOf,
  PageQuery,
  SearchField,
} from '../../http';
import {
  DEPOSIT_STATES,
  type DepositRefund,
  type DepositState,
  PAYMENT_STATES,
  type PaymentState,
  REFUND_STATES,
  type RefundState,
  type StaffDeposit,
  type StaffPayment,
  UNMATCHED_REASONS,
  type UnmatchedReason,
} from '../../payments';
import { ReasonRequest } from '../fields';

export class DepositsQuery extends PageQuery {
  @IdField({ description: 'The user', absent: 'null' })
  user_id!: number | null;

  @ChoiceField(DEPOSIT_STATES, { description: 'The state', absent: 'null' })
  state!: DepositState | null;

  @SearchField({ description: 'The id of the payment at the provider' })
  payment_id!: string | null;

  @DateTimeField({
    description: 'The start of the period, inclusive, e.g. 2026-11-01T00:00:00Z',
    absent: 'null',
  })
  from!: Date | null;

  @DateTimeField({ description: 'The end of the period, exclusive', absent: 'null' })
  to!: Date | null;
}

export class StaffDepositOut implements StaffDeposit {
  @ApiProperty({ type: 'integer', example: 12 })
  id!: number;

  @ApiProperty({ type: 'integer', example: 42 })
  user_id!: number;

  @ApiProperty({ type: 'string', example: 'yookassa' })
  provider!: string;

  @ApiProperty({ type: 'string', enum: DEPOSIT_STATES, example: 'succeeded' })
  state!: DepositState;

  @ApiRoubles('Roubles to be paid, or paid', '1000.00')
  amount!: string;

  @ApiProperty({ type: 'string', example: 'RUB' })
  currency!: 'RUB';

  @ApiNullable('string', {
    description: 'The page on which the deposit is paid. `null` after its end',
    example: null,
  })
  payment_url!: string | null;

  @ApiRoubles('Roubles that were returned', '0.00')
  refunded!: string;

  @ApiNullable('string', {
    description: 'The id at the provider',
    example: '2d6d1b4f-000f-5000-8000-15a6f2a7',
  })
  provider_payment_id!: string | null;

  @ApiMoment()
  created_at!: Date;

  @ApiMoment()
  expires_at!: Date;

  @ApiNullableMoment('When the deposit ended. `null` while it is `pending`')
  closed_at!: Date | null;
}

export class StaffDepositsPage extends PageOf(StaffDepositOut) {}

export class DepositRefundRequest extends ReasonRequest {
  @AmountField({ description: 'Roubles to be returned. If omitted, the rest of the deposit', absent: 'null' })
  amount!: Money | null;
}

export class DepositRefundOut implements DepositRefund {
  @ApiProperty({ type: 'integer', example: 3 })
  id!: number;

  @ApiProperty({ type: 'integer', example: 12 })
  deposit_id!: number;

  @ApiProperty({ type: 'integer', example: 42 })
  user_id!: number;

  @ApiRoubles('Roubles to be returned', '1000.00')
  amount!: string;

  @ApiChoice(
    REFUND_STATES,
    '`held`: the money is held until the provider shows an outcome. `succeeded`, `failed`: the outcome. ' +
      '`found`: it was made at the provider, not here. `written-off`: found, and not debited',
    'held',
  )
  state!: RefundState;

  @ApiNullable('string', { example: 'Wrong amount' })
  reason!: string | null;

  @ApiMoment()
  created_at!: Date;

  @ApiNullableMoment('When the refund ended. `null` while it is `held` or `found`', null)
  closed_at!: Date | null;
}

export class RequestedRefundOut extends DepositRefundOut {
  @ApiBoolean('Whether an earlier request with this Idempotency-Key made the refund', false)
  replayed!: boolean;
}

export class RefundsQuery extends PageQuery {
  @ChoiceField(REFUND_STATES, { description: 'The state', absent: 'null' })
  state!: RefundState | null;
}

export class DepositRefundsPage extends PageOf(DepositRefundOut) {}

export const REFUND_DECISIONS = ['debit', 'write-off'] as const;
export type RefundDecision = (typeof REFUND_DECISIONS)[number];

export class RefundDecisionRequest extends ReasonRequest {
  @ChoiceField(REFUND_DECISIONS, {
    description: '`debit`: take the amount from the balance; `write-off`: do not',
  })
  decision!: RefundDecision;
}

export class PaymentsQuery extends PageQuery {
  @ChoiceField(PAYMENT_STATES, { description: 'The state', default: 'unmatched' })
  state!: PaymentState;
}

export class StaffPaymentOut implements StaffPayment {
  @ApiProperty({ type: 'integer', example: 7 })
  id!: number;

  @ApiText('The provider, or `intake:` and the source', 'yookassa')
  provider!: string;

  @ApiText('The id at the provider, or the reference of the source', '2d6d1b4f-000f-5000-8000-15a6f2a7')
  payment_id!: string;

  @ApiProperty({ type: 'string', enum: PAYMENT_STATES, example: 'unmatched' })
  state!: PaymentState;

  @ApiNullable(UNMATCHED_REASONS, {
    description: 'Why it was not credited',
    example: 'no-deposit',
  })
  reason!: UnmatchedReason | null;

  @ApiText('The amount that was paid', '1000.00')
  paid_amount!: string;

  @ApiText('Its currency', 'RUB')
  currency!: string;

  @ApiMoment()
  paid_at!: Date;

  @ApiNullable('integer', { example: null })
  deposit_id!: number | null;

  @ApiNullable('integer', { description: 'The user who was credited', example: null })
  user_id!: number | null;

  @ApiNullable('string', { description: 'Roubles that were credited', example: null })
  amount!: string | null;

  @ApiNullable('object', { description: 'The other fields that the source sent', example: null })
  details!: Readonly<Record<string, unknown>> | null;

  @ApiMoment()
  created_at!: Date;

  @ApiNullableMoment('When it was decided', null)
  closed_at!: Date | null;
}

export class StaffPaymentsPage extends PageOf(StaffPaymentOut) {}

export class MatchRequest extends ReasonRequest {
  @IdField({ description: 'The user to credit' })
  user_id!: number;

  @AmountField({
    description: 'Roubles to credit: required for a payment in another currency, refused for one in roubles',
    absent: 'null',
  })
  amount!: Money | null;
}
