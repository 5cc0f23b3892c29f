import type { Money } from '../../common';
import { AmountField, ApiNullable, StrictRequest } from '../../http';

const BALANCE_LOW = 'Amount in roubles. `balance.low` is sent each time the available balance falls below it';

export class EventSettingsOut {
  @ApiNullable('string', `${BALANCE_LOW}. \`null\` for never`, '500.00')
  balance_low!: string | null;
}

@StrictRequest()
export class EventSettingsRequest {
  @AmountField({ description: `${BALANCE_LOW}. \`null\` for never`, example: '500.00', nullable: true })
  balance_low!: Money | null;
}
