import { Controller, Get, Query } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { ApiErrorResponse, ApiValidationErrorResponse, IdParam } from '../http';
import { CausingAction, CausingOrder } from './dto/balance.dto';
import { type Page, toPage } from './dto/fields';
import { OrderDetail, OrderGroupOut, OrdersPage, OrdersQuery } from './dto/order.dto';
import { ApiOrderId } from './dto/path-ids';
import type { OrderRow } from './order-row';
import { type OrderDetailRow, StaffOrdersService } from './staff-orders.service';
import { StaffRoute } from './staff-route';

@ApiTags('Orders')
@ApiExtraModels(CausingAction, CausingOrder, OrderGroupOut)
@Controller('staff/orders')
export class StaffOrdersController {
  constructor(private readonly orders: StaffOrdersService) {}

  @Get()
  @StaffRoute({
    scope: 'staff:orders',
    action: 'orders.search',
    summary: 'Find orders',
    description:
      'For support and whoever decides orders in review: by any of these and all of them together, the last placed first. `from` is included and ' +
      '`to` is not. `tag` is an order’s own, or the one under which it went to the provider together with others. `provider_proxy_id` and `host` ' +
      'are those of a proxy that the order delivered or prolonged. `request_id` is what the customer’s answer had as `X-Request-Id`.',
  })
  @ApiOkResponse({ description: 'A page of orders, the last placed first', type: OrdersPage })
  @ApiValidationErrorResponse({
    type: 'string_pattern_mismatch',
    loc: ['query', 'kind'],
    msg: "String should match pattern '^(purchase|prolongation)$'",
    input: 'refund',
    ctx: { pattern: '^(purchase|prolongation)$' },
  })
  async search(@Query() query: OrdersQuery): Promise<Page<OrderRow>> {
    const { user_id: userId, state, kind, from, to, tag, host, cursor, limit } = query;
    const {
      provider_order_id: providerOrderId,
      provider_proxy_id: providerProxyId,
      request_id: requestId,
    } = query;
    const filter = { userId, state, kind, from, to, tag, providerOrderId, providerProxyId, host, requestId };
    return toPage(await this.orders.search(filter, { cursor, limit: limit + 1 }), limit, ({ id }) => id);
  }

  @Get(':order_id')
  @StaffRoute({
    scope: 'staff:orders',
    action: 'orders.read',
    on: ['order', 'order_id'],
    summary: 'An order',
    description:
      'For support and whoever decides orders in review: all that is known of an order. Its states and when each began, what it did to the balance, ' +
      'what was asked of the provider for it and answered (the latest 200 calls; of very long answers without the list), its proxies (1000 at most, ' +
      'without logins and passwords), and what staff changed of it (the latest 50).',
  })
  @ApiOrderId()
  @ApiOkResponse({ description: 'The order', type: OrderDetail })
  @ApiErrorResponse(404, 'There is no such order', 'Order not found')
  @ApiValidationErrorResponse({
    type: 'int_parsing',
    loc: ['path', 'order_id'],
    msg: 'Input should be a valid integer, unable to parse string as an integer',
    input: 'last',
  })
  get(@IdParam('order_id') orderId: number): Promise<OrderDetailRow> {
    return this.orders.get(orderId);
  }
}
