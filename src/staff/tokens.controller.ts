import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiBody, ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { ApiErrorResponse, ApiValidationErrorResponse, IdParam } from '../http';
import type { Act } from './act';
import { ApiLimitErrorResponse, type Page, PageQuery, toPage } from './dto/fields';
import { ApiTokenId, ApiUserId, ApiUserNotFound } from './dto/path-ids';
import { IssuedToken, NewTokenRequest, TokenOut, TokensPage } from './dto/token.dto';
import { ReasonRequest } from './dto/user.dto';
import { CurrentAct, StaffRoute } from './staff-route';
import { StaffTokensService, type TokenRow } from './staff-tokens.service';

@ApiTags('Tokens')
@Controller('staff')
export class StaffTokensController {
  constructor(private readonly tokens: StaffTokensService) {}

  @Post('users/:user_id/tokens')
  @StaffRoute({
    scope: 'staff:tokens',
    action: 'tokens.create',
    on: ['user', 'user_id'],
    summary: 'Issue a token',
    description:
      'For support, when a customer or a colleague needs access. The token is shown once, in this answer. It can be bound to networks, to an amount of roubles a day ' +
      '(of UTC), and to a time. A token cannot grant a scope that it lacks itself: who issues tokens for customers needs the customers’ scopes as well.',
  })
  @ApiUserId()
  @ApiBody({
    type: NewTokenRequest,
    examples: {
      reading: { value: { scopes: ['profile:read', 'proxies:read'], name: 'laptop' } },
      bound: {
        value: {
          scopes: ['price:read', 'proxies:write'],
          name: 'buying script',
          expires_at: '2027-11-21T00:00:00Z',
          allowed_ips: ['203.0.113.0/24', '2001:db8::/32'],
          daily_limit: '500.00',
        },
      },
    },
  })
  @ApiCreatedResponse({ description: 'The token, shown this once', type: IssuedToken })
  @ApiErrorResponse(
    403,
    'The token lacks `staff:tokens`, or a scope that it is to grant',
    'Not enough permissions',
    'A token cannot grant what it lacks: proxies:write',
  )
  @ApiUserNotFound()
  @ApiValidationErrorResponse({
    type: 'ip_any_network',
    loc: ['body', 'allowed_ips', '0'],
    msg: 'Input should be an address or a network in CIDR notation',
    input: '203.0.113.0/33',
  })
  issue(
    @CurrentAct() act: Act,
    @IdParam('user_id') userId: number,
    @Body() body: NewTokenRequest,
  ): Promise<TokenRow & { token: string }> {
    const { scopes, name, expires_at: expiresAt, allowed_ips: allowedIps, daily_limit: dailyLimit } = body;
    return this.tokens.issue(act, {
      userId,
      scopes: [...new Set(scopes)],
      name,
      expiresAt,
      allowedIps,
      dailyLimit,
    });
  }

  @Get('users/:user_id/tokens')
  @StaffRoute({
    scope: 'staff:tokens',
    action: 'tokens.list',
    on: ['user', 'user_id'],
    summary: 'Tokens of a user',
    description:
      'For support, to see which tokens somebody has, what they may do and when they were last used. Oldest first, never their text.',
  })
  @ApiUserId()
  @ApiOkResponse({ description: 'A page of tokens, by id', type: TokensPage })
  @ApiUserNotFound()
  @ApiLimitErrorResponse()
  async list(
    @IdParam('user_id') userId: number,
    @Query() { cursor, limit }: PageQuery,
  ): Promise<Page<TokenRow>> {
    return toPage(await this.tokens.list(userId, { cursor, limit: limit + 1 }), limit, ({ id }) => id);
  }

  @Post('tokens/:token_id/revoke')
  @HttpCode(200)
  @StaffRoute({
    scope: 'staff:tokens',
    action: 'tokens.revoke',
    on: ['token', 'token_id'],
    summary: 'Revoke a token',
    description:
      'For support, when a token was lost or is no longer needed: the next request with it is answered 401, on every replica. Revoking twice keeps the first moment.',
  })
  @ApiTokenId()
  @ApiBody({ type: ReasonRequest, examples: { lost: { value: { reason: 'Laptop lost, ticket 816' } } } })
  @ApiOkResponse({ description: 'The token', type: TokenOut })
  @ApiErrorResponse(404, 'There is no such token', 'Token not found')
  @ApiValidationErrorResponse({ type: 'missing', loc: ['body', 'reason'], msg: 'Field required', input: {} })
  revoke(
    @CurrentAct() act: Act,
    @IdParam('token_id') tokenId: number,
    @Body() { reason }: ReasonRequest,
  ): Promise<TokenRow> {
    return this.tokens.revoke(act, tokenId, reason);
  }
}
