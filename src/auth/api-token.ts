/** Issuer of a token. `staff` includes the command line. `oauth` is a customer who authorized a client. */
export type TokenOrigin = 'staff' | 'customer' | 'sign-in' | 'oauth';

/** Contains neither the secret nor its hash. */
export interface ApiToken {
  readonly id: number;
  readonly userId: number;
  readonly name: string | null;
  readonly scopes: readonly string[];
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  /** Accurate to the minute. */
  readonly lastUsedAt: Date | null;
  /** Null allows any address. */
  readonly allowedIps: readonly string[] | null;
  /** Roubles that the token's orders may spend per UTC day; null for no limit. */
  readonly dailyLimit: string | null;
  readonly origin: TokenOrigin;
  /** Null if the command line or a sign-in issued the token. */
  readonly issuedBy: number | null;
  /** Ids of ancestor tokens whose daily limits also apply to this token's orders. */
  readonly limitedBy: readonly number[];
}
