import { ApiProperty } from '@nestjs/swagger';
import { ApiInteger, ApiNullable, ApiRoubles, ApiText } from '../../../http';

export class DryRunRefusal {
  @ApiInteger('The status of the response', 400)
  status!: number;

  @ApiText('The `detail` of the response', 'Insufficient balance')
  detail!: string;
}

export class DryRunResponse {
  @ApiProperty({ type: 'boolean', enum: [true], example: true })
  dry_run!: true;

  @ApiNullable(
    'integer',
    'The earlier order with the Idempotency-Key. If there is one, no order would be placed, and the ' +
      'response would be that of the earlier order. `null` if the key is free or absent',
    null,
  )
  order_id!: number | null;

  @ApiNullable(
    'string',
    'Price of one proxy, in roubles; multiplied by `count` it is exactly `price_final`. `null` if ' +
      'there is no order that could have a price',
    '25.08',
  )
  price_single!: string | null;

  @ApiNullable('string', 'Price of the whole order, in roubles', '250.80')
  price_final!: string | null;

  @ApiProperty({ type: 'string', example: 'RUB' })
  currency!: string;

  @ApiRoubles('Available balance now, in roubles', '1000.00')
  balance_available!: string;

  @ApiRoubles(
    'Available balance after the order, in roubles. Unchanged if the order would be refused',
    '749.20',
  )
  balance_after!: string;

  @ApiProperty({
    type: [DryRunRefusal],
    description:
      'The refusals in the order of the checks: the request would return the first. Empty if the ' +
      'order would be placed, or if its stored response would be returned',
    example: [],
  })
  refusals!: readonly DryRunRefusal[];
}
