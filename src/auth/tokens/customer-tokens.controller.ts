import { Body, Controller, Delete, Get, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { IdParam, LIMIT_TOO_LARGE, notANetwork, notAnInteger, PageQuery } from '../../http';
import { CurrentCaller, CurrentUserId } from '../access.decorators';
import { ScopeNotGrantable, TokenNotFound, TokenWiderThanIssuer } from '../auth.errors';
import { Route } from '../route';
import { type Caller } from '../tokens.service';
import { CustomerTokensService } from './customer-tokens.service';
import { NewCustomerTokenRequest } from './new-token.request';
import { RevokeTokenQuery } from './revoke-token.query';
import { CreatedToken, TokenList } from './token.dto';
import { TokenAlreadyOver, TooManyTokens } from './tokens.errors';

@ApiTags('Tokens')
@Controller('tokens')
export class CustomerTokensController {
  constructor(private readonly tokens: CustomerTokensService) {}

  @Post()
  @Route({
    scope: 'tokens:write',
    summary: 'Issue a token',
    description:
      'A token of your own for one purpose, never wider than the token of the request: it has none but ' +
      'its scopes, and what you leave out of `expires_at`, `allowed_ips` and `daily_limit` is as there. ' +
      'What it spends counts against the daily limit of the token of the request, too. It cannot issue ' +
      'tokens itself. Its text is shown this once. A repeated request issues another token: when an ' +
      'answer was lost, find that token by its name, and revoke it.',
    status: 201,
    response: { description: 'The token, with its text', type: CreatedToken },
    body: {
      type: NewCustomerTokenRequest,
      examples: {
        'Reports, read only': { value: { scopes: ['profile:read', 'proxies:read'], name: 'reports' } },
        'Purchases from one network, of 500 roubles a day': {
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
      400: ['`expires_at` has passed', TokenAlreadyOver],
      403: [
        'the new token would be wider than it',
        new ScopeNotGrantable(['proxies:write']),
        new TokenWiderThanIssuer(['expires_at', 'allowed_ips', 'daily_limit']),
      ],
      409: ['The user has too many', new TooManyTokens(100)],
    },
    invalid: notANetwork('allowed_ips'),
  })
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
  @Route({
    scope: 'tokens:write',
    summary: 'List the tokens',
    description:
      'The tokens of the user, oldest first, never with their text: what each may do, until when, and ' +
      'when it was last used. Of those that you issued and that have ended, the latest 20 are shown, and ' +
      'those that have placed orders.',
    response: { description: 'A page of tokens, oldest first', type: TokenList },
    invalid: LIMIT_TOO_LARGE,
  })
  listTokens(@CurrentCaller() caller: Caller, @Query() page: PageQuery): Promise<TokenList> {
    return this.tokens.list(caller, page);
  }

  @Delete(':token_id')
  @Route({
    scope: 'tokens:write',
    summary: 'Revoke a token',
    description:
      'From the next request on it is answered 401, on every replica, and the secret links that it made ' +
      'end. The token of the request may revoke itself. Tokens that it issued go on, unless ' +
      '`descendants` is true. Repeating the request changes nothing.',
    status: 204,
    response: { description: 'The token is revoked' },
    errors: { 404: ['The user has no such token', TokenNotFound] },
    invalid: notAnInteger('token_id', 'five'),
  })
  async revokeToken(
    @CurrentUserId() userId: number,
    @IdParam('token_id', 'The `id` of a token of the user', 2) tokenId: number,
    @Query() query: RevokeTokenQuery,
  ): Promise<void> {
    await this.tokens.revoke(userId, tokenId, query);
  }
}
