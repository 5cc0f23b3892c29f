import { ApiProperty } from '@nestjs/swagger';

export class QuoteResponse {
  @ApiProperty({
    type: 'string',
    title: 'Price Final',
    description: 'Total for all proxies, in roubles',
    example: '106.20',
  })
  price_final!: string;

  @ApiProperty({
    anyOf: [{ type: 'string' }, { type: 'null' }],
    title: 'Price Single',
    description: 'Price of one proxy, in roubles; multiplied by `count` it is exactly `price_final`',
    example: '10.62',
  })
  price_single!: string | null;

  @ApiProperty({ type: 'integer', title: 'Period', description: 'Days', example: 30 })
  period!: number;

  @ApiProperty({ type: 'integer', title: 'Count', example: 10 })
  count!: number;

  @ApiProperty({ type: 'string', required: false, default: 'RUB', title: 'Currency' })
  currency!: string;
}
