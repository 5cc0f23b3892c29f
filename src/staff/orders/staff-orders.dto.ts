import { ApiProperty } from '@nestjs/swagger';
import type { Money } from '../../common';
import {
  AmountField,
  ApiChoice,
  ApiInteger,
  ApiMoment,
  ApiNullable,
  ApiNullableMoment,
  ApiRoubles,
  ApiText,
  ApiTexts,
  ChoiceField,
  FromField,
  IdField,
  IntersectionType,
  PageOf,
  PageQuery,
  PickType,
  SearchField,
  TextField,
  ToField,
} from '../../http';
import { ORDER_KINDS, ORDER_STATES, type OrderKind, type OrderState, OrderSummary } from '../../orders';
import { ActionOut } from '../audit-log/audit-log.dto';
import { LedgerEntryOut } from '../balances/staff-balances.dto';
import { ReasonRequest } from '../fields';
import { OrderLinks } from '../links';

export const ORDER_DECISIONS = ['deliver', 'cancel'] as const;
export type OrderDecision = (typeof ORDER_DECISIONS)[number];

export class StaffOrdersQuery extends PageQuery {
  @IdField({ description: 'The user who placed the order', absent: 'null' })
  user_id!: number | null;

  @ChoiceField(ORDER_STATES, { description: 'The state of the order', absent: 'null' })
  state!: OrderState | null;

  @ChoiceField(ORDER_KINDS, { description: 'A purchase or a prolongation', absent: 'null' })
  kind!: OrderKind | null;

  @FromField()
  from!: Date | null;

  @ToField()
  to!: Date | null;

  @SearchField({ description: 'The complete order reference of the order or its batch' })
  order_reference!: string | null;

  @SearchField({ description: "The provider's id for the order" })
  provider_order_id!: string | null;

  @SearchField({ description: "The provider's id for a proxy that the order delivered or prolonged" })
  provider_proxy_id!: string | null;

  @SearchField({ description: 'The host of a proxy that the order delivered or prolonged' })
  host!: string | null;

  @SearchField({ description: "`X-Request-Id` of the customer's response" })
  request_id!: string | null;
}

export class DecisionRequest extends ReasonRequest {
  @ChoiceField(ORDER_DECISIONS, {
    description: '`deliver`: deliver the proxies that the provider has; `cancel`: release the money',
  })
  decision!: OrderDecision;
}

export class OrderRefundRequest extends ReasonRequest {
  @AmountField({
    description: 'The amount in roubles. Defaults to the part of the price that has not been refunded',
    absent: 'null',
  })
  amount!: Money | null;

  @TextField({
    description: 'The document that justifies the refund, such as an invoice or a ticket',
    absent: 'null',
  })
  reference!: string | null;
}

export class ReviewGuidance {
  @ApiNullable(
    'string',
    'Why the order is waiting for a decision by staff. `null` if it is not in review',
    null,
  )
  review_reason!: string | null;

  @ApiTexts('The next steps for staff, with the operations to use. Empty if the order is not in review', [])
  next_steps!: readonly string[];
}

export class StaffOrderOut extends IntersectionType(
  PickType(OrderSummary, [
    'id',
    'kind',
    'country',
    'version',
    'period',
    'count',
    'proxy_type',
    'unit_price',
    'released',
    'refunded',
    'request_id',
    'created_at',
    'closed_at',
  ]),
  ReviewGuidance,
) {
  @ApiProperty({ type: 'integer', example: 42 })
  user_id!: number;

  @ApiNullable('string', "The user's username, or web_username if there is none", 'boris')
  username!: string | null;

  @ApiProperty({ type: 'string', enum: ORDER_STATES, example: 'completed' })
  state!: OrderState;

  @ApiText('The order reference of this order', 'prs.f3k9.u42.o815x')
  order_reference!: string;

  @ApiNullable('integer', 'The proxy to prolong, if the order is a prolongation', null)
  proxy_id!: number | null;

  @ApiRoubles('Amount held when the order was placed, in roubles', '25.08')
  hold_amount!: string;

  @ApiRoubles('Roubles paid', '25.08')
  captured!: string;

  @ApiRoubles('Part of the price paid that can still be refunded, in roubles', '25.08')
  refundable!: string;

  @ApiNullable('string', { example: '100500' })
  provider_order_id!: string | null;

  @ApiNullable('string', 'Why the order was canceled or went to review', null)
  failure!: string | null;

  @ApiNullableMoment('When the order was sent to the provider', '2026-11-21T12:00:00.200Z')
  submitted_at!: Date | null;

  @ApiNullable(
    'integer',
    'The batch in which the order was sent, identified by its leading order, or the order itself if it ' +
      'was sent alone',
    815,
  )
  batch_id!: number | null;

  @ApiProperty({ type: OrderLinks })
  links!: OrderLinks;
}

/** An order as it is stored in the audit log. */
export type OrderRecord = Omit<StaffOrderOut, 'links' | 'refundable' | keyof ReviewGuidance>;

export class StaffOrdersPage extends PageOf(StaffOrderOut) {}

export class OrderStepOut {
  @ApiProperty({ type: 'string', enum: ORDER_STATES, example: 'reserved' })
  state!: OrderState;

