import { Injectable } from '@nestjs/common';
import { type ApiToken, type NewToken, TokensService } from '../../auth';
import { type PageRequest, readPage } from '../../http';
import { UsersService } from '../../users';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService } from '../audit-log/audit-log.service';
import type { IssuedToken, RevokedToken, RevokeRequest, TokenOut, TokensPage } from './staff-tokens.dto';

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

@Injectable()
export class StaffTokensService {
  constructor(
    private readonly tokens: TokensService,
    private readonly users: UsersService,
    private readonly auditLog: AuditLogService,
  ) {}

  /**
   * Issues a token. Only this response contains its text, which is not stored. The token can never do more
   * than the caller's token; the command line may issue any token.
   *
   * @throws TokenUserNotFound, ScopeNotGrantable, StaffScopesForAnother, TokenWiderThanIssuer, InvalidToken
   */
  issue(audit: AuditContext, token: Omit<NewToken, 'issuedBy'>): Promise<IssuedToken> {
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const issued = await this.tokens.issue({ ...token, issuedBy: audit.caller?.tokenId }, manager);
      const after = toTokenOut(issued.token);
      await record({ target: { type: 'token', id: after.id }, after });
      return { ...after, token: issued.text };
    });
  }

  /** Lists a user's tokens, oldest first. @throws UserNotFound */
  async list(userId: number, page: PageRequest): Promise<TokensPage> {
    await this.users.assertExists(userId);
    const find = async (wider: PageRequest) => (await this.tokens.list(userId, wider)).map(toTokenOut);
    return readPage(page, find);
  }

  /**
   * Lists the valid descendants of a token, which can be revoked with it, oldest first.
   * @throws TokenNotFound
   */
  async listDescendants(id: number, page: PageRequest): Promise<TokensPage> {
    await this.tokens.get(id);
    const find = async (wider: PageRequest) => (await this.tokens.listDescendants(id, wider)).map(toTokenOut);
    return readPage(page, find);
  }

  /**
   * Revokes a token. If it is already revoked, its time is kept. @throws TokenNotFound, StaffScopesForAnother
   */
  revoke(audit: AuditContext, id: number, { reason, descendants }: RevokeRequest): Promise<RevokedToken> {
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
