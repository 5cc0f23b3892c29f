import { Injectable } from '@nestjs/common';
import { type ApiToken, type NewToken, TokensService } from '../auth';
import { UserNotFound, UsersService } from '../users';
import type { Act } from './act';
import { StaffLog } from './staff-log';
import { ScopeNotGrantable } from './staff.errors';

/** A token as staff see it: without its text. */
export interface TokenRow {
  readonly id: number;
  readonly user_id: number;
  readonly name: string | null;
  readonly scopes: readonly string[];
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly revoked_at: Date | null;
  readonly last_used_at: Date | null;
  readonly allowed_ips: readonly string[] | null;
  readonly daily_limit: string | null;
}

const toTokenRow = (token: ApiToken): TokenRow => ({
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
});

/** What staff do with tokens, over HTTP and on the command line. */
@Injectable()
export class StaffTokensService {
  constructor(
    private readonly tokens: TokensService,
    private readonly users: UsersService,
    private readonly log: StaffLog,
  ) {}

  /**
   * The text of the token is in this answer and nowhere else.
   *
   * @throws TokenOwnerNotFound, ScopeNotGrantable
   */
  issue(act: Act, token: NewToken): Promise<TokenRow & { token: string }> {
    const lacking = act.caller ? token.scopes.filter((scope) => !act.caller?.scopes.includes(scope)) : [];
    if (lacking.length > 0) throw new ScopeNotGrantable(lacking);
    return this.log.change(act, async (manager, record) => {
      const issued = await this.tokens.issue(token, manager);
      const after = toTokenRow(issued.token);
      await record({ target: { type: 'token', id: after.id }, after });
      return { ...after, token: issued.text };
    });
  }

  /** A page of a user's tokens, by id. @param page.cursor the id of the last token of the page before @throws UserNotFound */
  async list(userId: number, page: { cursor: number | null; limit: number }): Promise<TokenRow[]> {
    if (!(await this.users.find(userId))) throw new UserNotFound();
    return (await this.tokens.list(userId, page)).map(toTokenRow);
  }

  /** Revoking twice keeps the first moment. @throws TokenNotFound */
  revoke(act: Act, id: number, reason: string | undefined): Promise<TokenRow> {
    return this.log.change(act, async (manager, record) => {
      const before = toTokenRow(await this.tokens.get(id, manager));
      const after = toTokenRow(await this.tokens.revoke(id, manager));
      await record({ target: { type: 'token', id }, ...(reason !== undefined && { reason }), before, after });
      return after;
    });
  }
}
