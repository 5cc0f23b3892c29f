import type { OrderKind } from './order-states';

interface OrderTimes {
  readonly purchases: { readonly waitMs: number };
  readonly provider: { readonly timeoutMs: number };
}

/** Milliseconds allowed for our own work between the reservation and the claim. */
export const QUEUE_SLACK_MS = 2000;

/**
 * Maximum time that a request waits after its call, including the search after a lost response, in
 * milliseconds.
 */
export const LONGEST_CHECK_MS = 10_000;

/**
 * Returns how long a request may wait for its order, in milliseconds: for a rate permit, the call, and the
 * check after a lost response. A prolongation first waits for another permit and a listing.
 */
export function longestOrderMs(
  { purchases, provider }: OrderTimes,
  kind: OrderKind = 'prolongation',
): number {
  const callMs = purchases.waitMs + provider.timeoutMs;
  return (kind === 'purchase' ? callMs : 2 * callMs) + LONGEST_CHECK_MS;
}

/** Returns how many seconds an order may wait for its call, or for the listing before the call. */
export const longestQueueSeconds = ({ purchases }: OrderTimes): number =>
  (purchases.waitMs + QUEUE_SLACK_MS) / 1000;

/** Maximum time in the queue for a renewal's order, in seconds. No customer waits for it. */
export const RENEWAL_QUEUE_SECONDS = 2 * 3600;

/** Returns how many seconds a replica may take to read a rental's expiry before another one takes over. */
export const longestReadingSeconds = ({ provider }: OrderTimes): number =>
  (provider.timeoutMs + QUEUE_SLACK_MS) / 1000;
