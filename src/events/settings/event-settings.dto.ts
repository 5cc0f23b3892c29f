import { ApiProperty } from '@nestjs/swagger';
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
  @ApiProperty({ description: `${BALANCE_LOW}. Null: never`, example: '500.00' })
  @AmountField({ nullable: true })
  balance_low!: Money | null;
}
