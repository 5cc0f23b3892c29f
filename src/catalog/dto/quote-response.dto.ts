import { ApiTitled } from '../../http';

export class QuoteResponse {
  @ApiTitled({ type: 'string', description: 'Total for all proxies, in roubles', example: '106.20' })
  price_final!: string;

  @ApiTitled({
    anyOf: [{ type: 'string' }, { type: 'null' }],
    description: 'Price of one proxy, in roubles; multiplied by `count` it is exactly `price_final`',
    example: '10.62',
  })
  price_single!: string | null;

  @ApiTitled({ type: 'integer', description: 'Days', example: 30 })
  period!: number;

  @ApiTitled({ type: 'integer', example: 10 })
  count!: number;

  @ApiTitled({ type: 'string', required: false, default: 'RUB' })
  currency!: string;
}
