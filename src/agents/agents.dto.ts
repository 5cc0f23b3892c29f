import { ApiProperty } from '@nestjs/swagger';
import { PERIODS_TEXT, PriceQuery, ProxyCountField, VersionQuery } from '../catalog';
import { IP_VERSIONS, IP_VERSIONS_TEXT, type IpVersion, isId, PROXY_TYPES, type ProxyType } from '../common';
import {
  ApiBoolean,
  ApiInteger,
  ApiListOf,
  ApiNullable,
  ApiNullableMoment,
  ApiRoubles,
  ApiText,
  ApiTexts,
  BooleanField,
  ChoiceField,
  CURSOR,
  IdField,
  IntegerField,
  LimitField,
  NEXT_CURSOR,
  OmitType,
  StrictRequest,
  StringField,
  StringListField,
} from '../http';
import { LedgerFilterQuery } from '../ledger';
import { BulkProxyOut, DryRunResponse, OrderWaitQuery, OrderSummary } from '../orders';
import { FORMAT_NAMES, type FormatName, ProxyFilterBody, ProxyOut } from '../proxies';
import { ProxyRefundQuery } from '../proxy-refunds';

const RevealField = (what: string): PropertyDecorator =>
  BooleanField({
    description:
      `Whether to ${what}. Requires the scope \`proxies:export\`. Set it to \`true\` only after the ` +
      'user has agreed, because the passwords become part of the conversation',
    default: false,
  });

const ProxyIdField = (): PropertyDecorator =>
  StringField({ description: "The `id` of one of the user's proxies", example: '17', maxLength: 20 });

@StrictRequest()
export class NoInput {}

@StrictRequest()
export class CountriesInput extends VersionQuery {}

@StrictRequest()
export class StockInput extends VersionQuery {
  @StringField({ description: 'A country code', example: 'ru', minLength: 2, maxLength: 4 })
  readonly country!: string;
}

@StrictRequest()
export class PriceInput extends PriceQuery {}

export class CountriesOut {
  @ApiTexts('The codes of the countries where proxies are for sale', ['de', 'ru'])
  countries!: readonly string[];
}

@StrictRequest()
export class ProxiesInput extends ProxyFilterBody {
  @IdField({ description: CURSOR, absent: 'null' })
  readonly cursor!: number | null;

  @LimitField()
  readonly limit!: number;
}

export class ListedProxy extends OmitType(ProxyOut, ['login', 'password'] as const) {}

export class ProxiesOut {
  @ApiListOf(() => ListedProxy, 'Proxies, without logins and passwords')
  items!: readonly ListedProxy[];

  @ApiNullable('integer', NEXT_CURSOR, null)
  next_cursor!: number | null;
}

@StrictRequest()
export class ExportInput extends ProxyFilterBody {
  @ChoiceField(FORMAT_NAMES, { description: 'The format of the text', default: 'txt' })
  readonly format!: FormatName;

  @RevealField('return the export, which contains passwords')
  readonly reveal!: boolean;
}

export class ExportOut {
  @ApiText('The proxies in the requested format', '185.22.134.250:7330:5svBNZ:iagn2d\n')
  text!: string;
}

@StrictRequest()
export class ProxyInput {
  @ProxyIdField()
  readonly proxy_id!: string;
}

@StrictRequest()
export class RefundInput extends ProxyRefundQuery {
  @ProxyIdField()
  readonly proxy_id!: string;
}

@StrictRequest()
export class OrderInput extends OrderWaitQuery {
  @IdField({ description: "The `id` of one of the user's orders", example: 42 })
  readonly order_id!: number;
}

@StrictRequest()
export class LedgerInput extends LedgerFilterQuery {
  @IdField({ description: CURSOR, absent: 'null' })
  readonly cursor!: number | null;

  @LimitField()
  readonly limit!: number;
}

@StrictRequest()
export class PreparePurchaseInput {
  @StringField({
    description: 'The code of a country where proxies are for sale',
    example: 'ru',
    minLength: 2,
    maxLength: 4,
  })
  readonly country!: string;

