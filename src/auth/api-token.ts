/** The issuer of a token: staff (or the command line), the customer, or a sign-in. */
export type TokenOrigin = 'staff' | 'customer' | 'sign-in';

/** A token without its hash. The token itself is shown once and not stored. */
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
  /** The only networks from which the token may be used; null allows any address. */
  readonly allowedIps: readonly string[] | null;
  /** Roubles that its orders may spend in a UTC day; null for no limit. */
  readonly dailyLimit: string | null;
  readonly origin: TokenOrigin;
  /** The token that issued it; null if the command line or a sign-in did. */
  readonly issuedBy: number | null;
  /**
   * The other tokens against whose daily limits its orders count: its ancestors with a limit. Otherwise a
   * token could spend its limit once more through each token that it issues.
   */
  readonly limitedBy: readonly number[];
}
