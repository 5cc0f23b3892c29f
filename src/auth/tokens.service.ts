import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { DataSource, type EntityManager } from 'typeorm';
import { atMost, Clock, type DomainError, type Money } from '../common';
import { AppConfig } from '../config';
import {
  batchedLookup,
  lockUser,
  preparedRows,
  type Queryable,
  queryRow,
  queryRows,
  refusedBy,
  selectList,
  USER_ERASED,
} from '../database';
import type { PageRequest } from '../http';
import type { ApiToken, TokenOrigin } from './api-token';
import {
  InvalidToken,
  NoPaymentsAccepted,
  StaffScopesForAnother,
  TokenNotFound,
  TokenUserNotFound,
} from './auth.errors';
import { restrictedBy } from './issuing';
import { ALL_STAFF_SCOPES, isPaymentScope, type Scope } from './scopes';
import { generateToken, hashToken, hexHashOf, isWellFormedToken } from './token-text';

/** The user who makes a request, with the rights of their token. */
export interface Caller extends Pick<
  ApiToken,
  'userId' | 'scopes' | 'allowedIps' | 'dailyLimit' | 'limitedBy' | 'issuedBy' | 'origin'
> {
  readonly tokenId: number;
  readonly isBlocked: boolean;
  /** Incremented with every visible change to the user's proxies. */
  readonly proxiesRevision: number;
  /** Error to throw unless the request is a replay. */
  readonly overLimit?: DomainError;
}

export interface NewToken {
  readonly userId: number;
  readonly scopes: readonly Scope[];
  readonly name?: string | null | undefined;
  readonly expiresAt?: Date | null | undefined;
  /** In CIDR notation. */
  readonly allowedIps?: readonly string[] | null | undefined;
  readonly dailyLimit?: Money | null | undefined;
  /** Omitted by the command line, which may issue any token. */
  readonly issuedBy?: number | undefined;
  readonly origin?: TokenOrigin | undefined;
  /** When an OAuth token's text expires, unless `renewText` replaces the text earlier. */
  readonly textExpiresAt?: Date | undefined;
}

/** Maximum number of tokens remembered as valid. Each takes about 150 bytes. */
const MAX_KNOWN = 20_000;

/** Granularity of `last_used_at`, coarse enough that most requests write nothing. */
const LAST_USED_STEP_MS = 60_000;

const RESTRICTIONS = 'scopes expiresAt allowedIps dailyLimit issuedBy limitedBy';
const FIELDS = `id userId name origin createdAt revokedAt lastUsedAt ${RESTRICTIONS}`;
const COLUMNS = selectList(FIELDS.split(' '));

