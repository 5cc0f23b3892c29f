import { ApiProperty } from '@nestjs/swagger';
import { ProxyOut } from '../../../proxies';

export class ProlongResponse {
  @ApiProperty({
    required: false,
    anyOf: [{ type: 'integer' }, { type: 'null' }],
    title: 'Order Id',
    example: 43,
  })
  order_id!: number | null;

  @ApiProperty({ type: 'string', title: 'Price Charged', description: 'Roubles', example: '3.54' })
  price_charged!: string;

  @ApiProperty({ type: 'string', required: false, default: 'RUB', title: 'Currency' })
  currency!: string;

  @ApiProperty({ type: ProxyOut })
  proxy!: ProxyOut;
}
