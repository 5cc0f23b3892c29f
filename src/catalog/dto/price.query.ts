import { IP_VERSION_PATTERN, IP_VERSIONS_TEXT, type IpVersion } from '../../common';
import { IntegerField, StringField } from '../../http';
import { PERIODS_TEXT } from '../rental-periods';

export class PriceQuery {
  @IntegerField({ description: 'The number of proxies', example: 1, greaterThan: 0, atMost: 1000 })
  readonly count!: number;

  @IntegerField({ description: PERIODS_TEXT, example: 30, greaterThan: 0 })
  readonly period!: number;

  @StringField({ description: IP_VERSIONS_TEXT, pattern: IP_VERSION_PATTERN, default: '6' })
  readonly version!: IpVersion;
}
