import type { OrderKind } from './order-states';

/** Both as the configuration has them, in milliseconds. */
interface OrderTimes {
  readonly purchases: { readonly waitMs: number };
  readonly provider: { readonly timeoutMs: number };
}

/** Time for our own steps between the reservation and the claim. */
const SLACK_MS = 2000;

/** How much longer than the call a request waits: the check after a lost answer takes a while. */
export const LONGEST_CHECK_MS = 10_000;

/**
 * How long an order can take from its request to its answer, in milliseconds: a prolongation waits for a rate
 * permit and a listing, and then, like a purchase, for a permit, its call and the check after a lost answer.
 */
export function longestOrderMs({ purchases, provider }: OrderTimes): number {
  return 2 * (purchases.waitMs + provider.timeoutMs) + LONGEST_CHECK_MS;
}

/**
 * How long an order may wait until it is claimed, in seconds: for a rate permit; a prolongation waits for a
 * permit and a listing before that.
 */
export function longestQueueSeconds({ purchases, provider }: OrderTimes, kind: OrderKind): number {
  const waitMs = kind === 'purchase' ? purchases.waitMs : 2 * purchases.waitMs + provider.timeoutMs;
  return (waitMs + SLACK_MS) / 1000;
}
