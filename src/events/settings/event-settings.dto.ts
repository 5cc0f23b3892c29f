import type { Money } from '../../common';
import { AmountField, ApiNullable, StrictRequest } from '../../http';

const BALANCE_LOW =
  'Threshold in roubles. `balance.low` is sent each time the available balance falls below it';

export class EventSettingsOut {
  @ApiNullable('string', `${BALANCE_LOW}. \`null\` if it is never sent`, '500.00')
  balance_low!: string | null;
}

@StrictRequest()
export class EventSettingsRequest {
  @AmountField({
    description: `${BALANCE_LOW}. \`null\` if it is never sent`,
    example: '500.00',
    nullable: true,
  })
  balance_low!: Money | null;
}
