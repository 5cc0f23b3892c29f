import { ApiProperty } from '@nestjs/swagger';
import {
  IP_VERSION_PATTERN,
  IP_VERSIONS,
  IP_VERSIONS_TEXT,
  type IpVersion,
  MAX_ORDER_SIZE,
} from '../../common';
import { ApiChoice, ApiInteger, ApiRoubles, ApiTitled, IntegerField, StringField } from '../../http';
import { PERIODS_TEXT } from '../rental-periods';

export const ProxyCountField = (options: { readonly example?: number; readonly default?: number }) =>
  IntegerField({ description: 'The number of proxies', greaterThan: 0, atMost: MAX_ORDER_SIZE, ...options });

export class VersionQuery {
  @StringField({ description: IP_VERSIONS_TEXT, pattern: IP_VERSION_PATTERN, default: '6' })
  readonly version!: IpVersion;
}

export class CountryStock {
  @ApiTitled({ type: 'string', example: 'ru' })
  country!: string;

  @ApiTitled({ type: 'string', example: '6' })
  version!: string;

  @ApiTitled({ type: 'integer', description: 'Proxies in stock', example: 971 })
  available!: number;
}

export class PriceQuery {
  @ProxyCountField({ example: 1 })
  readonly count!: number;

  @IntegerField({ description: PERIODS_TEXT, example: 30, greaterThan: 0 })
  readonly period!: number;

  @StringField({ description: IP_VERSIONS_TEXT, pattern: IP_VERSION_PATTERN, default: '6' })
  readonly version!: IpVersion;
}

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

export class PriceOut {
  @ApiChoice(IP_VERSIONS, IP_VERSIONS_TEXT, '6')
  version!: IpVersion;

  @ApiInteger('Days', 30)
  period!: number;

  @ApiRoubles('Price of one proxy for the period', '10.62')
  price_single!: string;
}

export class PricesResponse {
  @ApiProperty({ type: [PriceOut], description: 'By version and period' })
  prices!: readonly PriceOut[];

  @ApiProperty({ type: 'string', example: 'RUB' })
  currency!: string;
}
