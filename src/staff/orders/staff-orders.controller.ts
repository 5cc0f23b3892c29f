import { Body, Controller, Get, Headers, HttpCode, Post, Query, Res } from '@nestjs/common';
import { ApiExtraModels, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { IdParam, markReplay } from '../../http';
import type { AuditContext } from '../audit-log/audit-context';
import { CausingAction, CausingOrder, type PostingOut } from '../balances/staff-balances.dto';
import { CurrentAudit, StaffRoute } from '../staff-route';
import { DecideOrderDocs, ReadOrderDocs, RefundOrderDocs, SearchOrdersDocs } from './staff-orders.docs';
import {
  DecisionRequest,
  type OrderDetail,
  OrderGroupOut,
  type OrderOut,
  type OrdersPage,
  OrdersQuery,
  RefundRequest,
} from './staff-orders.dto';
import { StaffOrdersService } from './staff-orders.service';

@ApiTags('Orders')
@ApiExtraModels(CausingAction, CausingOrder, OrderGroupOut)
@Controller('staff/orders')
export class StaffOrdersController {
  constructor(private readonly orders: StaffOrdersService) {}

  @Get()
  @SearchOrdersDocs()
  @StaffRoute({ scope: 'staff:orders', action: 'orders.search' })
  search(@Query() query: OrdersQuery): Promise<OrdersPage> {
    const { user_id: userId, state, kind, from, to, tag, host, request_id: requestId } = query;
    const { provider_order_id: providerOrderId, provider_proxy_id: providerProxyId } = query;
    const filter = { userId, state, kind, from, to, tag, providerOrderId, providerProxyId, host, requestId };
    return this.orders.search(filter, query);
  }

  @Get(':order_id')
  @ReadOrderDocs()
  @StaffRoute({ scope: 'staff:orders', action: 'orders.read', on: 'order' })
  read(@IdParam('order_id') orderId: number): Promise<OrderDetail> {
    return this.orders.getDetail(orderId);
  }

  @Post(':order_id/decide')
  @HttpCode(200)
  @DecideOrderDocs()
  @StaffRoute({ scope: 'staff:orders', action: 'orders.decide', on: 'order' })
  decide(
    @CurrentAudit() audit: AuditContext,
    @IdParam('order_id') orderId: number,
    @Body() { decision, reason }: DecisionRequest,
  ): Promise<OrderOut> {
    return this.orders.decide(audit, orderId, decision, reason);
  }

  @Post(':order_id/refund')
  @HttpCode(200)
  @RefundOrderDocs()
  @StaffRoute({ scope: 'staff:balance', action: 'orders.refund', on: 'order' })
  async refund(
    @CurrentAudit() audit: AuditContext,
    @IdParam('order_id') orderId: number,
    @Body() { amount, reason, reference }: RefundRequest,
    @Headers('idempotency-key') key: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<PostingOut> {
    const refund = { orderId, amount, reason, reference };
    const posting = await this.orders.refund(audit, refund, key);
    markReplay(response, posting.replayed);
    return posting;
  }
}
