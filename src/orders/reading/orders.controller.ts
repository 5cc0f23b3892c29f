import { Controller, Get, Param, Query, Req, Res } from '@nestjs/common';
import { ApiParam, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { CurrentUserId, Route } from '../../auth';
import { disconnection, INVALID_PERIOD } from '../../http';
import { OrderNotFound } from '../orders.errors';
import { OrderDetails, OrderSummaryPage } from './dto/order.dto';
import { LONGEST_WAIT_SECONDS, OrderWaitQuery, OrdersQuery } from './dto/orders.query';
import { OrderReadingService } from './order-reading.service';

@ApiTags('Orders')
@Controller('orders')
export class OrdersController {
  constructor(private readonly orders: OrderReadingService) {}

  @Get()
  @Route({
    scope: 'proxies:read',
    summary: 'List orders',
    description:
      "The user's orders that match all of the given parameters, newest first. Results are paginated: " +
      'send `next_cursor` as `cursor` until it is null. No order is skipped or repeated, even if new ' +
      'orders are placed meanwhile. `from` and `to` limit the time at which an order was placed. To ' +
      'find the order of a request whose response was lost or was `the order of request … is being ' +
      'confirmed`, filter by its `key`. The list is empty if no order was placed.',
    response: { description: 'A page of orders', type: OrderSummaryPage },
    errors: { 400: INVALID_PERIOD },
  })
  listOrders(@CurrentUserId() userId: number, @Query() query: OrdersQuery): Promise<OrderSummaryPage> {
    return this.orders.list(userId, query);
  }

  @Get(':order_id')
  @Route({
    scope: 'proxies:read',
    summary: 'Show an order',
    description:
      "One of the user's orders. `Location` in a response such as `order 42 is being confirmed` is its " +
      `path. If \`wait\` is set (up to ${LONGEST_WAIT_SECONDS} seconds), the request waits until the ` +
      'order is closed; send it again while the order is `open` or `being_confirmed`. `GET /proxies` ' +
      'lists the proxies.',
    response: { description: 'The order', type: OrderDetails },
    errors: { 404: ['The user has no order with this id', OrderNotFound] },
  })
  @ApiParam({
    name: 'order_id',
    description: "The `id` of one of the user's orders; any other text returns 404",
    // Responses contain integer ids, but existing clients declare this parameter as a string: accept both.
    schema: { anyOf: [{ type: 'integer' }, { type: 'string' }], title: 'Order Id', example: 1 },
  })
  getOrder(
    @CurrentUserId() userId: number,
    @Param('order_id') orderId: string,
    @Query() { wait }: OrderWaitQuery,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<OrderDetails> {
    return this.orders.read(userId, orderId, { seconds: wait, request, hungUp: disconnection(response) });
  }
}
