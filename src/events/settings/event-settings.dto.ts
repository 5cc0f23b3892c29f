import type { Money } from '../../common';
import { AmountField, ApiNullable, StrictRequest } from '../../http';

const BALANCE_LOW =
  'Roubles. `balance.low` tells when less than this can be spent, once each time the balance falls below it';

export class EventSettingsOut {
  @ApiNullable('string', { description: `${BALANCE_LOW}. Null: never`, example: '500.00' })
  balance_low!: string | null;
}

@StrictRequest()
export class EventSettingsRequest {
  @AmountField({ description: `${BALANCE_LOW}. Null: never`, example: '500.00', nullable: true })
  balance_low!: Money | null;
}
