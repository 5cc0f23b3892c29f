import { ApiProperty } from '@nestjs/swagger';
import { ApiMoment, ApiNullable, ApiNullableMoment, ApiText } from '../../http';

export const PAYMENT_STATES = ['unmatched', 'credited', 'rejected'] as const;
export type PaymentState = (typeof PAYMENT_STATES)[number];

export const PAYMENT_OBSTACLES = [
  'test-payment',
  'other-currency',
  'no-deposit',
  'other-amount',
  'second-payment',
  'no-user',
  'above-limit',
  'reused-reference',
] as const;
export type PaymentObstacle = (typeof PAYMENT_OBSTACLES)[number];

export class StaffPaymentOut {
  @ApiProperty({ type: 'integer', example: 7 })
  id!: number;

  @ApiText('The payment provider, or `intake:` followed by the name of the source', 'yookassa')
  provider!: string;

  @ApiText(
    "The payment provider's id for the payment, or the source's reference for it",
    '2d6d1b4f-000f-5000-8000-15a6f2a7',
  )
  payment_id!: string;

  @ApiProperty({ type: 'string', enum: PAYMENT_STATES, example: 'unmatched' })
  state!: PaymentState;

  @ApiNullable(PAYMENT_OBSTACLES, 'Why the payment was not credited', 'no-deposit')
  reason!: PaymentObstacle | null;

  @ApiText('The amount that was paid', '1000.00')
  paid_amount!: string;

  @ApiText('Its currency', 'RUB')
  currency!: string;

  @ApiMoment()
  paid_at!: Date;

  @ApiNullable('integer', { example: null })
  deposit_id!: number | null;

  @ApiNullable('integer', 'The user who was credited', null)
  user_id!: number | null;

  @ApiNullable('string', 'Amount credited, in roubles', null)
  amount!: string | null;

  @ApiNullable('object', 'The other fields that the source sent', null)
  details!: Readonly<Record<string, unknown>> | null;

  @ApiMoment()
  created_at!: Date;

  @ApiNullableMoment('When the payment was credited or rejected', null)
  closed_at!: Date | null;
}
