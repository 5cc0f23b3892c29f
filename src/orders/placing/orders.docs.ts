import { applyDecorators, type Type } from '@nestjs/common';
import {
  ApiBody,
  ApiExtraModels,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  getSchemaPath,
} from '@nestjs/swagger';
import {
  ApiErrorResponse,
  ApiErrorWithHeaders,
  ApiIdempotencyKey,
  ApiValidationErrorResponse,
  REPLAYED_HEADER,
} from '../../http';
import { ProxyOut } from '../../proxies';
import { DryRunResponse } from './dto/dry-run-response.dto';
import { ProlongRequest } from './dto/prolong-request.dto';
import { ProlongResponse } from './dto/prolong-response.dto';
import { PurchaseRequest } from './dto/purchase-request.dto';
import { PurchaseResponse } from './dto/purchase-response.dto';

const ApiOrderKey = () =>
  ApiIdempotencyKey({
    required: false,
    description:
      'Makes it safe to repeat the request: under one key it is carried out once, and each repetition gets ' +
      'the same body with `Idempotency-Replayed: true`; long after the end of the rental, logins and ' +
      'passwords in it are empty, and `descr` says so. Retry after 429, 5xx, lost connections, and 409 with ' +
      '`Retry-After`, until the response is 200 or another 4xx; a 409 without `Retry-After` is final.',
    example: 'order-2026-12-1',
  });

const UNFINISHED = {
  'Retry-After': {
    description: 'Seconds after which to repeat the request. Without it, a 409 does not end by itself',
    schema: { type: 'integer' as const, example: 5 },
  },
  Location: {
    description:
      'The path of the order, when it is known: `GET` it with `?wait=30` to be told its end. Without it, ' +
      'an order that was placed is found by its key: `GET /orders?key=…`',
    schema: { type: 'string' as const, example: '/orders/42' },
  },
};

const PROXY: ProxyOut = {
  id: '17',
  host: '185.22.134.250',
  port: '7330',
  login: '5svBNZ',
  password: 'iagn2d',
  proxy_type: 'http',
  country: 'ru',
  version: '6',
  date_start: '2026-11-01T12:00:00Z',
  date_end: '2026-12-01T12:00:00Z',
  active: true,
  descr: null,
};

const RECEIPT = { order_id: 42, price_charged: '25.08', currency: 'RUB' };

const WOULD_BE_PLACED = {
  dry_run: true,
  order_id: null,
  price_single: '25.08',
  price_final: '25.08',
  currency: 'RUB',
  balance_available: '100.00',
  balance_after: '74.92',
  refusals: [],
};

const WOULD_BE_REFUSED = {
  ...WOULD_BE_PLACED,
  balance_available: '10.00',
  balance_after: '10.00',
  refusals: [
    { status: 409, detail: 'The price is 25.08, above the max_price of 20.00' },
    { status: 400, detail: 'Insufficient balance' },
  ],
};

/** The answer of an order that was carried out, and that of a dry run. */
const ApiOrderResponse = (type: Type<PurchaseResponse | ProlongResponse>, delivered: object) =>
  applyDecorators(
    ApiExtraModels(type, DryRunResponse),
    ApiOkResponse({
      description: 'Successful Response',
      headers: REPLAYED_HEADER,
      content: {
        'application/json': {
          schema: { anyOf: [{ $ref: getSchemaPath(type) }, { $ref: getSchemaPath(DryRunResponse) }] },
          examples: {
            delivered: { summary: 'The order was carried out', value: delivered },
            dry_run: { summary: 'A dry run: it would be carried out', value: WOULD_BE_PLACED },
            dry_run_refused: { summary: 'A dry run: it would be refused with 409', value: WOULD_BE_REFUSED },
          },
        },
      },
    }),
  );

