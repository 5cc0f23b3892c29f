import { ApiProperty } from '@nestjs/swagger';
import { IP_VERSIONS, PROXY_TYPES } from '../../common';
import { DateTimeField, StringField } from '../../http';
import type { OrderKind, OrderState } from '../../orders';
import { ActionOut } from './action.dto';
import { LedgerEntryOut } from './balance.dto';
import { ApiItems, ApiNextCursor, ApiNullable, IdField, PageQuery, PRINTABLE } from './fields';

export const ORDER_STATES = [
  'reserved',
  'submitting',
  'confirming',
  'review',
  'completed',
  'partial',
  'refunded',
] as const satisfies readonly OrderState[];
export const ORDER_KINDS = ['purchase', 'prolongation'] as const satisfies readonly OrderKind[];

const OneOf = (choices: readonly string[]) =>
  StringField({ optional: true, pattern: `^(${choices.join('|')})$` });
const NameField = () => StringField({ optional: true, maxLength: 100, pattern: PRINTABLE });

export class OrdersQuery extends PageQuery {
  @ApiProperty({ description: 'Whose order it is' })
  @IdField({ optional: true })
  user_id!: number | null;

  @ApiProperty({ description: 'Where it stands' })
  @OneOf(ORDER_STATES)
  state!: OrderState | null;

  @ApiProperty({ description: 'What it is' })
  @OneOf(ORDER_KINDS)
  kind!: OrderKind | null;

  @ApiProperty({ description: 'Placed then or later; a moment with its offset, e.g. 2026-11-01T00:00:00Z' })
  @DateTimeField({ optional: true })
  from!: Date | null;

  @ApiProperty({ description: 'Placed before' })
  @DateTimeField({ optional: true })
  to!: Date | null;

  @ApiProperty({ description: 'A whole tag, its own or that of its call' })
  @NameField()
  tag!: string | null;

  @ApiProperty({ description: 'Number of the order at the provider' })
  @NameField()
  provider_order_id!: string | null;

  @ApiProperty({ description: 'Number, at the provider, of a proxy that it delivered or prolonged' })
  @NameField()
  provider_proxy_id!: string | null;

  @ApiProperty({ description: 'Address of a proxy that it delivered or prolonged' })
  @NameField()
  host!: string | null;

  @ApiProperty({ description: '`X-Request-Id` of the customer’s answer' })
  @NameField()
  request_id!: string | null;
}

const ApiRoubles = (description: string, example: string) =>
  ApiProperty({ type: 'string', description: `Roubles ${description}`, example });
const ApiMoment = (example: string | null, description?: string) =>
  ApiNullable('string', { format: 'date-time', ...(description && { description }), example });

export class OrderOut {
  @ApiProperty({ type: 'integer', example: 815 })
  id!: number;

  @ApiProperty({ type: 'integer', example: 42 })
  user_id!: number;

  @ApiProperty({ type: 'string', enum: ORDER_KINDS, example: 'purchase' })
  kind!: string;

  @ApiProperty({ type: 'string', enum: ORDER_STATES, example: 'completed' })
  state!: string;

  @ApiProperty({ type: 'string', description: 'Its own', example: 'prs.f3k9.u42.o815' })
  tag!: string;

  @ApiProperty({ type: 'string', example: 'ru' })
  country!: string;

  @ApiProperty({ type: 'string', enum: IP_VERSIONS, example: '6' })
  version!: string;

  @ApiProperty({ type: 'integer', description: 'Days', example: 30 })
  period!: number;

  @ApiProperty({ type: 'integer', example: 3 })
  count!: number;

  @ApiProperty({ type: 'string', enum: PROXY_TYPES, example: 'http' })
  proxy_type!: string;

  @ApiNullable('integer', { description: 'Of a prolongation: what is prolonged', example: null })
  proxy_id!: number | null;

  @ApiRoubles('for one proxy', '8.36')
  unit_price!: string;

  @ApiRoubles('set aside when it was placed', '25.08')
  held!: string;

  @ApiRoubles('paid', '25.08')
  captured!: string;

  @ApiRoubles('given back when it was closed', '0.00')
  released!: string;

  @ApiRoubles('given back by staff of what was paid', '0.00')
  refunded!: string;

  @ApiNullable('string', { example: '100500' })
  provider_order_id!: string | null;

  @ApiNullable('string', { description: 'Why it was refunded or came to review', example: null })
  failure!: string | null;

  @ApiNullable('string', {
    description: 'Of the request that placed it',
    example: '3c9f4a52-7d0f-4bb0-a2d3-6b1a3e0ddf0e',
  })
  request_id!: string | null;

  @ApiProperty({ type: 'string', format: 'date-time', example: '2026-11-21T12:00:00.000Z' })
  created_at!: Date;

  @ApiMoment('2026-11-21T12:00:00.200Z', 'When it was sent to the provider')
  submitted_at!: Date | null;

  @ApiMoment('2026-11-21T12:00:01.000Z')
  closed_at!: Date | null;

  @ApiNullable('integer', {
    description: 'The order that led the call in which it went to the provider; itself when it went alone',
    example: 815,
  })
  group_id!: number | null;
}

export class OrdersPage {
  @ApiItems(() => OrderOut)
  items!: readonly OrderOut[];

  @ApiNextCursor()
  next_cursor!: number | null;
}

