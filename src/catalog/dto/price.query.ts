import { ApiProperty } from '@nestjs/swagger';
import { IP_VERSION_PATTERN, IP_VERSIONS_TEXT, type IpVersion } from '../../common';
import { IntegerField, StringField } from '../../http';
import { PERIODS_TEXT } from '../rental-periods';

export class PriceQuery {
  @ApiProperty({ description: 'The number of proxies', example: 1 })
  @IntegerField({ greaterThan: 0, atMost: 1000 })
  readonly count!: number;

  @ApiProperty({ description: PERIODS_TEXT, example: 30 })
  @IntegerField({ greaterThan: 0 })
  readonly period!: number;

  @ApiProperty({ description: IP_VERSIONS_TEXT })
  @StringField({ pattern: IP_VERSION_PATTERN, default: '6' })
  readonly version!: IpVersion;
}
