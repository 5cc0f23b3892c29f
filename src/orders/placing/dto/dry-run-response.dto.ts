import { ApiProperty } from '@nestjs/swagger';
import { ApiInteger, ApiNullable, ApiRoubles, ApiText } from '../../../http';

export class DryRunRefusal {
  @ApiInteger('The status that the request would return', 400)
  status!: number;

  @ApiText('The `detail` that the request would return', 'Insufficient balance')
  detail!: string;
}

export class DryRunResponse {
  @ApiProperty({ type: 'boolean', enum: [true], example: true })
  dry_run!: true;

  @ApiNullable(
    'integer',
    'The existing order with this Idempotency-Key. If there is one, the request would place no order ' +
      'and return the response of the existing one. `null` if the key is unused or was not sent',
    null,
  )
  order_id!: number | null;

  @ApiNullable(
    'string',
    'Price of one proxy, in roubles. `price_final` is exactly this price times `count`. `null` if no ' +
      'price can be determined',
    '25.08',
  )
  price_single!: string | null;

  @ApiNullable('string', 'Price of the whole order, in roubles', '250.80')
  price_final!: string | null;

  @ApiProperty({ type: 'string', example: 'RUB' })
  currency!: string;

  @ApiRoubles('Current available balance, in roubles', '1000.00')
  balance_available!: string;

  @ApiRoubles(
    'Available balance after the order, in roubles. Unchanged if the order would be refused',
    '749.20',
  )
  balance_after!: string;

  @ApiProperty({
    type: [DryRunRefusal],
    description:
      'Why the order would be refused, in the order of the checks: the request would return the first ' +
      'refusal. Empty if the order would be placed, or if a stored response would be returned',
    example: [],
  })
  refusals!: readonly DryRunRefusal[];
}
