/** Both as the configuration has them, in milliseconds. */
interface OrderTimes {
  readonly purchases: { readonly waitMs: number };
  readonly provider: { readonly timeoutMs: number };
}

/** How much longer than the call a request waits: the check after a lost answer takes a while. */
export const LONGEST_CHECK_MS = 10_000;

/**
 * How long an order can take from its request to its answer, in milliseconds: a prolongation waits for a rate
 * permit and a listing, and then, like a purchase, for a permit, its call and the check after a lost answer.
 */
export function longestOrderMs({ purchases, provider }: OrderTimes): number {
  return 2 * (purchases.waitMs + provider.timeoutMs) + LONGEST_CHECK_MS;
}
