import { Controller, Get, Param, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { CurrentUserId, Scopes } from '../../auth';
import { disconnection } from '../../http';
import type { OrderDetails, OrderSummaryPage } from './dto/order.dto';
import { OrderQuery, OrdersQuery } from './dto/orders.query';
import { ListOrdersDocs, ReadOrderDocs } from './order-reading.docs';
import { OrderReadingService } from './order-reading.service';

@ApiTags('Orders')
@Controller('orders')
export class OrderReadingController {
  constructor(private readonly orders: OrderReadingService) {}

  @Get()
  @Scopes('proxies:read')
  @ListOrdersDocs()
  listOrders(@CurrentUserId() userId: number, @Query() query: OrdersQuery): Promise<OrderSummaryPage> {
    return this.orders.list(userId, query, query, query.sort);
  }

  @Get(':order_id')
  @Scopes('proxies:read')
  @ReadOrderDocs()
  getOrder(
    @CurrentUserId() userId: number,
    @Param('order_id') orderId: string,
    @Query() { wait }: OrderQuery,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<OrderDetails> {
    return this.orders.read(userId, orderId, { seconds: wait, request, hungUp: disconnection(response) });
  }
}
