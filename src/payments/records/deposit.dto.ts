import { ApiProperty } from '@nestjs/swagger';
import {
  ApiBoolean,
  ApiChoice,
  ApiInteger,
  ApiMoment,
  ApiNullable,
  ApiNullableMoment,
  ApiRoubles,
} from '../../http';
import type { ReceiptState } from '../provider/payment-provider';

/** `refunded` means that the full amount, or more, was returned. */
export const DEPOSIT_STATES = ['pending', 'succeeded', 'canceled', 'expired', 'refunded'] as const;
export type DepositState = (typeof DEPOSIT_STATES)[number];

export const RECEIPT_STATES = ['pending', 'succeeded', 'canceled'] as const;
export type { ReceiptState };

const ApiReceipt = (example: ReceiptState) =>
  ApiNullable(RECEIPT_STATES, 'The state of the fiscal receipt, if there is one', example);

const ApiProviderReason = (example: string | null) =>
  ApiNullable('string', 'Why the payment provider refused or canceled the payment or refund', example);

export class DepositOut {
  @ApiInteger('The id of the deposit', 12)
  id!: number;

  @ApiChoice(
    DEPOSIT_STATES,
    '`pending`: not paid yet. `succeeded`: paid, and the balance was credited. `canceled`: not paid, ' +
      'or the payment was rejected. `expired`: not paid in time. `refunded`: the whole amount was ' +
      'returned to you',
    'pending',
  )
  state!: DepositState;

  @ApiRoubles('Amount to be paid, or already paid, in roubles', '1000.00')
  amount!: string;

  @ApiProperty({ type: 'string', example: 'RUB' })
  currency!: 'RUB';

  @ApiNullable('string', {
    format: 'uri',
    description:
      'URL of the page where the deposit can be paid. `null` while the page is being prepared, and ' +
      'after the deposit has ended',
    example: 'https://yoomoney.ru/checkout/payments/v2/contract?orderId=2d6d1b4f-000f-5000-8000-15a6f2a7e0c1',
  })
  payment_url!: string | null;

  @ApiRoubles('Amount returned to you, in roubles', '0.00')
  refunded!: string;

  @ApiNullable(
    'string',
    'Your address for the receipt. `null` if you have set none, or if there is no receipt',
    null,
  )
  receipt_email!: string | null;

  @ApiMoment()
  created_at!: Date;

  @ApiMoment('When the payment page usually expires', '2026-11-21T13:00:00.000Z')
  expires_at!: Date;

  @ApiNullableMoment('When the deposit ended. `null` while it is `pending`', null)
  closed_at!: Date | null;
}

export class StaffDepositOut {
  @ApiProperty({ type: 'integer', example: 12 })
  id!: number;

  @ApiProperty({ type: 'integer', example: 42 })
  user_id!: number;

  @ApiProperty({ type: 'string', example: 'yookassa' })
  provider!: string;

  @ApiProperty({ type: 'string', enum: DEPOSIT_STATES, example: 'succeeded' })
  state!: DepositState;

  @ApiRoubles('Amount to be paid, or already paid, in roubles', '1000.00')
  amount!: string;

  @ApiProperty({ type: 'string', example: 'RUB' })
  currency!: 'RUB';

  @ApiNullable(
    'string',
    'URL of the page where the deposit can be paid. `null` after the deposit has ended',
    null,
  )
  payment_url!: string | null;

  @ApiRoubles('Amount returned, in roubles', '0.00')
  refunded!: string;

  @ApiRoubles('Amount that can still be refunded if the balance covers it, in roubles', '1000.00')
  refundable!: string;

  @ApiRoubles(
    'Amount debited by staff for a chargeback, with `provider_payment_id` as reference, in roubles',
    '0.00',
  )
  charged_back!: string;

  @ApiNullable('string', "The payment provider's id for the payment", '2d6d1b4f-000f-5000-8000-15a6f2a7')
  provider_payment_id!: string | null;

  @ApiProviderReason('insufficient_funds')
  provider_reason!: string | null;

  @ApiBoolean('Whether the customer set an address for the receipt', true)
  has_receipt_email!: boolean;

  @ApiReceipt('succeeded')
  receipt_registration!: ReceiptState;

  @ApiMoment()
  created_at!: Date;

  @ApiMoment()
  expires_at!: Date;

  @ApiNullableMoment('When the deposit ended. `null` while it is `pending`')
  closed_at!: Date | null;
}

export const DEPOSIT_REFUND_STATES = ['held', 'succeeded', 'failed', 'found', 'written-off'] as const;
export type DepositRefundState = (typeof DEPOSIT_REFUND_STATES)[number];

export class DepositRefundOut {
  @ApiProperty({ type: 'integer', example: 3 })
  id!: number;

  @ApiProperty({ type: 'integer', example: 12 })
  deposit_id!: number;

  @ApiProperty({ type: 'integer', example: 42 })
  user_id!: number;

  @ApiRoubles('Amount to be returned, in roubles', '1000.00')
  amount!: string;

  @ApiChoice(
    DEPOSIT_REFUND_STATES,
    '`held`: the money is held until the provider shows the outcome. `succeeded`, `failed`: the ' +
      'outcome. `found`: the refund was made at the provider, not here. `written-off`: found, but not ' +
      'debited',
    'held',
  )
  state!: DepositRefundState;

  @ApiBoolean(
    'Whether staff have ended the refund, which is then no longer sent, and fails unless it was ' +
      'already made',
    false,
  )
  ending!: boolean;

  @ApiNullable('string', { example: 'Wrong amount' })
  reason!: string | null;

  @ApiProviderReason(null)
  provider_reason!: string | null;

  @ApiReceipt(null)
  receipt_registration!: ReceiptState;

  @ApiMoment()
  created_at!: Date;

  @ApiNullableMoment('When the refund ended. `null` while it is `held` or `found`', null)
  closed_at!: Date | null;
}
