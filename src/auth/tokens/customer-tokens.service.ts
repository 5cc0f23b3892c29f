import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Clock } from '../../common';
import { changeOfUser, queryRow, queryRows } from '../../database';
import { type Page, type PageRequest, readPage } from '../../http';
import { TokenExpiryInPast, TokenNotFound, TooManyTokens } from '../auth.errors';
import { ALL_STAFF_SCOPES } from '../scopes';
import { type Caller, type NewToken, TokensService } from '../tokens.service';
import type { CreatedToken, Token } from './token.dto';

/** Maximum number of valid tokens that a customer may have issued. */
const MOST_TOKENS = 100;
/** Maximum number of revoked and expired tokens that a customer still sees. */
const MOST_INVALID = 20;

/** Columns of a `Token`. `$1` is the time, and `$2` the request's token. */
const SHOWN = `
  token.id, name, scopes,
  CASE WHEN revoked_at IS NOT NULL THEN 'revoked' WHEN expires_at <= $1 THEN 'expired' ELSE 'active' END
    AS state,
  coalesce(token.id = $2, false) AS is_current, created_at, expires_at, revoked_at, last_used_at,
  allowed_ips, daily_limit, issued_by`;

/** `$3` is the user, and `$4` contains the staff scopes. */
const OF_CUSTOMER = 'token.user_id = $3 AND NOT token.scopes && $4::text[]';

/** Manages customers' tokens. Excludes staff tokens, because changes to those belong in the audit log. */
@Injectable()
export class CustomerTokensService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly tokens: TokensService,
    private readonly clock: Clock,
  ) {}

  /** @throws TokenExpiryInPast, TooManyTokens, ScopeNotGrantable, TokenWiderThanIssuer, InvalidToken */
  issue(
    { userId, tokenId }: Caller,
    token: Omit<NewToken, 'userId' | 'issuedBy' | 'origin'>,
  ): Promise<CreatedToken> {
    if (token.expiresAt && token.expiresAt <= this.clock.now()) throw new TokenExpiryInPast();
    // `changeOfUser` locks the user, so concurrent requests cannot exceed the limit together.
    return changeOfUser(this.dataSource, userId, async (manager) => {
      const issued = await this.tokens.issue(
        { ...token, userId, issuedBy: tokenId, origin: 'customer' },
        manager,
      );
      if ((await this.countWorking(userId, manager)) > MOST_TOKENS) throw new TooManyTokens(MOST_TOKENS);
      await this.tokens.forgetInvalid({ userId, origin: 'customer', keep: MOST_INVALID }, manager);
      return this.created(issued.token.id, issued.text, manager);
    });
  }

  async created(id: number, text: string, manager: EntityManager): Promise<CreatedToken> {
    const token = await queryRow<Token>(
      manager,
      `SELECT ${SHOWN} FROM api_tokens token WHERE token.id = $3`,
      [this.clock.now(), null, id],
    );
    return Object.assign(token, { token: text });
  }

  private async countWorking(userId: number, manager: EntityManager): Promise<number> {
    const { count } = await queryRow<{ count: number }>(
      manager,
      `SELECT count(*) AS count FROM api_tokens
        WHERE user_id = $1 AND origin = 'customer' AND revoked_at IS NULL
          AND (expires_at IS NULL OR expires_at > $2)`,
      [userId, this.clock.now()],
    );
    return count;
  }

  list({ userId, tokenId }: Caller, page: PageRequest): Promise<Page<Token>> {
    return readPage(page, ({ cursor, limit }) =>
      queryRows<Token>(
        this.dataSource,
        `SELECT ${SHOWN} FROM api_tokens token WHERE ${OF_CUSTOMER} AND token.id > $5
            ORDER BY token.id LIMIT $6`,
        [this.clock.now(), tokenId, userId, ALL_STAFF_SCOPES, cursor ?? 0, limit],
      ),
    );
  }

  /**
   * Takes effect on every replica.
   * @throws TokenNotFound
   * @param options.descendants whether to also revoke those descendants that the customer manages
   */
  revoke(userId: number, id: number, { descendants }: { readonly descendants: boolean }): Promise<void> {
    return changeOfUser(this.dataSource, userId, async (manager) => {
      const [token] = await queryRows<{ isRevoked: boolean }>(
        manager,
        `SELECT revoked_at IS NOT NULL AS "isRevoked" FROM api_tokens token
          WHERE token.id = $1 AND user_id = $2 AND NOT scopes && $3::text[] FOR UPDATE`,
        [id, userId, ALL_STAFF_SCOPES],
      );
      if (!token) throw new TokenNotFound();
      if (!token.isRevoked) await this.tokens.revoke(id, manager);
      if (descendants) await this.tokens.revokeDescendants(id, manager, userId);
    });
  }
}
