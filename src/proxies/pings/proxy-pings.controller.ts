import { Body, Controller, Post, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentUserId, Route } from '../../auth';
import { disconnection } from '../../http';
import { TooManyTargets } from '../bulk-target/bulk-target.errors';
import { readBulkTarget } from '../bulk-target/bulk-targets.service';
import { PingProxiesRequest, PingProxiesResponse } from './ping-proxies.dto';
import { ProxyPings } from './proxy-pings';

@ApiTags('Proxies')
@Controller('proxies')
export class ProxyPingsController {
  constructor(private readonly pings: ProxyPings) {}

  @Post('ping')
  @Route({
    scope: 'proxies:read',
    summary: 'Ping many proxies',
    description:
      'Pings up to 1000 proxies as `GET /proxies/{proxy_id}/ping` does. Responds within 10 seconds ' +
      'with the results so far, and stops if the client disconnects. Counts as a single request.',
    response: PingProxiesResponse,
    body: {
      type: PingProxiesRequest,
      examples: {
        filter: { summary: 'All active proxies', value: { filter: { active: true } } },
        ids: { summary: 'Two proxies', value: { proxy_ids: ['1', '2'] } },
      },
    },
    errors: { 400: ['The filter matches too many proxies', new TooManyTargets(1234)] },
  })
  async pingProxies(
    @CurrentUserId() userId: number,
    @Body() request: PingProxiesRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<PingProxiesResponse> {
    const proxies = await this.pings.ping(userId, readBulkTarget(request), disconnection(response));
    return { proxies };
  }
}
