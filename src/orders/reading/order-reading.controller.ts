import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentUserId, Scopes } from '../../auth';
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
  list(@CurrentUserId() userId: number, @Query() query: OrdersQuery): Promise<OrderSummaryPage> {
    return this.orders.list(userId, query, query, query.sort);
  }

  @Get(':order_id')
  @Scopes('proxies:read')
  @ReadOrderDocs()
  read(
    @CurrentUserId() userId: number,
    @Param('order_id') orderId: string,
    @Query() { wait }: OrderQuery,
    @Res({ passthrough: true }) response: Response,
  ): Promise<OrderDetails> {
    const caller = new AbortController();
    response.once('close', () => caller.abort());
    return this.orders.read(userId, orderId, { seconds: wait, hungUp: caller.signal });
  }
}
