import { ApiProperty } from '@nestjs/swagger';
import type { Money } from '../../common';
import {
  AmountField,
  ApiChoice,
  ApiInteger,
  ApiMoment,
  ApiNullable,
  ApiNullableMoment,
  ApiRoubles,
  IntegerField,
  PageOf,
  StrictRequest,
} from '../../http';
import { type Deposit, DEPOSIT_STATES, type DepositState } from '../records/deposit-records';

export const LONGEST_WAIT_SECONDS = 30;

@StrictRequest()
export class DepositRequest {
  @AmountField({
    description: 'Roubles to pay in, within the limits of the operator: by default 100.00 to 100000.00',
    example: '1000.00',
  })
  amount!: Money;
}

@StrictRequest()
export class DepositQuery {
  @IntegerField({
    description:
      'Seconds to wait while the deposit is `pending`. The response comes as soon as it has ended, or ' +
      'after that time, with its current state',
    example: 30,
    atLeast: 0,
    atMost: LONGEST_WAIT_SECONDS,
    default: 0,
  })
  wait!: number;
}

export class DepositOut implements Deposit {
  @ApiInteger('The id of the deposit', 12)
  id!: number;

  @ApiChoice(
    DEPOSIT_STATES,
    '`pending`: not paid yet. `succeeded`: paid, and the balance was credited. `canceled` and ' +
      '`expired`: not paid. `refunded`: the whole amount was returned to you',
    'pending',
  )
  state!: DepositState;

  @ApiRoubles('Roubles to be paid, or paid', '1000.00')
  amount!: string;

  @ApiProperty({ type: 'string', example: 'RUB' })
  currency!: 'RUB';

  @ApiNullable('string', {
    format: 'uri',
    description:
      'The page on which the deposit is paid. `null` while it is being prepared, and after its end',
    example: 'https://yoomoney.ru/checkout/payments/v2/contract?orderId=2d6d1b4f-000f-5000-8000-15a6f2a7e0c1',
  })
  payment_url!: string | null;

  @ApiRoubles('Roubles that were returned to you', '0.00')
  refunded!: string;

  @ApiMoment()
  created_at!: Date;

  @ApiMoment('The time until which the page can usually be used', '2026-11-21T13:00:00.000Z')
  expires_at!: Date;

  @ApiNullableMoment('When the deposit ended. `null` while it is `pending`', null)
  closed_at!: Date | null;
}

export class DepositsPage extends PageOf(DepositOut) {}
