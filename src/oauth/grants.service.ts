import { createHash, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { type ApiToken, type Caller, type CustomerScope, hashToken, hexHashOf, TokensService } from '../auth';
import { Clock, DomainError, Money } from '../common';
import { inTransaction, queryRows, selectList } from '../database';
import { Retention } from '../jobs';
import type { AuthorizationRequest } from './authorization-request';
import { OAuthClients } from './clients.service';
import { OAuthError } from './oauth-error';

export interface Consent {
  readonly issuer: Pick<Caller, 'userId' | 'tokenId'>;
  readonly scopes: readonly CustomerScope[];
  readonly dailyLimit: Money | null;
  readonly days: number;
}

const CODE_SECONDS = 60;
const ACCESS_SECONDS = 3600;
const DAY_MS = 86_400_000;
/** Maximum number of tokens per customer. A further consent revokes the oldest token. */
const MOST_TOKENS = 10;
/** Maximum number of codes per customer. A further consent removes the code that expires first. */
const MOST_CODES = 20;
/** Maximum number of invalid OAuth tokens that are kept per customer. */
const MOST_ENDED = 20;

const CODE =
  'clientName redirectUri challenge userId issuerId scopes dailyLimit tokenExpiresAt expiresAt tokenId';

interface Code {
  readonly clientName: string;
  readonly redirectUri: string;
  readonly challenge: string;
  readonly userId: number;
  readonly issuerId: number;
  readonly scopes: readonly CustomerScope[];
  readonly dailyLimit: string | null;
  readonly tokenExpiresAt: Date;
  readonly expiresAt: Date;
  readonly tokenId: number | null;
}

type Grant = Pick<ApiToken, 'id' | 'scopes' | 'expiresAt'> & { readonly refreshHash: string };

/** Only `/mcp` accepts these tokens. A refresh replaces a token's text, but keeps its daily limit. */
@Injectable()
export class OAuthGrants {
  constructor(
    private readonly dataSource: DataSource,
    private readonly tokens: TokensService,
    private readonly clients: OAuthClients,
    private readonly clock: Clock,
    retention: Retention,
  ) {
    retention.add('oauth_codes', async () => ({ removed: await this.removeOldCodes(), next: null }));
  }

  /** Caps the grant at the daily limit and expiry of the customer's own token. @returns the code */
  async createCode(
    { client, redirectUri, challenge }: AuthorizationRequest,
    consent: Consent,
  ): Promise<string> {
    const code = randomSecret();
    const nowMs = this.clock.now().getTime();
    await inTransaction(this.dataSource, async (manager) => {
      await this.clients.recordUse(client.id, manager);
      await manager.query(
        `DELETE FROM oauth_codes WHERE code_hash IN (
           SELECT code_hash FROM oauth_codes WHERE user_id = $1 ORDER BY expires_at DESC OFFSET $2)`,
        [consent.issuer.userId, MOST_CODES - 1],
      );
      await manager.query(
        `INSERT INTO oauth_codes (code_hash, client_id, client_name, redirect_uri, challenge, user_id,
                                  issuer_id, scopes, daily_limit, token_expires_at, expires_at)
         SELECT $1, $2, $3, $4, $5, user_id, id, $6, least($7, daily_limit), least($8, expires_at), $9
           FROM api_tokens WHERE id = $10`,
        [
          hashToken(code),
          client.id,
          client.name,
          redirectUri,
          challenge,
          consent.scopes,
          consent.dailyLimit?.toString() ?? null,
          new Date(nowMs + consent.days * DAY_MS),
          new Date(nowMs + CODE_SECONDS * 1000),
          consent.issuer.tokenId,
        ],
      );
    });
    return code;
  }

  /** If a code is used twice, revokes its token: one of the two clients stole the code. @throws OAuthError */
  async exchange(
    code: string,
    { clientId, redirectUri, verifier }: Record<'clientId' | 'redirectUri' | 'verifier', string>,
  ): Promise<object> {
    const exchanged = inTransaction(this.dataSource, async (manager) => {
      const [row] = await queryRows<Code>(
        manager,
        `SELECT ${selectList(CODE.split(' '))}
           FROM oauth_codes WHERE code_hash = $1 AND client_id = $2 FOR UPDATE`,
        [hashToken(code), clientId],
      );
      if (!row || row.redirectUri !== redirectUri || row.challenge !== challengeOf(verifier)) return null;
      if (row.tokenId !== null) {
        await this.tokens.revoke(row.tokenId, manager);
        return null;
      }
      return row.expiresAt > this.clock.now() ? this.issue(code, clientId, row, manager) : null;
    });
    const issued = await exchanged.catch((error: unknown) => {
      // A `DomainError` means that the customer's token is no longer valid, or that the token to revoke is
      // gone.
      if (error instanceof DomainError && error.kind !== 'unavailable') return null;
      throw error;
    });
    if (!issued) {
      throw new OAuthError(
        'invalid_grant',
        'the code is unknown, expired or already used, or belongs to another client',
      );
    }
    return issued;
  }

  private async issue(
    code: string,
    clientId: string,
    { clientName, userId, issuerId, scopes, dailyLimit, tokenExpiresAt }: Code,
    manager: EntityManager,
  ): Promise<object> {
    const { text, token } = await this.tokens.issue(
      {
        userId,
        scopes,
        name: clientName,
        expiresAt: tokenExpiresAt,
        dailyLimit: dailyLimit === null ? null : Money.parse(dailyLimit),
        issuedBy: issuerId,
        origin: 'oauth',
        textExpiresAt: this.accessExpiry(tokenExpiresAt),
      },
      manager,
    );
    await this.tokens.revokeOldest({ userId, origin: 'oauth', keep: MOST_TOKENS }, manager);
    await this.tokens.forgetInvalid({ userId, origin: 'oauth', keep: MOST_ENDED }, manager);
    const [family, secret] = [randomSecret(), randomSecret()];
    await manager.query(
      'INSERT INTO oauth_grants (token_id, client_id, family_hash, refresh_hash) VALUES ($1, $2, $3, $4)',
      [token.id, clientId, hashToken(family), hashToken(secret)],
    );
    await manager.query('UPDATE oauth_codes SET token_id = $2 WHERE code_hash = $1', [
      hashToken(code),
      token.id,
    ]);
    return this.response(text, `${family}.${secret}`, token);
  }

  /**
   * Reuse of a refresh token revokes the grant, because one of the two clients must have stolen the token.
   * @throws OAuthError
   */
  async refresh(refreshToken: string, clientId: string): Promise<object> {
    const family = familyOf(refreshToken);
    const secret = refreshToken.slice(family.length + 1);
    const issued = await inTransaction(this.dataSource, async (manager) => {
      const grant = await lockGrant(manager, 'family_hash = $1', [hashToken(family), clientId]);
      if (!grant) return null;
      if (grant.refreshHash !== hexHashOf(secret)) {
        await this.tokens.revoke(grant.id, manager);
        return null;
      }
      const textExpiresAt = this.accessExpiry(grant.expiresAt);
      const text = await this.tokens.renewText(grant.id, textExpiresAt, manager);
      if (text === null) return null;
      const next = randomSecret();
      await manager.query('UPDATE oauth_grants SET refresh_hash = $2 WHERE token_id = $1', [
        grant.id,
        hashToken(next),
      ]);
      return this.response(text, `${family}.${next}`, grant);
    });
    if (!issued) {
      throw new OAuthError('invalid_grant', 'the refresh token is unknown, already used, or no longer valid');
    }
    return issued;
  }

  /** Accepts the client's access or refresh token. Ignores any other string. */
  async revoke(text: string, clientId: string): Promise<void> {
    const caller = await this.tokens.findCaller(text);
    await inTransaction(this.dataSource, async (manager) => {
      const grant = caller
        ? await lockGrant(manager, 'token_id = $1', [caller.tokenId, clientId])
        : await lockGrant(manager, 'family_hash = $1', [hashToken(familyOf(text)), clientId]);
      if (grant) await this.tokens.revoke(grant.id, manager);
    });
  }

  private accessExpiry(tokenExpiresAt: Date | null): Date {
    const atMostMs = this.clock.now().getTime() + ACCESS_SECONDS * 1000;
    return new Date(Math.min(atMostMs, tokenExpiresAt?.getTime() ?? Infinity));
  }

  /** Returns the response of the token endpoint (RFC 6749, 5.1). */
  private response(
    accessToken: string,
    refreshToken: string,
    { scopes, expiresAt }: Pick<Grant, 'scopes' | 'expiresAt'>,
  ): object {
    const expiresInMs = this.accessExpiry(expiresAt).getTime() - this.clock.now().getTime();
    return {
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: Math.floor(expiresInMs / 1000),
      refresh_token: refreshToken,
      scope: scopes.join(' '),
    };
  }

  /** Removes expired codes that are no longer needed to detect the reuse of a stolen code. */
  private async removeOldCodes(): Promise<number> {
    const removed = await queryRows(
      this.dataSource,
      `DELETE FROM oauth_codes WHERE expires_at < now() - interval '1 day' RETURNING 1`,
    );
    return removed.length;
  }
}

const randomSecret = (): string => randomBytes(32).toString('base64url');

/** Returns the part that all of a grant's refresh tokens share. */
const familyOf = (refreshToken: string): string => refreshToken.split('.', 1)[0] ?? '';

/** Returns the PKCE challenge (RFC 7636, method S256). */
const challengeOf = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url');

/** Locks the token before the grant, as the removal of invalid tokens does. `$2` is the client. */
async function lockGrant(
  manager: EntityManager,
  condition: string,
  parameters: readonly [unknown, string],
): Promise<Grant | undefined> {
  const [grant] = await queryRows<Grant>(
    manager,
    `SELECT id, scopes, expires_at AS "expiresAt", encode(refresh_hash, 'hex') AS "refreshHash"
       FROM api_tokens token JOIN oauth_grants ON token_id = token.id
      WHERE ${condition} AND client_id = $2 FOR UPDATE`,
    parameters,
  );
  return grant;
}
