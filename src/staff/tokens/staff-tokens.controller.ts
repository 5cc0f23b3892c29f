import { Body, Controller, Get, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  type ApiToken,
  expandGroups,
  ScopeNotGrantable,
  StaffScopesForAnother,
  TokenNotFound,
  TokensService,
  TokenWiderThanIssuer,
} from '../../auth';
import { IdParam, PageQuery, type PageRequest, readPage } from '../../http';
import { UserNotFound, UsersService } from '../../users';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService } from '../audit-log/audit-log.service';
import { CurrentAudit, notFound, STAFF_USER_ERRORS, StaffRoute } from '../staff-route';
import {
  IssuedToken,
  NewTokenRequest,
  RevokedToken,
  RevokeRequest,
  type TokenOut,
  TokensPage,
} from './staff-tokens.dto';

const toTokenOut = (token: ApiToken) =>
  ({
    id: token.id,
    user_id: token.userId,
    name: token.name,
    scopes: token.scopes,
    created_at: token.createdAt,
    expires_at: token.expiresAt,
    revoked_at: token.revokedAt,
    last_used_at: token.lastUsedAt,
    allowed_ips: token.allowedIps,
    daily_limit: token.dailyLimit,
    issued_by: token.issuedBy,
    origin: token.origin,
  }) satisfies TokenOut;

@ApiTags('Tokens')
@Controller('staff')
export class StaffTokensController {
  constructor(
    private readonly tokens: TokensService,
    private readonly users: UsersService,
    private readonly auditLog: AuditLogService,
  ) {}

  @Post('users/:user_id/tokens')
  @StaffRoute({
    scope: 'staff:tokens',
    action: 'tokens.create',
    on: 'user',
    summary: 'Issue a token',
    description:
      'For support, when a customer or a colleague needs access. The scope `read` gives read-only ' +
      'access, as does `staff:read` for colleagues. The token is shown only once, in this response. It ' +
      'can be limited to certain networks, to an amount in roubles per day (UTC), and to a period of ' +
      'validity. It can never do more than your token: it has at most the same scopes, and inherits ' +
      '`expires_at`, `allowed_ips` and `daily_limit` if they are omitted. Its orders also count ' +
      'against your daily limit. To issue tokens for customers, your token needs customer scopes; to ' +
      'give staff scopes to someone else, it needs `staff:grant`.',
    status: 201,
    response: { description: 'The token. Its value is shown only once', type: IssuedToken },
    errors: {
      403: [
        'the new token could do more than your token',
        new ScopeNotGrantable(['proxies:write']),
        new TokenWiderThanIssuer(['expires_at', 'allowed_ips', 'daily_limit']),
        StaffScopesForAnother,
      ],
      404: notFound(UserNotFound),
    },
  })
  issue(
    @CurrentAudit() audit: AuditContext,
    @IdParam('user_id') userId: number,
    @Body() body: NewTokenRequest,
  ): Promise<IssuedToken> {
    const { scopes, name, expires_at: expiresAt, allowed_ips: allowedIps, daily_limit: dailyLimit } = body;
    const token = { userId, scopes: expandGroups(scopes), name, expiresAt, allowedIps, dailyLimit };
    return this.auditLog.recordChange(audit, async (manager, record) => {
      // The command line has no token, and may issue any token.
      const issued = await this.tokens.issue({ ...token, issuedBy: audit.caller?.tokenId }, manager);
      const after = toTokenOut(issued.token);
      await record({ target: { type: 'token', id: after.id }, after });
      return { ...after, token: issued.text };
    });
  }

  @Get('users/:user_id/tokens')
  @StaffRoute({
    scope: 'staff:tokens',
    action: 'tokens.list',
    on: 'user',
    summary: 'List the tokens of a user',
    description:
      'For support, to see which tokens a user has, what they may do and when they were last used. The ' +
      'tokens are listed oldest first, and never with their values.',
    response: { description: 'A page of tokens, oldest first', type: TokensPage },
    errors: { 404: notFound(UserNotFound) },
  })
  async list(@IdParam('user_id') userId: number, @Query() page: PageQuery): Promise<TokensPage> {
    await this.users.assertExists(userId);
    return readPage(page, async (wider) => (await this.tokens.list(userId, wider)).map(toTokenOut));
  }

  @Get('tokens/:token_id/descendants')
  @StaffRoute({
    scope: 'staff:tokens',
    action: 'tokens.descendants',
    on: 'token',
    summary: 'List the descendants of a token',
    description:
      'For investigations, before a token is revoked with its `descendants`: the valid tokens that ' +
      'were issued from it, directly or indirectly, oldest first.',
    response: { description: 'A page of tokens, oldest first', type: TokensPage },
    errors: { 404: notFound(TokenNotFound) },
  })
  async descendants(@IdParam('token_id') tokenId: number, @Query() page: PageQuery): Promise<TokensPage> {
    await this.tokens.get(tokenId);
    const find = async (wider: PageRequest) =>
      (await this.tokens.listDescendants(tokenId, wider)).map(toTokenOut);
    return readPage(page, find);
  }

  @Post('tokens/:token_id/revoke')
  @StaffRoute({
    scope: 'staff:tokens',
    action: 'tokens.revoke',
    on: 'token',
    summary: 'Revoke a token',
    description:
      'For support, when a token was lost or stolen, or is no longer needed. The next request with it ' +
      'returns 401 on every replica. Revoking a revoked token keeps the original revocation time. With ' +
      '`descendants`, all tokens that were issued from it, directly or indirectly, are revoked as ' +
      'well; list them first.',
    response: {
      description: 'The token, and the other tokens that were revoked with it',
      type: RevokedToken,
    },
    errors: { 403: STAFF_USER_ERRORS, 404: notFound(TokenNotFound) },
  })
  revoke(
    @CurrentAudit() audit: AuditContext,
    @IdParam('token_id') id: number,
    @Body() { reason, descendants }: RevokeRequest,
  ): Promise<RevokedToken> {
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const before = toTokenOut(await this.tokens.get(id, manager));
      const revoked = toTokenOut(await this.tokens.revoke(id, manager));
      const others = descendants ? await this.tokens.revokeDescendants(id, manager) : [];
      await this.tokens.assertMayEnd(audit.caller, 'id', [id, ...others], manager);
      const after = { ...revoked, revoked_descendants: others };
      await record({ reason, before, after });
      return after;
    });
  }
}
