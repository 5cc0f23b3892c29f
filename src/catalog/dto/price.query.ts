import { IP_VERSION_PATTERN, type IpVersion } from '../../common';
import { IntegerField, StringField } from '../../http';

export class PriceQuery {
  @IntegerField({ greaterThan: 0, atMost: 1000 })
  readonly count!: number;

  @IntegerField({ greaterThan: 0 })
  readonly period!: number;

  @StringField({ pattern: IP_VERSION_PATTERN, default: '6' })
  readonly version!: IpVersion;
}
