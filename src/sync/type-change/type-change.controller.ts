import { Body, Controller, Put } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentUserId, Route } from '../../auth';
import { ServiceUnavailable } from '../../common';
import { TooManyUnderWay } from '../../http';
import { NO_SUCH_PROXY, ProxyIdParam, ProxyOut, ProxyRefunded } from '../../proxies';
import {
  ProxyEnded,
  ProxyGone,
  ProxyWithdrawn,
  TypeChangeInProgress,
  TypeChangeRefused,
  TypeChangesUnavailable,
  TypeChangeUncertain,
} from '../sync.errors';
import { TypeChangeRequest } from './type-change.request';
import { TypeChangeService } from './type-change.service';

@ApiTags('Proxies')
@Controller('proxies')
export class TypeChangeController {
  constructor(private readonly changes: TypeChangeService) {}

  @Put(':proxy_id/type')
  @Route({
    scope: 'proxies:write',
    summary: 'Change the type of a proxy',
    description:
      'Changes a running proxy between HTTP and SOCKS5, free of charge, and returns it, possibly with ' +
      'another port or host. Retries are safe: after a 409 with `Retry-After`, a 503 or a lost ' +
      'connection, retry until the response is 200 or another 4xx.',
    response: { description: 'The proxy has the requested type', type: ProxyOut },
    body: {
      type: TypeChangeRequest,
      examples: { socks: { summary: 'SOCKS5', value: { proxy_type: 'socks' } } },
    },
    errors: {
      404: NO_SUCH_PROXY,
      409: [
        'The type cannot be changed, or, with `Retry-After`, another type change is in progress',
        TypeChangeInProgress,
        ProxyEnded,
        ProxyRefunded,
        ProxyWithdrawn,
        ProxyGone,
        TypeChangeRefused,
      ],
      429: ['more than 10 type changes are in progress', TooManyUnderWay],
      503: [
        'The provider is unavailable and nothing was changed, or the outcome is not known yet',
        ServiceUnavailable,
        TypeChangeUncertain,
        TypeChangesUnavailable,
      ],
    },
  })
  changeProxyType(
    @CurrentUserId() userId: number,
    @ProxyIdParam() proxyId: string,
    @Body() { proxy_type: proxyType }: TypeChangeRequest,
  ): Promise<ProxyOut> {
    return this.changes.change(userId, proxyId, proxyType);
  }
}
