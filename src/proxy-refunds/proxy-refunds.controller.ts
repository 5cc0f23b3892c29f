import { Controller, Get, Header, Post, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { CurrentUserId, Route } from '../auth';
import { ServiceUnavailable } from '../common';
import { disconnection } from '../http';
import { NO_SUCH_PROXY, ProxyIdParam } from '../proxies';
import { RefundRuleOut } from './dto/refund-rule.dto';
import { LONGEST_WAIT_SECONDS, ProxyRefundOut, ProxyRefundQuery } from './dto/refund.dto';
import { RefundWaits } from './proxy-refunds.errors';
import { ProxyRefundsService } from './proxy-refunds.service';
import { RefundRules } from './refund-rules';

@ApiTags('Proxies')
@Controller()
export class ProxyRefundsController {
  constructor(
    private readonly refunds: ProxyRefundsService,
    private readonly rules: RefundRules,
  ) {}

  @Post('proxies/:proxy_id/refund')
  @Route({
    scope: 'proxies:write',
    summary: 'Request a refund for a proxy that does not work',
    description:
      'The service checks the proxy several times. If the conditions in `GET /refunds/rule` are met, ' +
      'it refunds the whole days that were left at the time of the request, and permanently withdraws ' +
      'the proxy. Retrying the request returns the same refund. A refused refund can be requested ' +
      'again an hour later.',
    status: 202,
    response: { description: 'The current state of the refund', type: ProxyRefundOut },
    errors: {
      404: NO_SUCH_PROXY,
      409: ['An order or a type change for the proxy is in progress: retry after `Retry-After`', RefundWaits],
      503: ['The service is closed for maintenance', ServiceUnavailable],
    },
  })
  requestRefund(@CurrentUserId() userId: number, @ProxyIdParam() proxyId: string): Promise<ProxyRefundOut> {
    return this.refunds.request(userId, proxyId);
  }

  @Get('proxies/:proxy_id/refund')
  @Header('Cache-Control', 'no-store')
  @Route({
    scope: 'proxies:read',
    summary: 'Show the refund of a proxy',
    description:
      'The refund. If none was requested, the amount that would be refunded now, and the condition ' +
      `that is not met, if any. If \`wait\` is set (up to ${LONGEST_WAIT_SECONDS} seconds), the ` +
      'request waits while the refund is `checking`.',
    response: { description: 'The refund', type: ProxyRefundOut },
    errors: { 404: NO_SUCH_PROXY },
  })
  getRefund(
    @CurrentUserId() userId: number,
    @ProxyIdParam() proxyId: string,
    @Query() { wait }: ProxyRefundQuery,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ProxyRefundOut> {
    return this.refunds.read(userId, proxyId, { seconds: wait, request, hungUp: disconnection(response) });
  }

  @Get('refunds/rule')
  @Route({
    scope: 'proxies:read',
    summary: "Show the shop's conditions for refunds",
    description: 'The conditions under which the shop refunds proxies that do not work.',
    response: { description: 'The conditions', type: RefundRuleOut },
  })
  getRefundRule(): Promise<RefundRuleOut> {
    return this.rules.shown();
  }
}
