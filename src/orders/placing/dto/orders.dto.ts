import { ApiProperty } from '@nestjs/swagger';
import { PERIODS_TEXT, ProxyCountField } from '../../../catalog';
import { IP_VERSIONS, IP_VERSIONS_TEXT, type IpVersion, type Money } from '../../../common';
import { AmountField, ApiTitled, BooleanField, IntegerField, StringField } from '../../../http';
import { ProxyOut } from '../../../proxies';

const MAX_PRICE_TEXT =
  'The highest price of the whole order, in roubles. If the order costs more when its money is held, ' +
  'it is refused with 409, which states the price, and nothing is charged. If omitted or `null`, any ' +
  'price is accepted';

const ALLOW_PARTIAL_TEXT =
  "With `false`, the provider's stock is read first, and the order is refused with 400 if the stock " +
  'does not cover it and the orders queued before it. If the provider still delivers fewer, it takes ' +
  'none back: as with `true`, the customer keeps the delivered proxies, pays for them, and gets the ' +
  'rest of the money back';

const DRY_RUN_TEXT =
  'With `true`, the order is checked but not placed or charged. The response contains the price, and ' +
  'each reason for which the order would be refused. An `Idempotency-Key` is looked up, but not used up';

export class PurchaseRequest {
  @StringField({
    description: 'The code of a country on sale, case-insensitive: `GET /countries` lists them',
    example: 'ru',
    minLength: 2,
    maxLength: 4,
  })
  readonly country!: string;

  @IntegerField({ description: PERIODS_TEXT, example: 30, greaterThan: 0 })
  readonly period!: number;

  @ProxyCountField({ example: 1, default: 1 })
  readonly count!: number;

  @StringField({
    description:
      `${IP_VERSIONS_TEXT}. A purchase also takes \`3\`, the provider's own number of \`4s\`, because ` +
      'clients that were written for the provider send it; responses and all other routes have `4s`',
    example: '6',
    pattern: `^(${IP_VERSIONS.join('|')}|3)$`,
    default: '6',
  })
  readonly version!: IpVersion | '3';

  /** Any string. A later check refuses values other than `http` and `socks`. */
  @StringField({ description: '`http` or `socks` (SOCKS5)', example: 'http', default: 'http' })
  readonly proxy_type!: string;

  @AmountField({ description: MAX_PRICE_TEXT, example: '25.08', absent: 'null' })
  readonly max_price!: Money | null;

  @BooleanField({ description: ALLOW_PARTIAL_TEXT, example: true, default: true })
  readonly allow_partial!: boolean;

  @BooleanField({ description: DRY_RUN_TEXT, example: false, default: false })
  readonly dry_run!: boolean;
}

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

export class ProlongRequest {
  @IntegerField({ description: PERIODS_TEXT, example: 30, greaterThan: 0 })
  readonly period!: number;

  @AmountField({ description: MAX_PRICE_TEXT, example: '25.08', absent: 'null' })
  readonly max_price!: Money | null;

  @BooleanField({ description: DRY_RUN_TEXT, example: false, default: false })
  readonly dry_run!: boolean;
}

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