  @IntegerField({ description: PERIODS_TEXT, example: 30, greaterThan: 0 })
  readonly period!: number;

  @ProxyCountField({ default: 1 })
  readonly count!: number;

  @ChoiceField(IP_VERSIONS, { description: IP_VERSIONS_TEXT, default: '6' })
  readonly version!: IpVersion;

  @ChoiceField(PROXY_TYPES, { description: '`http` or `socks` (SOCKS5)', default: 'http' })
  readonly proxy_type!: ProxyType;

  @BooleanField({
    description: 'Whether to accept, and pay for, fewer proxies if stock runs short',
    default: true,
  })
  readonly allow_partial!: boolean;
}

/** Low, because the order reference contains all these proxies' ids, and agents have to copy it. */
const MAX_PREPARED = 50;

@StrictRequest()
export class PrepareProlongationInput {
  @StringListField({
    description: `The \`id\`s of up to ${MAX_PREPARED} of the user's proxies`,
    example: ['17'],
    atLeast: 1,
    atMost: MAX_PREPARED,
    of: { isValid: isId, type: 'value_error', msg: 'This is not the id of a proxy' },
  })
  readonly proxy_ids!: readonly string[];

  @IntegerField({ description: PERIODS_TEXT, example: 30, greaterThan: 0 })
  readonly period!: number;
}

export class PreparationOut extends OmitType(DryRunResponse, [
  'dry_run',
  'order_id',
  'price_single',
] as const) {
  @ApiNullable(
    'string',
    'Pass this to place_order before `expires_at`. It places a single order for at most `price_final`, ' +
      'even if it is passed more than once. `null` if the order would be refused',
    'eyJ1IjoxNzY0…',
  )
  order_ref!: string | null;

  @ApiNullableMoment('The deadline for placing the order')
  expires_at!: Date | null;

  @ApiListOf(
    () => OrderSummary,
    'Orders placed in the last hour for the same purchase or the same proxies. If there are any, ask ' +
      'the user before placing another one',
  )
  equal_orders!: readonly OrderSummary[];

  @ApiText('The next step', 'Show the user the price, then call place_order with order_ref.')
  next!: string;
}

@StrictRequest()
export class PlaceOrderInput {
  @StringField({
    description: 'The `order_ref` that prepare_purchase or prepare_prolongation returned, unchanged',
    example: 'eyJ1IjoxNzY0…',
    maxLength: 3000,
    anyCharacter: true,
  })
  readonly order_ref!: string;

  @RevealField('include the logins and passwords of the purchased proxies')
  readonly reveal!: boolean;
}

export class BoughtProxy extends ListedProxy {
  @ApiNullable('string', '`null` unless revealed', null)
  login!: string | null;

  @ApiNullable('string', '`null` unless revealed', null)
  password!: string | null;
}

export class PlacedOrderOut {
  @ApiProperty({ type: 'string', enum: ['purchase', 'prolongation'] })
  kind!: 'purchase' | 'prolongation';

  @ApiNullable(
    'integer',
    'The order of a purchase. `null` for prolongations, because each proxy has its own order',
    42,
  )
  order_id!: number | null;

  @ApiRoubles('Total amount charged, in roubles', '25.08')
  price_charged!: string;

  @ApiText('The currency', 'RUB')
  currency!: string;

  @ApiBoolean('Whether an earlier call placed the order', false)
  replayed!: boolean;

  @ApiInteger('The number of delivered or prolonged proxies', 1)
  delivered!: number;

  @ApiListOf(() => BoughtProxy, 'The purchased proxies. Empty if there are too many to return: see `next`')
  proxies!: readonly BoughtProxy[];

  @ApiListOf(() => BulkProxyOut, 'The outcome of each prolongation')
  prolongations!: readonly BulkProxyOut[];

  @ApiText('The next step', 'The order has been executed; nothing more is needed.')
  next!: string;
}