const ApiUnavailableResponse = () =>
  ApiErrorWithHeaders(
    503,
    UNFINISHED,
    'The provider cannot be reached and nothing was charged; or the outcome is not known yet, and the ' +
      'named order, or the order of the named request if it was placed, is settled in the background',
    'Service temporarily unavailable',
    'Service temporarily unavailable: order 42 is being confirmed',
    'Service temporarily unavailable: the order of request 5f0c1b7e is being confirmed',
  );

export const BuyDocs = () =>
  applyDecorators(
    ApiExtraModels(ProxyOut),
    ApiOperation({
      operationId: 'buy_proxies_buy_post',
      summary: 'Buy',
      description:
        'Rents proxies and charges the balance with what `GET /price` quotes at that moment, or less in a ' +
        'cheaper country.',
    }),
    ApiOrderKey(),
    ApiBody({
      type: PurchaseRequest,
      required: true,
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
          summary: 'What it would cost, and whether it would be carried out',
          value: { country: 'ru', period: 30, version: '6', dry_run: true },
        },
      },
    }),
    ApiOrderResponse(PurchaseResponse, { ...RECEIPT, proxies: [PROXY] }),
    ApiErrorResponse(
      400,
      'The order cannot be carried out; nothing was charged',
      'Insufficient balance',
      'Minimum rental period for IPv6 is 3 days',
      'Unsupported proxy type',
      'Unsupported rental period',
      'Country not available',
      'Not enough proxies available',
      'Daily spending limit of the token exceeded',
    ),
    ApiErrorWithHeaders(
      409,
      UNFINISHED,
      'The order costs more than `max_price`, and nothing was charged; or the first request with this key ' +
        'is still in progress',
      'A request with this Idempotency-Key is in progress',
      'The price is 27.50, above the max_price of 25.08',
    ),
    ApiValidationErrorResponse({
      type: 'missing',
      loc: ['body', 'period'],
      msg: 'Field required',
      input: { country: 'ru' },
    }),
    ApiUnavailableResponse(),
  );

export const ProlongDocs = () =>
  applyDecorators(
    ApiOperation({
      operationId: 'prolong_proxies__proxy_id__prolong_post',
      summary: 'Prolong',
      description:
        'Prolongs a proxy and charges the balance with the price of one proxy of its version and the ' +
        'period: what `GET /price` quotes at that moment, or less in a cheaper country.',
    }),
    ApiParam({
      name: 'proxy_id',
      description: 'The `id` of a proxy of the user; any other text is answered with 404',
      schema: { type: 'string', title: 'Proxy Id', example: '1' },
    }),
    ApiOrderKey(),
    ApiBody({
      type: ProlongRequest,
      required: true,
      examples: {
        month: { summary: 'A month', value: { period: 30 } },
        guarded: { summary: 'For at most 25.08 roubles', value: { period: 30, max_price: '25.08' } },
        dry_run: { summary: 'What it would cost', value: { period: 30, dry_run: true } },
      },
    }),
    ApiOrderResponse(ProlongResponse, { ...RECEIPT, order_id: 43, proxy: PROXY }),
    ApiErrorResponse(
      400,
      'The order cannot be carried out; nothing was charged',
      'Insufficient balance',
      'Minimum renewal period for IPv4 is 7 days',
      'Unsupported rental period',
      'Proxy can no longer be prolonged',
      'Daily spending limit of the token exceeded',
    ),
    ApiErrorResponse(404, 'No proxy of the user has this id', 'Proxy not found'),
    ApiErrorWithHeaders(
      409,
      UNFINISHED,
      'The prolongation costs more than `max_price`, and nothing was charged; or another prolongation of ' +
        'the proxy, or the first request with this key, is still in progress',
      'A prolongation of this proxy is in progress',
      'A request with this Idempotency-Key is in progress',
      'The price is 27.50, above the max_price of 25.08',
    ),
    ApiValidationErrorResponse({
      type: 'greater_than',
      loc: ['body', 'period'],
      msg: 'Input should be greater than 0',
      input: 0,
      ctx: { gt: 0 },
    }),
    ApiUnavailableResponse(),
  );
