import { Body, Controller, Headers, HttpCode, Param, Post, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { type Caller, CurrentCaller, ReplaysOverLimit, Scopes } from '../../auth';
import { markReplay, statusOf } from '../../http';
import type { DryRunResponse } from './dto/dry-run-response.dto';
import { ProlongRequest } from './dto/prolong-request.dto';
import { ProlongResponse } from './dto/prolong-response.dto';
import { PurchaseRequest } from './dto/purchase-request.dto';
import { PurchaseResponse } from './dto/purchase-response.dto';
import { BuyDocs, ProlongDocs } from './orders.docs';
import { type Delivery, type DryRun, OrdersService } from './orders.service';

@ApiTags('Orders')
@Controller('proxies')
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Post('buy')
  @HttpCode(200)
  @Scopes('proxies:write')
  @ReplaysOverLimit()
  @BuyDocs()
  async buy(
    @CurrentCaller() caller: Caller,
    @Body() request: PurchaseRequest,
    @Headers('idempotency-key') idempotencyKey: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<PurchaseResponse | DryRunResponse> {
    if (request.dry_run) {
      return toDryRunResponse(await this.orders.rehearsePurchase(caller, request, idempotencyKey));
    }
    const delivery = await this.orders.buy(caller, request, idempotencyKey);
    markReplay(response, delivery.replayed);
    return { ...receiptOf(delivery), proxies: delivery.proxies };
  }

  @Post(':proxy_id/prolong')
  @HttpCode(200)
  @Scopes('proxies:write')
  @ReplaysOverLimit()
  @ProlongDocs()
  async prolong(
    @CurrentCaller() caller: Caller,
    @Param('proxy_id') proxyId: string,
    @Body() request: ProlongRequest,
    @Headers('idempotency-key') idempotencyKey: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ProlongResponse | DryRunResponse> {
    if (request.dry_run) {
      return toDryRunResponse(
        await this.orders.rehearseProlongation(caller, proxyId, request, idempotencyKey),
      );
    }
    const delivery = await this.orders.prolong(caller, proxyId, request, idempotencyKey);
    const [proxy] = delivery.proxies;
    if (!proxy) throw new Error(`order ${delivery.orderId} prolonged no proxy`);
    markReplay(response, delivery.replayed);
    return { ...receiptOf(delivery), proxy };
  }
}

const receiptOf = ({ orderId, charged }: Delivery) => ({
  order_id: orderId,
  price_charged: charged,
  currency: 'RUB',
});

function toDryRunResponse({ order, earlierId, available, refusals }: DryRun): DryRunResponse {
  const isPlaced = order !== undefined && refusals.length === 0;
  return {
    dry_run: true,
    order_id: earlierId,
    price_single: order?.unitPrice.toString() ?? null,
    price_final: order?.total.toString() ?? null,
    currency: 'RUB',
    balance_available: available.toString(),
    balance_after: (isPlaced ? available.minus(order.total) : available).toString(),
    refusals: refusals.map((error) => ({ status: statusOf(error), detail: error.detail })),
  };
}
