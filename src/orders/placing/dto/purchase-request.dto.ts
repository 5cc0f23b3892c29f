import { IP_VERSIONS, type IpVersion } from '../../../common';
import { IntegerField, StringField } from '../../../http';

export class PurchaseRequest {
  @StringField({ minLength: 2, maxLength: 4 })
  readonly country!: string;

  @IntegerField({ greaterThan: 0 })
  readonly period!: number;

  @IntegerField({ greaterThan: 0, atMost: 1000, default: 1 })
  readonly count!: number;

  /** `3` is the provider's number of `4s`. */
  @StringField({ pattern: `^(${IP_VERSIONS.join('|')}|3)$`, default: '6' })
  readonly version!: IpVersion | '3';

  /** Any text passes validation: a rule of its own refuses what is neither `http` nor `socks`. */
  @StringField({ default: 'http' })
  readonly proxy_type!: string;
}
