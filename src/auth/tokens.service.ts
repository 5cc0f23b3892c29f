import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { DataSource, type EntityManager, MoreThan, Repository } from 'typeorm';
import { Clock, type Money } from '../common';
import { batchedLookup, preparedRows, queryRows, violatedConstraint } from '../database';
import { ApiToken } from './api-token.entity';
import { TokenNotFound, TokenOwnerNotFound } from './auth.errors';
import type { Scope } from './scopes';
import { generateToken, hashToken, isWellFormedToken } from './token-text';

/** The user who makes a request, and what their token allows. */
export interface Caller {
  readonly userId: number;
  readonly tokenId: number;
  readonly scopes: readonly string[];
  /** The only networks from which the token may be used; null allows any address. */
  readonly allowedIps: readonly string[] | null;
  /** Roubles per UTC day; null means no limit. */
  readonly dailyLimit: string | null;
  readonly isBlocked: boolean;
  /** Grows with every change of what the user sees of their proxies. */
  readonly proxiesRevision: number;
}

export interface NewToken {
  readonly userId: number;
  readonly scopes: readonly Scope[];
  readonly name?: string | null | undefined;
  readonly expiresAt?: Date | null | undefined;
  /** In CIDR notation. */
  readonly allowedIps?: readonly string[] | null | undefined;
  readonly dailyLimit?: Money | null | undefined;
}

/** `last_used_at` is accurate to the minute, so that not every request writes. */
const LAST_USED_STEP_MS = 60_000;

@Injectable()
export class TokensService {
  constructor(
    private readonly dataSource: DataSource,
    @InjectRepository(ApiToken) private readonly tokens: Repository<ApiToken>,
    private readonly clock: Clock,
  ) {}

  /**
   * Issues a token. Its text is in the result and nowhere else.
   *
   * @throws TokenOwnerNotFound
   */
  async issue(
    token: NewToken,
    manager: EntityManager = this.tokens.manager,
  ): Promise<{ text: string; token: ApiToken }> {
    const text = generateToken();
    try {
      const issued = await manager.save(
        manager.create(ApiToken, {
          userId: token.userId,
          tokenHash: hashToken(text),
          scopes: [...token.scopes],
          name: token.name ?? null,
          expiresAt: token.expiresAt ?? null,
          allowedIps: token.allowedIps ? await toNetworks(manager, token.allowedIps) : null,
          dailyLimit: token.dailyLimit?.toString() ?? null,
        }),
      );
      return { text, token: issued };
    } catch (error) {
      if (violatedConstraint(error) === 'api_tokens_user_id_fkey') throw new TokenOwnerNotFound();
      throw error;
    }
  }

  /**
   * Lists a page of a user's tokens by id.
   *
   * @param page.cursor the id of the last token of the previous page
   */
  list(userId: number, page: { cursor: number | null; limit: number }): Promise<ApiToken[]> {
    return this.tokens.find({
      where: { userId, id: MoreThan(page.cursor ?? 0) },
      order: { id: 'ASC' },
      take: page.limit,
    });
  }

  /**
   * Revokes a token from the next request on, on every replica. Revoking it again keeps the first time.
   *
   * @throws TokenNotFound
   */
  async revoke(id: number, manager: EntityManager = this.tokens.manager): Promise<ApiToken> {
    const token = await this.get(id, manager);
    if (token.revokedAt === null) token.revokedAt = this.clock.now();
    return manager.save(token);
  }

  /** @throws TokenNotFound */
  async get(id: number, manager: EntityManager = this.tokens.manager): Promise<ApiToken> {
    const token = await manager.findOneBy(ApiToken, { id });
    if (!token) throw new TokenNotFound();
    return token;
  }

  /**
   * Finds the caller of a token that exists, has not expired and is not revoked. Each call asks the database,
   * so that a revocation or a block counts from the next request on. The guard checks what the caller may do.
   */
  async findCaller(text: string): Promise<Caller | null> {
    if (!isWellFormedToken(text)) return null;
    const token = await this.findToken(hashToken(text).toString('hex'));
    if (!token) return null;
    await this.noteUse(token);
    return token.caller;
  }

  private async noteUse({ caller, lastUsedAt }: FoundToken): Promise<void> {
    const now = this.clock.now();
    if (lastUsedAt !== null && now.getTime() - lastUsedAt.getTime() < LAST_USED_STEP_MS) return;
    await this.tokens.update({ id: caller.tokenId }, { lastUsedAt: now });
  }

  private readonly findToken = batchedLookup(async (hashes: readonly string[]) => {
    const rows = await preparedRows<Caller & Pick<FoundToken, 'lastUsedAt'> & { hash: string }>(
      this.dataSource,
      `SELECT token.id AS "tokenId", user_id AS "userId", scopes, allowed_ips AS "allowedIps",
              daily_limit AS "dailyLimit", blocked_at IS NOT NULL AS "isBlocked",
              proxies_revision AS "proxiesRevision", encode(token_hash, 'hex') AS hash,
              last_used_at AS "lastUsedAt"
         FROM api_tokens token JOIN users ON users.id = token.user_id
        WHERE token_hash = ANY ($1::bytea[]) AND revoked_at IS NULL
          AND (expires_at IS NULL OR expires_at > $2)`,
      [hashes.map((hash) => `\\x${hash}`), this.clock.now()],
    );
    return new Map(rows.map(({ hash, lastUsedAt, ...caller }) => [hash, { caller, lastUsedAt }]));
  });
}

interface FoundToken {
  readonly caller: Caller;
  readonly lastUsedAt: Date | null;
}

/** Clears the bits after the prefix: `10.1.2.3/8` becomes `10.0.0.0/8`. */
async function toNetworks(manager: EntityManager, addresses: readonly string[]): Promise<string[]> {
  const rows = await queryRows<{ network: string }>(
    manager,
    'SELECT network(address)::text AS network FROM unnest($1::inet[]) AS given (address)',
    [addresses],
  );
  return rows.map(({ network }) => network);
}
