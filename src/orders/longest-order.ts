import type { OrderKind } from './order-states';

/** From the configuration, in milliseconds. */
interface OrderTimes {
  readonly purchases: { readonly waitMs: number };
  readonly provider: { readonly timeoutMs: number };
}

/** Time for our own steps between the reservation and the claim. */
export const QUEUE_SLACK_MS = 2000;

/** How long a request may wait after its call, including the search after a lost response. */
export const LONGEST_CHECK_MS = 10_000;

/**
 * The longest wait of a request for its order, in milliseconds: for a rate permit, its call and the check
 * after a lost response; a prolongation first waits for another permit and a listing.
 */
export function longestOrderMs(
  { purchases, provider }: OrderTimes,
  kind: OrderKind = 'prolongation',
): number {
  const callMs = purchases.waitMs + provider.timeoutMs;
  return (kind === 'purchase' ? callMs : 2 * callMs) + LONGEST_CHECK_MS;
}

/** How long an order may wait for its call, or for the listing before it, in seconds. */
export const longestQueueSeconds = ({ purchases }: OrderTimes): number =>
  (purchases.waitMs + QUEUE_SLACK_MS) / 1000;

/** How long the order of a renewal may wait until it is claimed, while no customer waits for it. */
export const RENEWAL_QUEUE_SECONDS = 2 * 3600;

/** How long a replica may take to read the end of a rental, in seconds, before another one takes over. */
export const longestReadingSeconds = ({ provider }: OrderTimes): number =>
  (provider.timeoutMs + QUEUE_SLACK_MS) / 1000;
