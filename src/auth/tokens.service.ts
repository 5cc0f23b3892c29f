import { Inject, Injectable } from '@nestjs/common';
import { InjectDataSource, InjectRepository } from '@nestjs/typeorm';
import { DataSource, Repository } from 'typeorm';
import { Clock } from '../common';
import { queryRows, violatedConstraint } from '../database';
import { ApiToken } from './api-token.entity';
import { TokenNotFound, TokenOwnerNotFound } from './auth.errors';
import type { Scope } from './scopes';
import { generateToken, hashToken, isWellFormedToken } from './token-text';

/** Who makes a request, and what the token allows. */
export interface Caller {
  readonly userId: number;
  readonly tokenId: number;
  readonly scopes: readonly string[];
}

/** `last_used_at` is kept to the minute, so that reading with a token is not a write each time. */
const LAST_USED_STEP_MS = 60_000;

@Injectable()
export class TokensService {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    @InjectRepository(ApiToken) private readonly tokens: Repository<ApiToken>,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /**
   * Issues a token. Its text is in the answer and nowhere else.
   *
   * @throws TokenOwnerNotFound
   */
  async issue(token: {
    userId: number;
    scopes: readonly Scope[];
    name?: string | undefined;
    expiresAt?: Date | undefined;
  }): Promise<{ text: string; token: ApiToken }> {
    const text = generateToken();
    try {
      const issued = await this.tokens.save(
        this.tokens.create({
          userId: token.userId,
          tokenHash: hashToken(text),
          scopes: [...token.scopes],
          name: token.name ?? null,
          expiresAt: token.expiresAt ?? null,
        }),
      );
      return { text, token: issued };
    } catch (error) {
      if (violatedConstraint(error) === 'api_tokens_user_id_fkey') throw new TokenOwnerNotFound();
      throw error;
    }
  }

  list(userId: number): Promise<ApiToken[]> {
    return this.tokens.find({ where: { userId }, order: { id: 'ASC' } });
  }

  /**
   * Takes effect with the next request on every replica: each looks the token up. Revoking twice keeps the first moment.
   *
   * @throws TokenNotFound
   */
  async revoke(id: number): Promise<ApiToken> {
    const token = await this.tokens.findOneBy({ id });
    if (!token) throw new TokenNotFound();
    if (token.revokedAt === null) token.revokedAt = this.clock.now();
    return this.tokens.save(token);
  }

  /** The caller behind a token that is known, not expired and not revoked; else null. */
  async findCaller(text: string): Promise<Caller | null> {
    if (!isWellFormedToken(text)) return null;
    const now = this.clock.now();
    const [token] = await queryRows<Caller & { lastUsedAt: Date | null }>(
      this.dataSource,
      `SELECT id AS "tokenId", user_id AS "userId", scopes, last_used_at AS "lastUsedAt"
         FROM api_tokens
        WHERE token_hash = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`,
      [hashToken(text), now],
    );
    if (!token) return null;
    if (token.lastUsedAt === null || now.getTime() - token.lastUsedAt.getTime() >= LAST_USED_STEP_MS) {
      await this.tokens.update({ id: token.tokenId }, { lastUsedAt: now });
    }
    return { userId: token.userId, tokenId: token.tokenId, scopes: token.scopes };
  }
}
