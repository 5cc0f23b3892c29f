import { Body, Controller, Delete, Get, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { IdParam, PageQuery } from '../../http';
import { CurrentCaller, CurrentUserId } from '../access.decorators';
import {
  ScopeNotGrantable,
  TokenExpiryInPast,
  TokenNotFound,
  TokenWiderThanIssuer,
  TooManyTokens,
} from '../auth.errors';
import { Route } from '../route';
import { expandGroups } from '../scopes';
import { type Caller } from '../tokens.service';
import { CustomerTokensService } from './customer-tokens.service';
import { CreatedToken, TokenList } from './token.dto';
import { NewCustomerTokenRequest, RevokeTokenQuery } from './token.requests';

@ApiTags('Tokens')
@Controller('tokens')
export class CustomerTokensController {
  constructor(private readonly tokens: CustomerTokensService) {}

  @Post()
  @Route({
    scope: 'tokens:write',
    summary: 'Issue a token',
    description:
      'Issues a token for a specific purpose. It can never do more than the token used for the ' +
      'request: `expires_at`, `allowed_ips` and `daily_limit` are inherited if omitted, its orders ' +
      "also count against that token's daily limit, and it cannot issue tokens. The token value is " +
      'shown only once. Retrying the request issues another token: if a response is lost, find that ' +
      'token by its name and revoke it.',
    status: 201,
    response: { description: 'The new token, including its value', type: CreatedToken },
    body: {
      type: NewCustomerTokenRequest,
      examples: {
        'Reports, read only': { value: { scopes: ['read'], name: 'reports' } },
        'Purchases from one network, up to 500 roubles a day': {
          value: {
            scopes: ['price:read', 'proxies:write'],
            name: 'buyer',
            expires_at: '2100-01-01T00:00:00Z',
            allowed_ips: ['203.0.113.0/24'],
            daily_limit: '500.00',
          },
        },
      },
    },
    errors: {
      400: ['`expires_at` has passed', TokenExpiryInPast],
      403: [
        'the new token could do more than the token used for the request',
        new ScopeNotGrantable(['proxies:write']),
        new TokenWiderThanIssuer(['expires_at', 'allowed_ips', 'daily_limit']),
      ],
      409: ['The user has too many tokens', new TooManyTokens(100)],
    },
  })
  createToken(@CurrentCaller() caller: Caller, @Body() body: NewCustomerTokenRequest): Promise<CreatedToken> {
    const { scopes, name, expires_at: expiresAt, allowed_ips: allowedIps, daily_limit: dailyLimit } = body;
    return this.tokens.issue(caller, {
      scopes: expandGroups(scopes),
      name,
      expiresAt,
      allowedIps,
      dailyLimit,
    });
  }

  @Get()
  @Route({
    scope: 'tokens:write',
    summary: 'List the tokens',
    description:
      "The user's tokens, oldest first, without the token values. Revoked and expired tokens that you " +
      'issued are listed only if they are among the latest 20 or have placed orders.',
    response: { description: 'A page of tokens, oldest first', type: TokenList },
  })
  listTokens(@CurrentCaller() caller: Caller, @Query() page: PageQuery): Promise<TokenList> {
    return this.tokens.list(caller, page);
  }

  @Delete(':token_id')
  @Route({
    scope: 'tokens:write',
    summary: 'Revoke a token',
    description:
      'Takes effect from the next request on: every replica rejects the token with 401, and its secret ' +
      'links stop working. A token can revoke itself. Tokens that it issued stay valid unless ' +
      '`descendants` is true. Retrying the request changes nothing.',
    status: 204,
    response: { description: 'The token is revoked' },
    errors: { 404: ['The user has no such token', TokenNotFound] },
  })
  async revokeToken(
    @CurrentUserId() userId: number,
    @IdParam('token_id', "The `id` of one of the user's tokens", 2) tokenId: number,
    @Query() query: RevokeTokenQuery,
  ): Promise<void> {
    await this.tokens.revoke(userId, tokenId, query);
  }
}
