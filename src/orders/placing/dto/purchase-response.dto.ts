import { ApiTitled } from '../../../http';
import { ProxyOut } from '../../../proxies';

export class PurchaseResponse {
  @ApiTitled({ required: false, anyOf: [{ type: 'integer' }, { type: 'null' }], example: 42 })
  order_id!: number | null;

  @ApiTitled({ type: 'string', description: 'Roubles', example: '3.54' })
  price_charged!: string;

  @ApiTitled({ type: 'string', required: false, default: 'RUB' })
  currency!: string;

  @ApiTitled({ type: [ProxyOut] })
  proxies!: readonly ProxyOut[];
}
