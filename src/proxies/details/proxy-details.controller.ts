import { Body, Controller, Get, Patch, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type Caller, CurrentCaller, CurrentUserId, Route } from '../../auth';
import { Clock } from '../../common';
import { type ErrorsOfStatus } from '../../http';
import { TooManyTargets } from '../bulk-target/bulk-target.errors';
import { readBulkTarget } from '../bulk-target/bulk-targets.service';
import { LabelProxiesRequest, LabelProxiesResponse, LabelProxyRequest } from '../labels/labels.dto';
import { LimitedTokenCannotMoveRules, TooManyTags } from '../labels/labels.errors';
import { LabelsService } from '../labels/labels.service';
import { ProxiesService } from '../proxies.service';
import { NO_SUCH_PROXY, ProxyIdParam } from '../proxy-id';
import { ProxyDetails, toProxyDetails } from './proxy-details.dto';
import { HistoryQuery, ProxyHistoryPage } from './proxy-history.dto';
import { ProxyHistoryService } from './proxy-history.service';

const MOVES_RULES: ErrorsOfStatus = [
  'it has a daily limit, and the label or the tags decide which rule renews a proxy',
  LimitedTokenCannotMoveRules,
];

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
  @Route({
    scope: 'proxies:write',
    summary: 'Label many proxies',
    description:
      'Sets the label or the tags of up to 1,000 proxies, selected by their ids or by a filter. If the ' +
      'request fails, nothing is changed. Retrying a successful request has no further effect.',
    response: { type: LabelProxiesResponse },
    body: {
      type: LabelProxiesRequest,
      examples: {
        'Some proxies': { value: { proxy_ids: ['1'], add_tags: ['team-a'] } },
        'All proxies of an order': { value: { filter: { order_id: 42 }, descr: 'scrapers' } },
      },
    },
    errors: {
      400: [
        'Too many proxies match, or a proxy would have too many tags',
        new TooManyTargets(1200),
        TooManyTags,
      ],
      403: MOVES_RULES,
    },
  })
  labelProxies(
    @CurrentCaller() caller: Caller,
    @Body() request: LabelProxiesRequest,
  ): Promise<LabelProxiesResponse> {
    return this.labels.changeAll(caller, readBulkTarget(request), request);
  }

  @Get(':proxy_id')
  @Route({
    scope: 'proxies:read',
    summary: 'One proxy',
    description: "One of the user's proxies, with its tags and its order.",
    response: { type: ProxyDetails },
    errors: { 404: NO_SUCH_PROXY },
  })
  async getProxy(@CurrentUserId() userId: number, @ProxyIdParam() proxyId: string): Promise<ProxyDetails> {
    return toProxyDetails(await this.proxies.get(userId, proxyId), this.clock.now());
  }

  @Patch(':proxy_id')
  @Route({
    scope: 'proxies:write',
    summary: 'Label a proxy',
    description:
      'Sets your own label (`descr`) and tags, which the provider never sees. Omitted fields are left ' +
      'unchanged. Lists and exports show `descr` and can be filtered by label and tag. Renewal rules ' +
      'can also use both.',
    response: { type: ProxyDetails },
    body: {
      type: LabelProxyRequest,
      examples: {
        'A label and tags': { value: { descr: 'scraper 1', tags: ['team-a'] } },
        'No label': { value: { descr: null } },
      },
    },
    errors: { 403: MOVES_RULES, 404: NO_SUCH_PROXY },
  })
  async labelProxy(
    @CurrentCaller() caller: Caller,
    @ProxyIdParam() proxyId: string,
    @Body() request: LabelProxyRequest,
  ): Promise<ProxyDetails> {
    const { id } = await this.proxies.get(caller.userId, proxyId);
    await this.labels.change(caller, [id], request);
    return this.getProxy(caller.userId, proxyId);
  }

  @Get(':proxy_id/history')
  @Route({
    scope: 'proxies:read',
    summary: 'List the history of a proxy',
    description:
      'The events of a proxy, newest first: its purchase and prolongations with their orders and ' +
      'prices, and changes made by the provider. For the time before the service began to record ' +
      'changes, only events caused by orders are known.',
    response: { type: ProxyHistoryPage },
    errors: { 404: NO_SUCH_PROXY },
  })
  async getProxyHistory(
    @CurrentUserId() userId: number,
    @ProxyIdParam() proxyId: string,
    @Query() query: HistoryQuery,
  ): Promise<ProxyHistoryPage> {
    const { id } = await this.proxies.get(userId, proxyId);
    return this.histories.read(userId, id, query);
  }
}
