import { ApiProperty } from '@nestjs/swagger';
import { ApiTitled } from '../../../http';
import { ProxyOut } from '../../../proxies';

export class ProlongResponse {
  @ApiTitled({ required: false, anyOf: [{ type: 'integer' }, { type: 'null' }], example: 43 })
  order_id!: number | null;

  @ApiTitled({ type: 'string', description: 'Roubles', example: '3.54' })
  price_charged!: string;

  @ApiTitled({ type: 'string', required: false, default: 'RUB' })
  currency!: string;

  @ApiProperty({ type: ProxyOut })
  proxy!: ProxyOut;
}
