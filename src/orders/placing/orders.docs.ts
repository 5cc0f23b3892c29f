import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiExtraModels, ApiOkResponse, ApiOperation, ApiParam } from '@nestjs/swagger';
import {
  ApiErrorResponse,
  ApiErrorWithHeaders,
  ApiIdempotencyKey,
  ApiValidationErrorResponse,
  REPLAYED_HEADER,
} from '../../http';
import { ProxyOut } from '../../proxies';
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
      'passwords in it are empty, and `descr` says so. Repeat after 409, 429, 5xx and lost connections ' +
      'until the answer is 200 or another 4xx.',
  });

const LOCATION = {
  Location: {
    description:
      'The path of the order, when it is known: `GET` it with `?wait=30` to be told its end. Without it, ' +
      'an order that was placed is found by its key: `GET /orders?key=…`',
    schema: { type: 'string' as const, example: '/orders/42' },
  },
};

const ApiUnavailableResponse = () =>
  ApiErrorWithHeaders(
    503,
    LOCATION,
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
      },
    }),
    ApiOkResponse({ description: 'Successful Response', type: PurchaseResponse, headers: REPLAYED_HEADER }),
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
      LOCATION,
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
      },
    }),
    ApiOkResponse({ description: 'Successful Response', type: ProlongResponse, headers: REPLAYED_HEADER }),
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
      LOCATION,
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
