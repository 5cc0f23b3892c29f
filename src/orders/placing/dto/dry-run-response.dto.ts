import { ApiProperty } from '@nestjs/swagger';
import { ApiInteger, ApiNullable, ApiRoubles, ApiText } from '../../../http';

export class OrderRefusal {
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
    'The earlier order that has the Idempotency-Key: nothing would be placed, and the response ' +
      "would be that order's. `null` if the key is free, or absent",
    null,
  )
  order_id!: number | null;

  @ApiNullable(
    'string',
    'Roubles for one proxy; multiplied by `count` it is exactly `price_final`. `null` if there is no ' +
      'order that could have a price',
    '25.08',
  )
  price_single!: string | null;

  @ApiNullable('string', 'Roubles for the whole order', '250.80')
  price_final!: string | null;

  @ApiProperty({ type: 'string', example: 'RUB' })
  currency!: string;

  @ApiRoubles('Roubles that can be spent now', '1000.00')
  balance_available!: string;

  @ApiRoubles('Roubles that could be spent after the order: as before, if it would be refused', '749.20')
  balance_after!: string;

  @ApiProperty({
    type: [OrderRefusal],
    description:
      'The refusals in the order of the checks: the request would return the first. Empty if the ' +
      'order would be placed, or its stored response returned',
    example: [],
  })
  refusals!: readonly OrderRefusal[];
}
