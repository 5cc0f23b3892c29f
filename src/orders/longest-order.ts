import type { OrderKind } from './order-states';

interface OrderTimes {
  readonly purchases: { readonly waitMs: number };
  readonly provider: { readonly timeoutMs: number };
}

/** Time for our own work between the reservation and the claim. */
export const QUEUE_SLACK_MS = 2000;

/** Maximum time that a request waits after its provider call, including the search after a lost response. */
export const LONGEST_CHECK_MS = 10_000;

/** A prolongation waits for two permits and two calls, because its call comes after a listing. */
export function longestOrderMs(
  { purchases, provider }: OrderTimes,
  kind: OrderKind = 'prolongation',
): number {
  const callMs = purchases.waitMs + provider.timeoutMs;
  return (kind === 'purchase' ? callMs : 2 * callMs) + LONGEST_CHECK_MS;
}

export const longestQueueSeconds = ({ purchases }: OrderTimes): number =>
  (purchases.waitMs + QUEUE_SLACK_MS) / 1000;

/** Long, because no customer waits for a renewal. */
export const RENEWAL_QUEUE_SECONDS = 2 * 3600;

/** Returns how many seconds a replica may take to read a rental's expiry before another one takes over. */
export const longestReadingSeconds = ({ provider }: OrderTimes): number =>
  (provider.timeoutMs + QUEUE_SLACK_MS) / 1000;
