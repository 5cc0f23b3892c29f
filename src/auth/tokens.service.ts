import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { InjectDataSource, InjectRepository } from '@nestjs/typeorm';
import { LRUCache } from 'lru-cache';
import { DataSource, type EntityManager, MoreThan, Repository } from 'typeorm';
import { Clock, type Money } from '../common';
import { batchedLookup, Notifications, preparedRows, queryRows, violatedConstraint } from '../database';
import { ApiToken } from './api-token.entity';
import { TokenNotFound, TokenOwnerNotFound } from './auth.errors';
import type { Scope } from './scopes';
import { generateToken, hashToken, isWellFormedToken } from './token-text';

/** Who makes a request, and what the token allows. */
export interface Caller {
  readonly userId: number;
  readonly tokenId: number;
  readonly scopes: readonly string[];
  /** Networks from which alone the token may be used; null: from anywhere. */
  readonly allowedIps: readonly string[] | null;
  /** Roubles a day; null: no limit. */
  readonly dailyLimit: string | null;
  readonly isBlocked: boolean;
  /** Of what they see of their proxies: it grows with every change. */
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

/** `last_used_at` is kept to the minute, so that reading with a token is not a write each time. */
const LAST_USED_STEP_MS = 60_000;

const MOST_REMEMBERED = 10_000;

/** A token as it was looked up, and what the number of {@link Notifications.current} was before. */
interface Remembered {
  readonly caller: Caller;
  readonly expiresAt: Date | null;
  readonly lastUsedAt: Date;
  readonly changes: number;
}

@Injectable()
export class TokensService implements OnModuleDestroy {
  private readonly changes: Notifications;
  /** By the token itself: its hash takes longer than the rest. */
  private readonly remembered = new LRUCache<string, Remembered>({ max: MOST_REMEMBERED });

  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    @InjectRepository(ApiToken) private readonly tokens: Repository<ApiToken>,
    private readonly clock: Clock,
  ) {
    this.changes = new Notifications(dataSource, 'token_changes');
  }

  onModuleDestroy(): Promise<void> {
    return this.changes.close();
  }

  /**
   * To be waited for after a change of what a token is good for was committed, and before anyone is told: no replica answers from what it
   * remembers of before. Never rejects.
   */
  untilChangeIsHeard(): Promise<void> {
    return this.changes.untilHeard();
  }

  /** Lets tokens be remembered for a while, as long as it is called several times a second. @throws Error of pg */
  followChanges(): Promise<void> {
    return this.changes.keepUp();
  }

  /**
   * Issues a token. Its text is in the answer and nowhere else.
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

  /** A page of a user's tokens, by id. @param page.cursor the id of the last token of the page before */
  list(userId: number, page: { cursor: number | null; limit: number }): Promise<ApiToken[]> {
    return this.tokens.find({
      where: { userId, id: MoreThan(page.cursor ?? 0) },
      order: { id: 'ASC' },
      take: page.limit,
    });
  }

  /**
   * Takes effect with the next request on every replica once {@link untilChangeIsHeard} has been waited for. Revoking twice keeps
   * the first moment.
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

  /** The caller behind a token that is known, not expired and not revoked; else null. Whether they may do anything is the guard's. */
  async findCaller(text: string): Promise<Caller | null> {
    if (!isWellFormedToken(text)) return null;
    const changes = this.changes.current();
    const token = await this.tokenOf(hashToken(text).toString('hex'));
    if (!token) return null;
    const { caller, expiresAt } = token;
    const lastUsedAt = await this.noteUse(token);
    if (changes !== undefined) this.remembered.set(text, { caller, expiresAt, lastUsedAt, changes });
    return caller;
  }

  /**
   * The same without asking the database, when the token was looked up within the last minute and no token has changed since.
   * `proxiesRevision` is as old as the look-up.
   */
  recallCaller(text: string): Caller | undefined {
    const changes = this.changes.current();
    if (changes === undefined) return undefined;
    const token = this.remembered.get(text);
    if (token?.changes !== changes) return undefined;
    const now = this.clock.now();
    if (token.expiresAt !== null && token.expiresAt <= now) return undefined;
    return isUseNoted(token.lastUsedAt, now) ? token.caller : undefined;
  }

  private async noteUse({ caller, lastUsedAt }: FoundToken): Promise<Date> {
    const now = this.clock.now();
    if (lastUsedAt !== null && isUseNoted(lastUsedAt, now)) return lastUsedAt;
    await this.tokens.update({ id: caller.tokenId }, { lastUsedAt: now });
    return now;
  }

  private readonly tokenOf = batchedLookup(async (hashes: readonly string[]) => {
    const rows = await preparedRows<Caller & Omit<FoundToken, 'caller'> & { hash: string }>(
      this.dataSource,
      `SELECT token.id AS "tokenId", user_id AS "userId", scopes, allowed_ips AS "allowedIps", daily_limit AS "dailyLimit",
              blocked_at IS NOT NULL AS "isBlocked", proxies_revision AS "proxiesRevision",
              encode(token_hash, 'hex') AS hash, expires_at AS "expiresAt", last_used_at AS "lastUsedAt"
         FROM api_tokens token JOIN users ON users.id = token.user_id
        WHERE token_hash = ANY ($1::bytea[]) AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`,
      [hashes.map((hash) => `\\x${hash}`), this.clock.now()],
    );
    return new Map(
      rows.map(({ hash, expiresAt, lastUsedAt, ...caller }) => [hash, { caller, expiresAt, lastUsedAt }]),
    );
  });
}

interface FoundToken {
  readonly caller: Caller;
  readonly expiresAt: Date | null;
  readonly lastUsedAt: Date | null;
}

const isUseNoted = (lastUsedAt: Date, now: Date): boolean =>
  now.getTime() - lastUsedAt.getTime() < LAST_USED_STEP_MS;

/** Addresses as the networks that they are: `10.1.2.3/8` is `10.0.0.0/8`. */
async function toNetworks(manager: EntityManager, addresses: readonly string[]): Promise<string[]> {
  const rows = await queryRows<{ network: string }>(
    manager,
    'SELECT network(address)::text AS network FROM unnest($1::inet[]) AS given (address)',
    [addresses],
  );
  return rows.map(({ network }) => network);
}
