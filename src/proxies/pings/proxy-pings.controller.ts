import { Body, Controller, HttpCode, Post, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentUserId, Scopes } from '../../auth';
import { disconnection } from '../../http';
import { readSelection } from '../selection/selections.service';
import { PingProxiesRequest, PingProxiesResponse } from './ping-proxies.dto';
import { PingManyDocs } from './proxy-pings.docs';
import { ProxyPings } from './proxy-pings.service';

@ApiTags('Proxies')
@Controller('proxies')
export class ProxyPingsController {
  constructor(private readonly pings: ProxyPings) {}

  @Post('ping')
  @HttpCode(200)
  @Scopes('proxies:read')
  @PingManyDocs()
  async pingProxies(
    @CurrentUserId() userId: number,
    @Body() request: PingProxiesRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<PingProxiesResponse> {
    const proxies = await this.pings.ping(userId, readSelection(request), disconnection(response));
    return { proxies };
  }
}
