import { ApiProperty } from '@nestjs/swagger';
import type { Money } from '../../common';
import {
  AmountField,
  ApiBoolean,
  BooleanField,
  ChoiceField,
  FromField,
  IdField,
  PageOf,
  PageQuery,
  SearchField,
  StringField,
  ToField,
} from '../../http';
import {
  DEPOSIT_STATES,
  DepositRefundOut,
  type DepositState,
  PAYMENT_STATES,
  type PaymentState,
  RECEIPT_STATES,
  type ReceiptState,
  DEPOSIT_REFUND_STATES,
  type DepositRefundState,
  StaffDepositOut,
  StaffPaymentOut,
} from '../../payments';
import { ReasonRequest } from '../fields';
import { DepositLinks } from '../links';

export class DepositsQuery extends PageQuery {
  @IdField({ description: 'The user', absent: 'null' })
  user_id!: number | null;

  @ChoiceField(DEPOSIT_STATES, { description: 'The state', absent: 'null' })
  state!: DepositState | null;

  @SearchField({ description: "The payment provider's id for the payment" })
  payment_id!: string | null;

  @ChoiceField(RECEIPT_STATES, { description: "The state of the deposit's receipt", absent: 'null' })
  receipt!: ReceiptState;

  @FromField()
  from!: Date | null;

  @ToField()
  to!: Date | null;
}

export class LinkedDepositOut extends StaffDepositOut {
  @ApiProperty({ type: DepositLinks })
  links!: DepositLinks;
}

export class StaffDepositsPage extends PageOf(LinkedDepositOut) {}

export class DepositRefundRequest extends ReasonRequest {
  @AmountField({
    description: 'The amount to be returned, in roubles. Defaults to all that can still be refunded',
    absent: 'null',
  })
  amount!: Money | null;

  @BooleanField({
    description: 'Whether to refund the deposit even though its chargeback was debited',
    default: false,
  })
  despite_chargeback!: boolean;
}

export class RequestedDepositRefundOut extends DepositRefundOut {
  @ApiBoolean('Whether an earlier request with this Idempotency-Key created the refund', false)
  replayed!: boolean;
}

export class DepositRefundsQuery extends PageQuery {
  @ChoiceField(DEPOSIT_REFUND_STATES, { description: 'The state', absent: 'null' })
  state!: DepositRefundState | null;
}

export class DepositRefundsPage extends PageOf(DepositRefundOut) {}

export const DEPOSIT_REFUND_DECISIONS = ['debit', 'write-off'] as const;
export type DepositRefundDecision = (typeof DEPOSIT_REFUND_DECISIONS)[number];

export class DepositRefundDecisionRequest extends ReasonRequest {
  @ChoiceField(DEPOSIT_REFUND_DECISIONS, {
    description: '`debit`: take the amount from the balance; `write-off`: do not',
  })
  decision!: DepositRefundDecision;
}

export class PaymentsQuery extends PageQuery {
  @ChoiceField(PAYMENT_STATES, { description: 'The state', default: 'unmatched' })
  state!: PaymentState;
}

export class StaffPaymentsPage extends PageOf(StaffPaymentOut) {}

export class TakePaymentRequest extends ReasonRequest {
  @StringField({
    description: "The payment provider's id for the payment",
    pattern: '^[\\w-]{1,64}$',
    example: '2d6d1b4f-000f-5000-8000-15a6f2a7',
  })
  payment_id!: string;
}

export class MatchPaymentRequest extends ReasonRequest {
  @IdField({ description: 'The user to credit' })
  user_id!: number;

  @AmountField({
    description:
      'The amount to credit, in roubles. Required for a payment in another currency, and refused for a ' +
      'payment in roubles',
    absent: 'null',
  })
  amount!: Money | null;
}
