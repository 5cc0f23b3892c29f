import { Body, Controller, Headers, Post, Res } from '@nestjs/common';
import { ApiExtraModels, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { type Caller, CurrentCaller, ReplaysOverLimit, Route } from '../../auth';
import { CountryNotAvailable, NotEnoughProxies, PeriodTooShort, UnsupportedPeriod } from '../../catalog';
import { Money, ServiceUnavailable } from '../../common';
import { type ErrorsOfStatus, markReplay } from '../../http';
import { InsufficientBalance } from '../../ledger';
import { NO_SUCH_PROXY, ProxyIdParam, ProxyOut } from '../../proxies';
import {
  CannotBeProlonged,
  DailyLimitExceeded,
  IdempotencyKeyInProgress,
  OrderBeingConfirmed,
  PriceAboveMax,
  ProlongationInProgress,
  RequestWrittenOff,
  UnsupportedProxyType,
} from '../orders.errors';
import { DryRunResponse } from './dto/dry-run-response.dto';
import { ProlongRequest, ProlongResponse, PurchaseRequest, PurchaseResponse } from './dto/orders.dto';
import { readProlongation, readPurchase } from './order-request';
import { orderResponse, EXAMPLE_PROXY, EXAMPLE_RECEIPT } from './order-response';
import { type OrderResult, OrdersService } from './orders.service';

const ORDER_KEY = {
  required: false,
  description:
    'Makes the request safe to retry: it is executed once per key, and each retry returns the same ' +
    'body with `Idempotency-Replayed: true`. Long after the end of the rental, the body has empty ' +
    'logins and passwords, and `descr` says so. Retry after 429, 5xx, a lost connection, and 409 with ' +
    '`Retry-After`, until the response is 200 or another 4xx; a 409 without `Retry-After` is final.',
  example: 'order-2026-12-1',
};

const REFUSED = {
  'Order-Refusal': {
    description:
      '`price-above-max`, `daily-limit-exceeded` or `request-written-off`; absent from other refusals',
    schema: { type: 'string' as const, example: 'price-above-max' },
  },
};

const UNFINISHED = {
  'Retry-After': {
    description: 'The number of seconds after which to retry. A 409 without this header is final',
    schema: { type: 'integer' as const, example: 5 },
  },
  Location: {
    description:
      'The path of the order, if known: `GET` it with `?wait=30` to wait for its end. Otherwise find ' +
      'the order by its key: `GET /orders?key=…`',
    schema: { type: 'string' as const, example: '/orders/42' },
  },
};

const UNAVAILABLE: ErrorsOfStatus = [
  'The provider is unavailable and nothing was charged, or the outcome is not known yet: the order that ' +
    '`detail` names, or the order of the request that it names, is settled in the background',
  ServiceUnavailable,
  new OrderBeingConfirmed({ orderId: 42 }),
  new OrderBeingConfirmed({ requestId: '5f0c1b7e' }),
];

@ApiTags('Orders')
@Controller('proxies')
export class PlacingController {
  constructor(private readonly orders: OrdersService) {}

  @Post('buy')
  @ReplaysOverLimit()
  @ApiExtraModels(ProxyOut, PurchaseResponse, DryRunResponse)
  @Route({
    scope: 'proxies:write',
    operationId: 'buy_proxies_buy_post',
    summary: 'Buy',
    description:
      'Rents proxies and charges the price that `GET /price` quotes at that moment, or less in a ' +
      'cheaper country.',
    response: orderResponse(PurchaseResponse, { ...EXAMPLE_RECEIPT, proxies: [EXAMPLE_PROXY] }),
    idempotencyKey: ORDER_KEY,
    body: {
      type: PurchaseRequest,
      examples: {
        one: { summary: 'One proxy', value: { country: 'ru', period: 30, version: '6' } },
        guarded: {
          summary: 'Ten proxies for at most 250.80 roubles together',
          value: { country: 'ru', period: 30, count: 10, version: '6', max_price: '250.80' },
        },
        whole: {
          summary: 'Ten proxies, or none if they are not in stock',
          value: { country: 'ru', period: 30, count: 10, version: '6', allow_partial: false },
        },
        dry_run: {
          summary: 'The price, and whether the order would be executed',
          value: { country: 'ru', period: 30, version: '6', dry_run: true },
        },
      },
    },
    errors: {
      400: [
        'The order cannot be executed; nothing was charged',
        InsufficientBalance,
        new PeriodTooShort('rental', 'IPv6', 3),
        UnsupportedProxyType,
        UnsupportedPeriod,
        CountryNotAvailable,
        NotEnoughProxies,
        DailyLimitExceeded,
      ],
      409: [
        'The order costs more than `max_price`, or the order of this key was written off; nothing was ' +
          'charged; or the first request with this key is still in progress',
        IdempotencyKeyInProgress,
        RequestWrittenOff,
        new PriceAboveMax(Money.parse('27.50'), Money.parse('25.08')),
      ],
      503: UNAVAILABLE,
    },
    errorHeaders: { 400: REFUSED, 409: { ...UNFINISHED, ...REFUSED }, 503: UNFINISHED },
  })
  async buy(
    @CurrentCaller() caller: Caller,
    @Body() request: PurchaseRequest,
    @Headers('idempotency-key') idempotencyKey: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<PurchaseResponse | DryRunResponse> {
    nameGuards(response, request);
    const order = readPurchase(caller, request, idempotencyKey);
    if (request.dry_run) return this.orders.rehearse(order);
    const result = await this.orders.place(order);
    markReplay(response, result.replayed);
    return { ...receiptOf(result), proxies: result.proxies };
  }

  @Post(':proxy_id/prolong')
  @ReplaysOverLimit()
  @ApiExtraModels(ProlongResponse, DryRunResponse)
  @Route({
    scope: 'proxies:write',
    operationId: 'prolong_proxies__proxy_id__prolong_post',
    summary: 'Prolong',
    description:
      'Prolongs a proxy and charges the price of one proxy of its version and the period, which ' +
      '`GET /price` quotes at that moment, or less in a cheaper country.',
    response: orderResponse(ProlongResponse, { ...EXAMPLE_RECEIPT, order_id: 43, proxy: EXAMPLE_PROXY }),
    idempotencyKey: ORDER_KEY,
    body: {
      type: ProlongRequest,
      examples: {
        month: { summary: 'A month', value: { period: 30 } },
        guarded: { summary: 'For at most 25.08 roubles', value: { period: 30, max_price: '25.08' } },
        dry_run: { summary: 'The price', value: { period: 30, dry_run: true } },
      },
    },
    errors: {
      400: [
        'The order cannot be executed; nothing was charged',
        InsufficientBalance,
        new PeriodTooShort('renewal', 'IPv4', 7),
        UnsupportedPeriod,
        CannotBeProlonged,
        DailyLimitExceeded,
      ],
      404: NO_SUCH_PROXY,
      409: [
        'The prolongation costs more than `max_price`, or the order of this key was written off; nothing ' +
          'was charged; or another prolongation of the proxy, or the first request with this key, is ' +
          'still in progress',
        ProlongationInProgress,
        IdempotencyKeyInProgress,
        RequestWrittenOff,
        new PriceAboveMax(Money.parse('27.50'), Money.parse('25.08')),
      ],
      503: UNAVAILABLE,
    },
    errorHeaders: { 400: REFUSED, 409: { ...UNFINISHED, ...REFUSED }, 503: UNFINISHED },
  })
  async prolong(
    @CurrentCaller() caller: Caller,
    @ProxyIdParam() proxyId: string,
    @Body() request: ProlongRequest,
    @Headers('idempotency-key') idempotencyKey: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ProlongResponse | DryRunResponse> {
    nameGuards(response, request);
    const order = readProlongation(caller, proxyId, request, idempotencyKey);
    if (request.dry_run) return this.orders.rehearse(order);
    const result = await this.orders.place(order);
    const [proxy] = result.proxies;
    if (!proxy) throw new Error(`order ${result.orderId} prolonged no proxy`);
    markReplay(response, result.replayed);
    return { ...receiptOf(result), proxy };
  }
}

const receiptOf = ({ orderId, charged }: OrderResult) => ({
  order_id: orderId,
  price_charged: charged,
  currency: 'RUB',
});

interface Guards {
  readonly max_price: Money | null;
  readonly allow_partial?: boolean;
  readonly dry_run: boolean;
}

/** Lists the applied guards: this route ignores unknown fields, so a misspelt guard would go unnoticed. */
function nameGuards(response: Response, guards: Guards): void {
  const named = [
    guards.max_price && `max_price=${guards.max_price.toString()}`,
    guards.allow_partial === false && 'allow_partial=false',
    guards.dry_run && 'dry_run=true',
  ].filter((guard) => typeof guard === 'string');
  if (named.length > 0) response.setHeader('Order-Guards', named.join(', '));
}
