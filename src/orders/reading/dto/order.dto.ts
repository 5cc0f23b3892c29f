import { ApiProperty } from '@nestjs/swagger';
import { IP_VERSIONS, PROXY_TYPES } from '../../../common';
import {
  ApiChoice,
  ApiInteger,
  ApiMoment,
  ApiNullable,
  ApiNullableMoment,
  ApiRoubles,
  ApiTexts,
  PageOf,
} from '../../../http';
import { ALL_PUBLIC_STATES, ORDER_KINDS, type OrderKind, type PublicState } from '../../order-states';

export class OrderSummary {
  @ApiProperty({ type: 'integer', example: 42 })
  id!: number;

  @ApiProperty({ type: 'string', enum: ORDER_KINDS, example: 'purchase' })
  kind!: OrderKind;

  @ApiChoice(
    ALL_PUBLIC_STATES,
    '`open`: queued or being executed. `being_confirmed`: the outcome is not known yet, and the money ' +
      'is held. `completed`, `partial`: delivered in full or in part. `canceled`: nothing was delivered ' +
      'or charged.',
    'completed',
  )
  state!: PublicState;

  @ApiProperty({ type: 'string', example: 'ru' })
  country!: string;

  @ApiProperty({ type: 'string', enum: IP_VERSIONS, example: '6' })
  version!: string;

  @ApiInteger('Days', 30)
  period!: number;

  @ApiInteger('The number of proxies ordered', 2)
  count!: number;

  @ApiProperty({ type: 'string', enum: PROXY_TYPES, example: 'http' })
  proxy_type!: string;

  @ApiNullable('string', 'The `id` of the proxy to prolong, if the order is a prolongation', null)
  proxy_id!: string | null;

  @ApiInteger('The number of proxies delivered or prolonged', 2)
  delivered!: number;

  @ApiRoubles('Price of one proxy, in roubles', '25.08')
  unit_price!: string;

  @ApiRoubles('Price of the whole order, in roubles: the sum of `held`, `charged` and `released`', '50.16')
  price!: string;

  @ApiNullable('string', 'The `max_price` of the request', null)
  max_price!: string | null;

  @ApiRoubles('Amount held for the order until it is closed, in roubles', '0.00')
  held!: string;

  @ApiRoubles('Amount charged for the delivered part of the order, in roubles', '50.16')
  charged!: string;

  @ApiRoubles('Amount released for the undelivered part of the order, in roubles', '0.00')
  released!: string;

  @ApiRoubles('Amount charged and later refunded, in roubles', '0.00')
  refunded!: string;

  @ApiProperty({ type: 'string', example: 'RUB' })
  currency!: string;

  @ApiNullable(
    'string',
    'Why the order was canceled, as in the response to its request. `null` if it was not canceled',
    null,
  )
  reason!: string | null;

  @ApiNullable('string', 'The `Idempotency-Key` of the request', 'first-order')
  idempotency_key!: string | null;

  @ApiNullable('string', 'The `X-Request-Id` of the request', '3c9f4a52-7d0f-4bb0-a2d3-6b1a3e0ddf0e')
  request_id!: string | null;

  @ApiMoment('When the order was placed')
  created_at!: Date;

  @ApiNullableMoment('When the order was closed. `null` until then', '2026-11-21T12:00:01.000Z')
  closed_at!: Date | null;
}

export class OrderSummaryPage extends PageOf(OrderSummary) {}

export class OrderDetails extends OrderSummary {
  @ApiTexts('The `id`s of the delivered proxies, or the `id` of the prolonged proxy', ['1001', '1002'])
  proxies!: readonly string[];
}