@Injectable()
export class TokensService {
  private readonly known = new LRUCache<string, true>(atMost(MAX_KNOWN));

  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
    private readonly config: AppConfig,
  ) {}

  /**
   * Issues a token with at most its issuer's rights. Only the result contains the token's text.
   * @throws NoPaymentsAccepted, TokenUserNotFound, ScopeNotGrantable, StaffScopesForAnother,
   * TokenWiderThanIssuer, InvalidToken
   */
  async issue(
    token: NewToken,
    manager: EntityManager = this.dataSource.manager,
  ): Promise<{ text: string; token: ApiToken }> {
    const ofPayments = token.scopes.filter(isPaymentScope);
    if (this.config.payments.provider === 'off' && ofPayments.length > 0) {
      throw new NoPaymentsAccepted(ofPayments);
    }
    const text = generateToken();
    const requested = {
      userId: token.userId,
      scopes: [...token.scopes],
      expiresAt: token.expiresAt ?? null,
      allowedIps: token.allowedIps ? await toNetworks(manager, token.allowedIps) : null,
      dailyLimit: token.dailyLimit?.toString() ?? null,
    };
    // Lock the user, so that tokens become visible in id order and paging misses none.
    await lockUser(manager, token.userId);
    const issuer = token.issuedBy === undefined ? null : await this.lockIssuer(token.issuedBy, manager);
    const allowed = issuer
      ? restrictedBy(issuer, requested)
      : { ...requested, issuedBy: null, limitedBy: [] };
    const issued = await refusedBy(
      { api_tokens_user_id_fkey: TokenUserNotFound, [USER_ERASED]: TokenUserNotFound },
      () =>
        queryRow<ApiToken>(
          manager,
          `INSERT INTO api_tokens (user_id, token_hash, name, origin, scopes, expires_at, allowed_ips,
                                 daily_limit, issued_by, limited_by, text_expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING ${COLUMNS}`,
          [
            token.userId,
            hashToken(text),
            token.name ?? null,
            token.origin ?? 'staff',
            allowed.scopes,
            allowed.expiresAt,
            allowed.allowedIps,
            allowed.dailyLimit,
            allowed.issuedBy,
            allowed.limitedBy,
            token.textExpiresAt ?? null,
          ],
        ),
    );
    return { text, token: issued };
  }

  /** Locks a token while it issues another. @throws InvalidToken if it is no longer valid */
  private async lockIssuer(id: number, manager: EntityManager): Promise<ApiToken> {
    const [issuer] = await selectTokens(manager, 'id = $1 FOR SHARE', [id]);
    const isOver = issuer?.expiresAt && issuer.expiresAt <= this.clock.now();
    if (!issuer || issuer.revokedAt || isOver) throw new InvalidToken();
    return issuer;
  }

  /**
   * Replaces the text of an OAuth token. The token keeps its id, so what it has spent today still counts.
   * @returns the new text; null if the token or its issuer is no longer valid
   */
  async renewText(id: number, textExpiresAt: Date, manager: EntityManager): Promise<string | null> {
    const text = generateToken();
    const renewed = await queryRows(
      manager,
      `UPDATE api_tokens token SET token_hash = $3, text_expires_at = $4
        WHERE id = $1 AND origin = 'oauth' AND ${STILL_WORKS} AND ${ISSUER_STILL_WORKS} RETURNING id`,
      [id, this.clock.now(), hashToken(text), textExpiresAt],
    );
    return renewed.length > 0 ? text : null;
  }

  list(userId: number, { cursor, limit }: PageRequest): Promise<ApiToken[]> {
    return selectTokens(this.dataSource, 'user_id = $1 AND id > $2 ORDER BY id LIMIT $3', [
      userId,
      cursor ?? 0,
      limit,
    ]);
  }

  /** Revokes a token on every replica. A second call keeps the original time. @throws TokenNotFound */
  async revoke(id: number, manager: EntityManager = this.dataSource.manager): Promise<ApiToken> {
    const [revoked] = await queryRows<ApiToken>(
      manager,
      `UPDATE api_tokens SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1 RETURNING ${COLUMNS}`,
      [id, this.clock.now()],
    );
    if (!revoked) throw new TokenNotFound();
    return revoked;
  }

  listDescendants(id: number, { cursor, limit }: PageRequest): Promise<ApiToken[]> {
    return selectTokens(
      this.dataSource,
      `id IN (${DESCENDANTS}) AND ${STILL_WORKS} AND id > $3 ORDER BY id LIMIT $4`,
      [id, this.clock.now(), cursor ?? 0, limit],
    );
  }

  /**
   * Must run in the transaction that revoked the token.
   * @param userId limits the revocation to this customer's tokens without staff scopes
   */
  async revokeDescendants(id: number, manager: EntityManager, userId?: number): Promise<number[]> {
    const revoked: number[] = [];
    for (;;) {
      // Waits for transactions in which a descendant issues a token. The next iteration revokes that token.
      const rows = await queryRows<{ id: number }>(
        manager,
        `UPDATE api_tokens SET revoked_at = $2
          WHERE id IN (SELECT token.id FROM api_tokens token
                        WHERE token.id IN (${DESCENDANTS}) AND ${STILL_WORKS}
                          AND ($3::bigint IS NULL OR (token.user_id = $3 AND NOT token.scopes && $4::text[]))
                        ORDER BY token.id FOR UPDATE)
         RETURNING id`,
        [id, this.clock.now(), userId ?? null, ALL_STAFF_SCOPES],
      );
      if (rows.length === 0) return revoked.sort((one, other) => one - other);
      revoked.push(...rows.map((row) => row.id));
    }
  }

  /**
   * Without `staff:grant`, a caller may neither revoke other users' staff tokens nor block other staff.
   * @param whose whether `ids` are ids of tokens or of users. Users without a valid staff token are not staff
   * @throws StaffScopesForAnother
   */
  async assertMayEnd(
    caller: Pick<Caller, 'userId' | 'scopes'> | null,
    whose: 'id' | 'user_id',
    ids: readonly number[],
    manager: EntityManager,
  ): Promise<void> {
    if (caller === null || caller.scopes.includes('staff:grant')) return;
    const others = await selectTokens(
      manager,
      `${whose} = ANY ($1::bigint[]) AND (${STILL_WORKS} OR '${whose}' = 'id')
        AND user_id <> $3 AND scopes && $4::text[] LIMIT 1`,
      [ids, this.clock.now(), caller.userId, ALL_STAFF_SCOPES],
    );
    if (others.length > 0) throw new StaffScopesForAnother();
  }

  /** Deletes a user's invalid tokens, except the latest `keep` and those that other rows refer to. */
  async forgetInvalid(
    { userId, origin, keep }: { userId: number; origin: Exclude<TokenOrigin, 'staff'>; keep: number },
    manager: EntityManager,
  ): Promise<void> {
    const isReferred = TOKEN_REFERENCES.map(
      ({ table, column }) =>
        `EXISTS (SELECT FROM ${table} AS referring WHERE referring.${column} = token.id)`,
    ).join(' OR ');
    await manager.query(
      `DELETE FROM api_tokens WHERE id IN (
         SELECT token.id FROM (SELECT id AS invalid_id FROM api_tokens token
                                WHERE user_id = $1 AND origin = $3 AND NOT (${STILL_WORKS})
                                ORDER BY id DESC OFFSET $4) AS invalid
           JOIN api_tokens token ON token.id = invalid_id
          WHERE NOT (${isReferred}))`,
      [userId, this.clock.now(), origin, keep],
    );
  }

  async revokeOldest(
    { userId, origin, keep }: { userId: number; origin: Exclude<TokenOrigin, 'staff'>; keep: number },
    manager: EntityManager,
  ): Promise<void> {
    await queryRows(
      manager,
      `UPDATE api_tokens SET revoked_at = $2
        WHERE id IN (SELECT id FROM api_tokens
                      WHERE user_id = $1 AND origin = $3 AND revoked_at IS NULL AND expires_at > $2
                      ORDER BY id DESC OFFSET $4)
       RETURNING id`,
      [userId, this.clock.now(), origin, keep],
    );
  }

  /** @throws TokenNotFound */
  async get(id: number, manager: EntityManager = this.dataSource.manager): Promise<ApiToken> {
    const [token] = await selectTokens(manager, 'id = $1', [id]);
    if (!token) throw new TokenNotFound();
    return token;
  }

  /** Always reads the database, so that revocations apply immediately. */
  async findCaller(text: string): Promise<Caller | null> {
    if (!isWellFormedToken(text)) return null;
    const hash = hexHashOf(text);
    const token = await this.findToken(hash);
    if (!token) {
      this.known.delete(hash);
      return null;
    }
    this.known.set(hash, true);
    if (!token.isUseRecorded) await this.recordUse(token.tokenId);
    return token;
  }

  /** Whether a token was valid at its last lookup. Such a token is looked up even after many failures. */
  wasValid(text: string): boolean {
    return isWellFormedToken(text) && this.known.has(hexHashOf(text));
  }

  private readonly findToken = batchedLookup(async (hashes: readonly string[]) => {
    const now = this.clock.now();
    const rows = await preparedRows<FoundToken>(
      this.dataSource,
      `SELECT token.id AS "tokenId", user_id AS "userId", scopes, allowed_ips AS "allowedIps",
              daily_limit AS "dailyLimit", limited_by AS "limitedBy", issued_by AS "issuedBy", origin,
              blocked_at IS NOT NULL AS "isBlocked",
              proxies_revision AS "proxiesRevision", encode(token_hash, 'hex') AS hash,
              coalesce(last_used_at > $3, false) AS "isUseRecorded"
         FROM api_tokens token JOIN users ON users.id = token.user_id
        WHERE token_hash = ANY ($1::bytea[]) AND ${STILL_WORKS}
          AND (origin <> 'oauth' OR (text_expires_at > $2 AND ${ISSUER_STILL_WORKS}))`,
      [hashes.map((hash) => `\\x${hash}`), now, new Date(now.getTime() - LAST_USED_STEP_MS)],
    );
    return new Map(rows.map((token) => [token.hash, token]));
  });

  /** Skips locked rows, so that replicas do not deadlock. */
  private readonly recordUse = batchedLookup(async (tokenIds: readonly number[]) => {
    await preparedRows(
      this.dataSource,
      `UPDATE api_tokens SET last_used_at = $2
        WHERE id IN (SELECT id FROM api_tokens WHERE id = ANY ($1) FOR NO KEY UPDATE SKIP LOCKED)`,
      [tokenIds, this.clock.now()],
    );
    return new Map<number, never>();
  });
}

