import type { Money } from '../../common';
import { AmountField, IntegerField, PageOf, StrictRequest } from '../../http';
import { DepositOut } from '../records/deposit.dto';

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

export class DepositsPage extends PageOf(DepositOut) {}
