import { ApiTitled } from '../../http';

export class CountryStock {
  @ApiTitled({ type: 'string', example: 'ru' })
  country!: string;

  @ApiTitled({ type: 'string', example: '6' })
  version!: string;

  @ApiTitled({ type: 'integer', description: 'Proxies in stock', example: 971 })
  available!: number;
}
