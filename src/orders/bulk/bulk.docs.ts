import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiExtraModels, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import {
  ApiErrorResponse,
  ApiIdempotencyKey,
  ApiValidationErrorResponse,
  missing,
  REPLAYED_HEADER,
} from '../../http';
import { ProxyFilterBody } from '../../proxies';
import { BulkProlongRequest, BulkProlongResponse } from './bulk.dto';

const EXAMPLES = {
  ids: { summary: 'One proxy', value: { proxy_ids: ['1'], period: 30, max_price: '60.00' } },
  filter: {
    summary: 'All that end before a moment',
    value: {
      filter: { ends_before: '2026-12-01T00:00:00Z', active: true },
      period: 30,
      max_price: '2500.00',
    },
  },
};

export const BulkProlongDocs = () =>
  applyDecorators(
    ApiExtraModels(ProxyFilterBody),
    ApiOperation({
      summary: 'Prolong many',
      description:
        'Prolongs up to 1000 proxies, each by an order of its own, and tells for each what came of it. If ' +
        'the balance is not enough for all, the first ones get it. Repeat it until nothing is ' +
        '`being_confirmed` or `unavailable`: what was prolonged is told again and never charged twice, and ' +
        'the rest is tried anew. It counts as one request.',
    }),
    ApiIdempotencyKey({
      required: true,
      description:
        'Makes it safe to repeat the request. The first request with a key fixes which proxies a filter ' +
        'means and what each may cost; each proxy is charged once at most under the key. A key of a ' +
        'purchase or of a single prolongation is refused, and so is the key of a bulk for those. ' +
        '`Idempotency-Replayed: true` says that nothing was left to try.',
      example: 'renew-2026-12',
    }),
    ApiBody({ type: BulkProlongRequest, required: true, examples: EXAMPLES }),
    ApiOkResponse({
      description: 'Successful Response',
      type: BulkProlongResponse,
      headers: REPLAYED_HEADER,
    }),
    ApiErrorResponse(
      400,
      'The filter matches too many; nothing was charged',
      'The filter matches 1234 proxies, and a request takes at most 1000',
    ),
    ApiErrorResponse(
      409,
      'All together would cost more than `max_price`, and nothing was charged; or an earlier request with ' +
        'this key is still in progress',
      'The price is 2508.00, above the max_price of 2500.00',
      'A request with this Idempotency-Key is in progress',
    ),
    ApiValidationErrorResponse(missing('header', 'Idempotency-Key')),
    ApiErrorResponse(503, 'Nothing was charged', 'Service temporarily unavailable'),
  );
