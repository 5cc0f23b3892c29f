/**
 * Issuer of a token: staff (or the command line), the customer, a sign-in, or a consent to an OAuth client.
 */
export type TokenOrigin = 'staff' | 'customer' | 'sign-in' | 'oauth';

/** A token without its hash. The secret itself is shown only once, and is not stored. */
export interface ApiToken {
  readonly id: number;
  readonly userId: number;
  readonly name: string | null;
  readonly scopes: readonly string[];
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  /** Time of the last use, accurate to the minute. */
  readonly lastUsedAt: Date | null;
  /** Networks from which the token may be used; null for any address. */
  readonly allowedIps: readonly string[] | null;
  /** Maximum roubles that orders of the token may spend in a UTC day; null for no limit. */
  readonly dailyLimit: string | null;
  readonly origin: TokenOrigin;
  /** Id of the issuing token; null if the command line or a sign-in issued this token. */
  readonly issuedBy: number | null;
  /** Ids of ancestor tokens whose daily limits also apply to this token's orders. */
  readonly limitedBy: readonly number[];
}
