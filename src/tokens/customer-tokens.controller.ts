import { Body, Controller, Delete, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type Caller, CurrentCaller, CurrentUserId, Scopes } from '../auth';
import { IdParam, PageQuery } from '../http';
import { IssueTokenDocs, ListTokensDocs, RevokeTokenDocs } from './customer-tokens.docs';
import { CustomerTokensService } from './customer-tokens.service';
import { NewCustomerTokenRequest } from './dto/new-token.request';
import { RevokeTokenQuery } from './dto/revoke-token.query';
import type { CreatedToken, TokenList } from './dto/token.dto';

@ApiTags('Tokens')
@Controller('tokens')
export class CustomerTokensController {
  constructor(private readonly tokens: CustomerTokensService) {}

  @Post()
  @IssueTokenDocs()
  @Scopes('tokens:write')
  createToken(@CurrentCaller() caller: Caller, @Body() body: NewCustomerTokenRequest): Promise<CreatedToken> {
    const { scopes, name, expires_at: expiresAt, allowed_ips: allowedIps, daily_limit: dailyLimit } = body;
    return this.tokens.issue(caller, {
      scopes: [...new Set(scopes)],
      name,
      expiresAt,
      allowedIps,
      dailyLimit,
    });
  }

  @Get()
  @ListTokensDocs()
  @Scopes('tokens:write')
  listTokens(@CurrentCaller() caller: Caller, @Query() page: PageQuery): Promise<TokenList> {
    return this.tokens.list(caller, page);
  }

  @Delete(':token_id')
  @HttpCode(204)
  @RevokeTokenDocs()
  @Scopes('tokens:write')
  async revokeToken(
    @CurrentUserId() userId: number,
    @IdParam('token_id') tokenId: number,
    @Query() query: RevokeTokenQuery,
  ): Promise<void> {
    await this.tokens.revoke(userId, tokenId, query);
  }
}