export class OrderStepOut {
  @ApiProperty({ type: 'string', enum: ORDER_STATES, example: 'reserved' })
  state!: string;

  @ApiMoment('2026-11-21T12:00:00.000Z', 'Null for some of before there was a history')
  at!: string | null;
}

export class OrderGroupOut {
  @ApiNullable('string', {
    description: 'Of purchases: the tag under which the provider lists them, which is the leading order’s',
    example: 'prs.f3k9.u42.o815',
  })
  upstream_tag!: string | null;

  @ApiProperty({ type: 'array', items: { type: 'integer' }, example: [815, 816] })
  order_ids!: readonly number[];
}

export class UpstreamCallOut {
  @ApiProperty({ type: 'integer', example: 4711 })
  id!: number;

  @ApiProperty({ type: 'string', example: 'buy' })
  method!: string;

  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'string' },
    example: {
      count: '3',
      period: '30',
      country: 'ru',
      version: '6',
      type: 'http',
      descr: 'prs.f3k9.u42.o815',
    },
  })
  request!: object;

  @ApiProperty({
    type: 'string',
    enum: ['done', 'refused', 'unavailable', 'unknown'],
    description: '`unavailable`: not sent; `unknown`: sent, and not answered as it should be',
    example: 'done',
  })
  outcome!: string;

  @ApiNullable('integer', { example: 200 })
  http_status!: number | null;

  @ApiProperty({
    anyOf: [{ type: 'object', additionalProperties: true }, { type: 'string' }, { type: 'null' }],
    description: 'Without logins and passwords; when there was none: why',
    example: { status: 'yes', order_id: '100500', count: 3, price: '20.90' },
  })
  answer!: unknown;

  @ApiProperty({ type: 'integer', example: 180 })
  duration_ms!: number;

  @ApiProperty({ type: 'string', format: 'date-time', example: '2026-11-21T12:00:00.400Z' })
  created_at!: Date;
}

export class OrderedProxyOut {
  @ApiProperty({ type: 'integer', example: 1001 })
  id!: number;

  @ApiProperty({ type: 'string', description: 'The provider’s number of it', example: '2000123' })
  provider_proxy_id!: string;

  @ApiProperty({ type: 'string', example: '203.0.113.7' })
  host!: string;

  @ApiProperty({ type: 'string', example: '8000' })
  port!: string;

  @ApiProperty({ type: 'boolean', example: true })
  active!: boolean;

  @ApiMoment('2026-12-21T12:00:00.000Z')
  date_end!: Date | null;

  @ApiMoment(null, 'When it was found that the provider has taken it away')
  withdrawn_at!: Date | null;

  @ApiNullable('integer', { description: 'In the log of actions: how staff handed it over', example: null })
  assigned_action_id!: number | null;
}

export class OrderDetail extends OrderOut {
  @ApiNullable('string', {
    description: 'Percent, on the provider’s price; null before there were price rules',
    example: '20.0000',
  })
  markup_percent!: string | null;

  @ApiNullable('integer', { description: 'The rule that said so; null: the default', example: null })
  price_rule_id!: number | null;

  @ApiProperty({ type: 'string', example: 'px6' })
  provider!: string;

  @ApiRoubles('that the provider quoted for the whole order', '20.9000')
  provider_price!: string;

  @ApiNullable('string', { description: 'Roubles that it took', example: '20.9000' })
  provider_charge!: string | null;

  @ApiMoment(null, 'Of a prolongation: the proxy’s end right before')
  date_end_before!: Date | null;

  @ApiProperty({
    type: 'string',
    format: 'date-time',
    description:
      'While reserved: when it is given up. Afterwards: the last moment at which the call can have gone out',
    example: '2026-11-21T12:00:30.000Z',
  })
  deadline!: Date;

  @ApiProperty({
    type: 'string',
    format: 'date-time',
    description: 'Of an open order: when the provider is asked for it next',
    example: '2026-11-21T12:00:30.000Z',
  })
  next_look_at!: Date;

  @ApiProperty({ type: 'integer', description: 'How often the provider was asked for it', example: 0 })
  looks!: number;

  @ApiMoment(null, 'Since when each look shows nothing of it')
  nothing_seen_since!: Date | null;

  @ApiNullable('integer', { description: 'The token with which it was placed', example: 17 })
  token_id!: number | null;

  @ApiNullable('string', { description: 'The customer’s', example: null })
  idempotency_key!: string | null;

  @ApiProperty({ type: [OrderStepOut] })
  history!: readonly OrderStepOut[];

  @ApiProperty({
    anyOf: [{ $ref: '#/components/schemas/OrderGroupOut' }, { type: 'null' }],
    description: 'The orders that travelled in the same call to the provider; null until then',
  })
  group!: OrderGroupOut | null;

  @ApiProperty({ type: [LedgerEntryOut] })
  entries!: readonly LedgerEntryOut[];

  @ApiProperty({ type: [UpstreamCallOut], description: 'For all of the group, in order of time' })
  upstream_calls!: readonly UpstreamCallOut[];

  @ApiProperty({ type: [OrderedProxyOut], description: 'Delivered, or of a prolongation: prolonged' })
  proxies!: readonly OrderedProxyOut[];

  @ApiProperty({ type: [ActionOut], description: 'Newest first' })
  actions!: readonly ActionOut[];
}