const selectTokens = (
  queryable: Queryable,
  rest: string,
  parameters: readonly unknown[],
): Promise<ApiToken[]> =>
  queryRows(queryable, `SELECT ${COLUMNS} FROM api_tokens token WHERE ${rest}`, parameters);

/** Ids of all descendants of the token `$1`. */
const DESCENDANTS = `
  WITH RECURSIVE descendant AS (
    SELECT id FROM api_tokens WHERE issued_by = $1
    UNION ALL
    SELECT issued.id FROM api_tokens issued JOIN descendant ON issued.issued_by = descendant.id
  )
  SELECT id FROM descendant`;

const STILL_WORKS = 'token.revoked_at IS NULL AND (token.expires_at IS NULL OR token.expires_at > $2)';

/** An OAuth token becomes invalid when its issuer does. */
const ISSUER_STILL_WORKS = `EXISTS (
  SELECT FROM api_tokens issuer WHERE issuer.id = token.issued_by AND issuer.revoked_at IS NULL
     AND (issuer.expires_at IS NULL OR issuer.expires_at > $2))`;

/** Columns that refer to a token. Without an index on each, deleting a token would scan whole tables. */
export const TOKEN_REFERENCES = [
  { table: 'orders', column: 'token_id' },
  { table: 'token_spending', column: 'token_id' },
  { table: 'export_links', column: 'token_id' },
  { table: 'audit_log', column: 'token_id' },
  { table: 'api_tokens', column: 'issued_by' },
] as const;

interface FoundToken extends Caller {
  readonly hash: string;
  /** Whether `last_used_at` is recent enough to be left unchanged. */
  readonly isUseRecorded: boolean;
}

/** Clears the host bits of networks: `10.1.2.3/8` becomes `10.0.0.0/8`. */
async function toNetworks(manager: EntityManager, addresses: readonly string[]): Promise<string[]> {
  const rows = await queryRows<{ network: string }>(
    manager,
    'SELECT network(address)::text AS network FROM unnest($1::inet[]) AS given (address)',
    [addresses],
  );
  return rows.map(({ network }) => network);
}
