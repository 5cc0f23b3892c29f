import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { IdParam, PageQuery } from '../../http';
import type { AuditContext } from '../audit-log/audit-context';
import { CurrentAudit, StaffRoute } from '../staff-route';
import { IssueTokenDocs, ListDescendantsDocs, ListTokensDocs, RevokeTokenDocs } from './staff-tokens.docs';
import {
  type IssuedToken,
  NewTokenRequest,
  type RevokedToken,
  RevokeRequest,
  type TokensPage,
} from './staff-tokens.dto';
import { StaffTokensService } from './staff-tokens.service';

@ApiTags('Tokens')
@Controller('staff')
export class StaffTokensController {
  constructor(private readonly tokens: StaffTokensService) {}

  @Post('users/:user_id/tokens')
  @IssueTokenDocs()
  @StaffRoute({ scope: 'staff:tokens', action: 'tokens.create', on: 'user' })
  issue(
    @CurrentAudit() audit: AuditContext,
    @IdParam('user_id') userId: number,
    @Body() body: NewTokenRequest,
  ): Promise<IssuedToken> {
    const { scopes, name, expires_at: expiresAt, allowed_ips: allowedIps, daily_limit: dailyLimit } = body;
    const token = { userId, scopes: [...new Set(scopes)], name, expiresAt, allowedIps, dailyLimit };
    return this.tokens.issue(audit, token);
  }

  @Get('users/:user_id/tokens')
  @ListTokensDocs()
  @StaffRoute({ scope: 'staff:tokens', action: 'tokens.list', on: 'user' })
  list(@IdParam('user_id') userId: number, @Query() page: PageQuery): Promise<TokensPage> {
    return this.tokens.list(userId, page);
  }

  @Get('tokens/:token_id/descendants')
  @ListDescendantsDocs()
  @StaffRoute({ scope: 'staff:tokens', action: 'tokens.descendants', on: 'token' })
  descendants(@IdParam('token_id') tokenId: number, @Query() page: PageQuery): Promise<TokensPage> {
    return this.tokens.listDescendants(tokenId, page);
  }

  @Post('tokens/:token_id/revoke')
  @HttpCode(200)
  @RevokeTokenDocs()
  @StaffRoute({ scope: 'staff:tokens', action: 'tokens.revoke', on: 'token' })
  revoke(
    @CurrentAudit() audit: AuditContext,
    @IdParam('token_id') tokenId: number,
    @Body() { reason, descendants }: RevokeRequest,
  ): Promise<RevokedToken> {
    return this.tokens.revoke(audit, tokenId, { reason, descendants });
  }
}
