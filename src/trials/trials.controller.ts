import { Controller, Get, Header, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentUserId, Scopes } from '../auth';
import { type Page, PageQuery } from '../http';
import type { TrialOut } from './dto/trial-out.dto';
import { TrialDocs, TrialsDocs } from './trials.docs';
import { TrialsService } from './trials.service';

@ApiTags('Proxies')
@Controller('proxies/:proxy_id')
export class TrialsController {
  constructor(private readonly trials: TrialsService) {}

  @Get('check')
  @Scopes('proxies:read')
  @Header('Cache-Control', 'no-store')
  @TrialDocs()
  checkProxy(@CurrentUserId() userId: number, @Param('proxy_id') proxyId: string): Promise<TrialOut> {
    return this.trials.run(userId, proxyId);
  }

  @Get('checks')
  @Scopes('proxies:read')
  @TrialsDocs()
  listProxyChecks(
    @CurrentUserId() userId: number,
    @Param('proxy_id') proxyId: string,
    @Query() page: PageQuery,
  ): Promise<Page<TrialOut>> {
    return this.trials.list(userId, proxyId, page);
  }
}
