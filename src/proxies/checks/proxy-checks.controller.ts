import { Controller, Get, Header, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentUserId, Route } from '../../auth';
import { type Page, PageQuery, TooManyUnderWay } from '../../http';
import { ProxyNotFound, ProxyRefunded } from '../proxies.errors';
import { NO_SUCH_PROXY, ProxyIdParam } from '../proxy-id';
import { ProxyCheckOut, ProxyChecksPage } from './proxy-check-out.dto';
import { ChecksDisabled } from './proxy-checks.errors';
import { ProxyChecksService } from './proxy-checks.service';

@ApiTags('Proxies')
@Controller('proxies/:proxy_id')
export class ProxyChecksController {
  constructor(private readonly checks: ProxyChecksService) {}

  @Get('check')
  @Header('Cache-Control', 'no-store')
  @Route({
    scope: 'proxies:read',
    summary: 'Check a proxy',
    description:
      'Sends a request through the proxy to the echo endpoint, a route of this service, and reports ' +
      'within 10 seconds whether the request arrived, from which address, and how fast. `GET ' +
      '/proxies/{proxy_id}/ping` tests only whether the port can be reached.',
    response: { description: 'The result of the check', type: ProxyCheckOut },
    errors: {
      404: [
        'The user has no proxy with this id, or the operator has disabled checks',
        ProxyNotFound,
        ChecksDisabled,
      ],
      409: ['The proxy cannot be checked', ProxyRefunded],
      429: ['more than 10 checks are in progress', TooManyUnderWay],
    },
  })
  checkProxy(@CurrentUserId() userId: number, @ProxyIdParam() proxyId: string): Promise<ProxyCheckOut> {
    return this.checks.run(userId, proxyId);
  }

  @Get('checks')
  @Route({
    scope: 'proxies:read',
    summary: 'List the checks of a proxy',
    description: "The stored results of a proxy's checks, latest first.",
    response: { description: 'A page of checks', type: ProxyChecksPage },
    errors: { 404: NO_SUCH_PROXY },
  })
  listProxyChecks(
    @CurrentUserId() userId: number,
    @ProxyIdParam() proxyId: string,
    @Query() page: PageQuery,
  ): Promise<Page<ProxyCheckOut>> {
    return this.checks.list(userId, proxyId, page);
  }
}
