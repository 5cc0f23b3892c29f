import { Body, Controller, Get, Headers, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Money, ServiceUnavailable } from '../../common';
import { IdParam, INVALID_PERIOD } from '../../http';
import {
  NothingToDeliver,
  OrderNotFound,
  OrderNotInReview,
  ProxyBelongsToAnother,
  RefundTooLarge,
} from '../../orders';
import type { AuditContext } from '../audit-log/audit-context';
import { PostingOut } from '../balances/staff-balances.dto';
import { CurrentAudit, NOT_FOR_ONESELF, notFound, POSTING_KEY, StaffRoute } from '../staff-route';
import {
  DecisionRequest,
  OrderDetail,
  OrderOut,
  OrdersPage,
  OrdersQuery,
  RefundRequest,
} from './staff-orders.dto';
import { StaffOrdersService } from './staff-orders.service';

const REFUNDED = {
  id: 1240,
  user_id: 42,
  kind: 'refund',
  amount: '12.54',
  reason: 'One of two did not work',
  reference: 'ticket 823',
  balance: '487.46',
  held: '0.00',
  created_at: '2026-11-21T14:00:00.000Z',
  replayed: false,
} satisfies Record<keyof PostingOut, unknown>;

@ApiTags('Orders')
@Controller('staff/orders')
export class StaffOrdersController {
  constructor(private readonly orders: StaffOrdersService) {}

  @Get()
  @StaffRoute({
    scope: 'staff:orders',
    action: 'orders.search',
    summary: 'Find orders',
    description:
      'For support and decisions in review: the orders that match all given parameters, newest first. ' +
      '`order_reference` is that of an order, or the one under which it was sent in a batch. ' +
      '`provider_proxy_id` and `host` are those of a proxy that the order delivered or prolonged. ' +
      "`request_id` is the `X-Request-Id` of the customer's response." +
      ' For a host with more than 2,000 proxies, orders are sorted by the delivery of the ' +
      "proxy, newest first: the prolongations of an order's proxies, and then that order. A page " +
      'contains the matches among some 2,000 of its proxies, so it may be short, or empty, and still ' +
      'have a next one.',
    response: { description: 'A page of orders, newest first', type: OrdersPage },
    errors: { 400: INVALID_PERIOD },
  })
  search(@Query() query: OrdersQuery): Promise<OrdersPage> {
    return this.orders.search(query);
  }

  @Get(':order_id')
  @StaffRoute({
    scope: 'staff:orders',
    action: 'orders.read',
    on: 'order',
    summary: 'Show an order',
    description:
      'For support and decisions in review: everything about an order. Its states with their times, ' +
      'its effect on the balance, the calls to the provider with their responses (the latest 200; ' +
      'very long responses without their list), its proxies (at most 1000, without logins and ' +
      'passwords), and changes by staff (the latest 50).',
    response: { description: 'The order', type: OrderDetail },
    errors: { 404: notFound(OrderNotFound) },
  })
  read(@IdParam('order_id') orderId: number): Promise<OrderDetail> {
    return this.orders.getDetail(orderId);
  }

  @Post(':order_id/decide')
  @StaffRoute({
    scope: 'staff:orders',
    action: 'orders.decide',
    on: 'order',
    summary: 'Decide an order in review',
    description:
      'For support, when the outcome of an order is unknown. `deliver` queries the provider once more, ' +
      'delivers the proxies that it lists for the order, charges for them, and releases the rest of ' +
      'the money. `cancel` releases all of the money; proxies that the provider has nevertheless become ' +
      'unmatched proxies at the next sweep. The orders of a batch are decided one by one.',
    response: { description: 'The order as it is now', type: OrderOut },
    errors: {
      403: NOT_FOR_ONESELF,
      404: notFound(OrderNotFound),
      409: ['Nothing was changed', OrderNotInReview, NothingToDeliver, ProxyBelongsToAnother],
      503: ['The provider is unavailable. Nothing was changed', ServiceUnavailable],
    },
  })
  decide(
    @CurrentAudit() audit: AuditContext,
    @IdParam('order_id') orderId: number,
    @Body() { decision, reason }: DecisionRequest,
  ): Promise<OrderOut> {
    return this.orders.decide(audit, orderId, decision, reason);
  }

  @Post(':order_id/refund')
  @StaffRoute({
    scope: 'staff:balance',
    action: 'orders.refund',
    on: 'order',
    summary: 'Refund an order',
    description:
      'For support, when a complaint is justified: returns `amount` of the price paid for an order, or, if ' +
      'omitted, the rest of it. Several refunds together never exceed the price paid. The user keeps the ' +
      'proxies.',
    idempotencyKey: POSTING_KEY,
    response: {
      description: 'The ledger entry, with the balance after it',
      type: PostingOut,
      example: REFUNDED,
    },
    errors: {
      403: NOT_FOR_ONESELF,
      404: notFound(OrderNotFound),
      409: ['Nothing was changed', new RefundTooLarge(Money.zero), new RefundTooLarge(Money.parse('12.54'))],
    },
  })
  refund(
    @CurrentAudit() audit: AuditContext,
    @IdParam('order_id') orderId: number,
    @Body() refund: RefundRequest,
    @Headers('idempotency-key') key: string | undefined,
  ): Promise<PostingOut> {
    return this.orders.refund(audit, orderId, refund, key);
  }
}