  @ApiMoment('When the order entered this state')
  at!: string;
}

export class OrderBatchOut {
  @ApiNullable(
    'string',
    "The order reference of the batch's leader, under which the provider lists all purchases of the batch",
    'prs.f3k9.u42.o815x',
  )
  order_reference!: string | null;

  @ApiProperty({ type: 'array', items: { type: 'integer' }, example: [815, 816] })
  order_ids!: readonly number[];
}

export class ProviderCallOut {
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
      descr: 'prs.f3k9.u42.o815x',
    },
  })
  request!: Readonly<Record<string, string>>;

  @ApiChoice(
    ['done', 'refused', 'unavailable', 'unknown'],
    '`unavailable`: the call was not sent. `unknown`: the call was sent, but received no usable response',
    'done',
  )
  outcome!: string;

  @ApiNullable('integer', { example: 200 })
  http_status!: number | null;

  @ApiProperty({
    anyOf: [{ type: 'object', additionalProperties: true }, { type: 'string' }, { type: 'null' }],
    description: 'The response, with logins and passwords removed, or the reason no response was received',
    example: { status: 'yes', order_id: '100500', count: 3, price: '20.90' },
  })
  response!: unknown;

  @ApiProperty({ type: 'integer', example: 180 })
  duration_ms!: number;

  @ApiMoment(undefined, '2026-11-21T12:00:00.400Z')
  created_at!: Date;
}

/** Must not contain credentials. */
export class OrderedProxyOut {
  @ApiProperty({ type: 'integer', example: 1001 })
  id!: number;

  @ApiText("The provider's id for the proxy", '2000123')
  provider_proxy_id!: string;

  @ApiProperty({ type: 'string', example: '203.0.113.7' })
  host!: string;

  @ApiProperty({ type: 'string', example: '8000' })
  port!: string;

  @ApiProperty({ type: 'boolean', example: true })
  active!: boolean;

  @ApiNullableMoment(undefined, '2026-12-21T12:00:00.000Z')
  date_end!: Date | null;

  @ApiNullableMoment('When the service found that the provider had withdrawn the proxy', null)
  withdrawn_at!: Date | null;

  @ApiNullable('integer', 'The audit log record of the assignment, if staff assigned the proxy', null)
  assigned_action_id!: number | null;
}

export class StaffOrderDetails extends StaffOrderOut {
  @ApiNullable(
    'string',
    'The maximum price that the customer accepted, in roubles. `null` if any price was accepted',
    null,
  )
  max_price!: string | null;

  @ApiNullable(
    'string',
    "Percentage added to the provider's price. `null` for orders that were put back after a restore",
    '20.0000',
  )
  markup_percent!: string | null;

  @ApiNullable('integer', 'The price rule that set the markup. `null` for the default markup', null)
  price_rule_id!: number | null;

  @ApiProperty({ type: 'string', example: 'px6' })
  provider!: string;

  @ApiRoubles("The provider's quote for the whole order, in roubles", '20.9000')
  provider_price!: string;

  @ApiNullable('string', 'Amount charged by the provider, in roubles', '20.9000')
  provider_charge!: string | null;

  @ApiNullableMoment('The end of the rental before the prolongation', null)
  date_end_before!: Date | null;

  @ApiNullableMoment(
    'When the order will be canceled if it has not been sent by then. `null` unless it is `reserved`',
    null,
  )
  queued_until!: Date | null;

  @ApiNullableMoment(
    'The last time at which the call could have been sent. `null` if it was not sent',
    '2026-11-21T12:00:30.000Z',
  )
  sent_before!: Date | null;

  @ApiMoment('When the next search at the provider is due, if the order is open', '2026-11-21T12:00:30.000Z')
  next_search_at!: Date;

  @ApiInteger('How many times the provider was searched for the order', 0)
  searches!: number;

  @ApiNullableMoment('The time since which searches have found no evidence of the order', null)
  nothing_seen_since!: Date | null;

  @ApiNullable('integer', 'The token used to place the order', 17)
  token_id!: number | null;

  @ApiNullable('string', "The customer's Idempotency-Key", null)
  idempotency_key!: string | null;

  @ApiProperty({
    type: [OrderStepOut],
    description:
      'The states of the order. Only the last state is kept once the order has been closed for HISTORY_DAYS',
  })
  history!: readonly OrderStepOut[];

  @ApiNullable(
    OrderBatchOut,
    'The orders that were sent to the provider in one call. `null` until the order is sent',
  )
  batch!: OrderBatchOut | null;

  @ApiProperty({ type: [LedgerEntryOut] })
  entries!: readonly LedgerEntryOut[];

  @ApiProperty({
    type: [ProviderCallOut],
    description: 'The calls for the whole batch, oldest first. Calls are kept for PROVIDER_CALL_DAYS',
  })
  provider_calls!: readonly ProviderCallOut[];

  @ApiProperty({
    type: [OrderedProxyOut],
    description: 'The proxies that the purchase delivered, or the proxy that was prolonged',
  })
  proxies!: readonly OrderedProxyOut[];

  @ApiProperty({ type: [ActionOut], description: 'Changes that staff made to the order, newest first' })
  actions!: readonly ActionOut[];
}
