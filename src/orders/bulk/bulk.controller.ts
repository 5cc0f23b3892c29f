import { Body, Controller, Headers, Post, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { type Caller, CurrentCaller, ReplaysOverLimit, Route } from '../../auth';
import { Money, ServiceUnavailable } from '../../common';
import { markReplay } from '../../http';
import { TooManyTargets } from '../../proxies';
import { IdempotencyKeyInProgress, PriceAboveMax } from '../orders.errors';
import { BulkProlongations } from './bulk-prolongations';
import { BulkProlongRequest, BulkProlongResponse } from './bulk.dto';

@ApiTags('Orders')
@Controller('proxies')
export class BulkController {
  constructor(private readonly bulks: BulkProlongations) {}

  @Post('prolong')
  @ReplaysOverLimit()
  @Route({
    scope: 'proxies:write',
    summary: 'Prolong many proxies',
    description:
      'Prolongs up to 1000 proxies, each with its own order, and returns a result for each. If the ' +
      'balance does not cover all of them, the first ones are prolonged. Retry with the same key until ' +
      'no item is `being_confirmed` or `unavailable`: prolonged proxies are returned again and never ' +
      'charged twice, and the others are retried. Each call counts as one request.',
    response: BulkProlongResponse,
    body: {
      type: BulkProlongRequest,
      examples: {
        ids: { summary: 'One proxy', value: { proxy_ids: ['1'], period: 30, max_price: '60.00' } },
        filter: {
          summary: 'All proxies whose rental ends before a given time',
          value: {
            filter: { ends_before: '2026-12-01T00:00:00Z', active: true },
            period: 30,
            max_price: '2500.00',
          },
        },
      },
    },
    idempotencyKey: {
      required: true,
      description:
        'Makes the request safe to retry. The first request with a key determines which proxies the ' +
        'filter selects and the maximum price of each; each proxy is charged at most once per key. A ' +
        'key that was used for a purchase or a single prolongation is refused, and vice versa. ' +
        '`Idempotency-Replayed: true` means that nothing was left to retry.',
      example: 'renew-2026-12',
    },
    errors: {
      400: ['The filter matches too many proxies; nothing was charged', new TooManyTargets(1234)],
      409: [
        'Nothing was charged because the prolongations cost more than `max_price` in total, or an ' +
          'earlier request with this key is still in progress',
        new PriceAboveMax(Money.parse('2508.00'), Money.parse('2500.00')),
        IdempotencyKeyInProgress,
      ],
      503: ['Nothing was charged', ServiceUnavailable],
    },
  })
  async prolongProxies(
    @CurrentCaller() caller: Caller,
    @Body() request: BulkProlongRequest,
    @Headers('idempotency-key') idempotencyKey: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<BulkProlongResponse> {
    const { response: body, replayed } = await this.bulks.prolong(caller, request, idempotencyKey);
    markReplay(response, replayed);
    return body;
  }
}
