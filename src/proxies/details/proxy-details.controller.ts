import { Body, Controller, Get, Param, Patch, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type Caller, CurrentCaller, CurrentUserId, Scopes } from '../../auth';
import { Clock } from '../../common';
import { LabelProxiesRequest, type LabelProxiesResponse, LabelProxyRequest } from '../labels/labels.dto';
import { LabelsService } from '../labels/labels.service';
import { ProxiesService } from '../proxies.service';
import { readSelection } from '../selection/selections.service';
import { DetailsDocs, HistoryDocs, LabelDocs, LabelManyDocs } from './proxy-details.docs';
import { type ProxyDetails, toProxyDetails } from './proxy-details.dto';
import { HistoryQuery, type ProxyHistoryPage } from './proxy-history.dto';
import { ProxyHistoryService } from './proxy-history.service';

@ApiTags('Proxies')
@Controller('proxies')
export class ProxyDetailsController {
  constructor(
    private readonly proxies: ProxiesService,
    private readonly labels: LabelsService,
    private readonly histories: ProxyHistoryService,
    private readonly clock: Clock,
  ) {}

  @Patch()
  @Scopes('proxies:write')
  @LabelManyDocs()
  labelProxies(
    @CurrentCaller() caller: Caller,
    @Body() request: LabelProxiesRequest,
  ): Promise<LabelProxiesResponse> {
    return this.labels.changeAll(caller, readSelection(request), request);
  }

  @Get(':proxy_id')
  @Scopes('proxies:read')
  @DetailsDocs()
  async getProxy(@CurrentUserId() userId: number, @Param('proxy_id') proxyId: string): Promise<ProxyDetails> {
    return toProxyDetails(await this.proxies.get(userId, proxyId), this.clock.now());
  }

  @Patch(':proxy_id')
  @Scopes('proxies:write')
  @LabelDocs()
  async labelProxy(
    @CurrentCaller() caller: Caller,
    @Param('proxy_id') proxyId: string,
    @Body() request: LabelProxyRequest,
  ): Promise<ProxyDetails> {
    const { id } = await this.proxies.get(caller.userId, proxyId);
    await this.labels.change(caller, [id], request);
    return this.getProxy(caller.userId, proxyId);
  }

  @Get(':proxy_id/history')
  @Scopes('proxies:read')
  @HistoryDocs()
  async getProxyHistory(
    @CurrentUserId() userId: number,
    @Param('proxy_id') proxyId: string,
    @Query() query: HistoryQuery,
  ): Promise<ProxyHistoryPage> {
    const { id } = await this.proxies.get(userId, proxyId);
    return this.histories.read(userId, id, query);
  }
}
