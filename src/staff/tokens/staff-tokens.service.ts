import { Injectable } from '@nestjs/common';
import { type ApiToken, type NewToken, TokensService } from '../../auth';
import { UserNotFound, UsersService } from '../../users';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService } from '../audit-log/audit-log.service';
import { type PageRequest, readPage } from '../paging';
import { ScopeNotGrantable } from '../staff.errors';
import type { IssuedToken, TokenOut, TokensPage } from './staff-tokens.dto';

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
  }) satisfies TokenOut;

/** What staff do with tokens, over HTTP and on the command line. */
@Injectable()
export class StaffTokensService {
  constructor(
    private readonly tokens: TokensService,
    private readonly users: UsersService,
    private readonly auditLog: AuditLogService,
  ) {}

  /**
   * The text of the token stands in this answer and is not kept.
   *
   * @throws TokenOwnerNotFound, ScopeNotGrantable
   */
  issue(audit: AuditContext, token: NewToken): Promise<IssuedToken> {
    const { caller } = audit;
    const lacking = caller ? token.scopes.filter((scope) => !caller.scopes.includes(scope)) : [];
    if (lacking.length > 0) throw new ScopeNotGrantable(lacking);
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const issued = await this.tokens.issue(token, manager);
      const after = toTokenOut(issued.token);
      await record({ target: { type: 'token', id: after.id }, after });
      return { ...after, token: issued.text };
    });
  }

  /**
   * A page of a user's tokens, oldest first. The cursor is the id of the last token of the previous page.
   *
   * @throws UserNotFound
   */
  async list(userId: number, page: PageRequest): Promise<TokensPage> {
    if (!(await this.users.find(userId))) throw new UserNotFound();
    const find = async (wider: PageRequest) => (await this.tokens.list(userId, wider)).map(toTokenOut);
    return readPage(page, find, ({ id }) => id);
  }

  /** Revoking a revoked token keeps the first time. @throws TokenNotFound */
  revoke(audit: AuditContext, id: number, reason: string | undefined): Promise<TokenOut> {
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const before = toTokenOut(await this.tokens.get(id, manager));
      const after = toTokenOut(await this.tokens.revoke(id, manager));
      await record({ target: { type: 'token', id }, reason, before, after });
      return after;
    });
  }
}
