import type { ProviderRefusal } from '../provider';

/*
 * Every statement that changes an order is in `transitions/`, except for the first one, `place_orders.sql`:
 *
 *   place ────→ reserved ── claimNextBatch ──→ submitting ── deliver… ──→ completed | partial | canceled
 *                 │ ↑                           │ │ │                         ↑
 *                 │ └──── requeueRefused ───────┘ │ └─ cancelOrders ──────────┤
 *                 │                               │                           │
 *                 ├─ store (an end) ──→ submitting
 *                 │        beginConfirming, claimDueSearches ──→ confirming ────┤ deliver…, cancelOrders
 *                 │                                                │          │
 *                 │                                   sendToReview └→ review ─┘ deliver…, cancelOrders
 *                 └─ cancelOrders ──→ canceled
 *
 * Each arrow is one statement in its own transaction, guarded by NEXT_STATES: if it runs twice, even on two
 * replicas, the second run changes nothing. Delivered proxies, orders' states and ledger entries change
 * together or not at all. Entries are posted in user order, so that two batches never deadlock. All times are
 * the database's.
 */

/**
 * - `reserved`: the money is held, and nothing has been sent.
 * - `submitting`: the one call to the provider is in progress, or the process that made it has died.
 * - `confirming`: the outcome is unknown, and reconciliation searches for it at the provider.
 * - `review`: the evidence is missing or contradictory, and staff decide.
 * - `completed`, `partial`, `canceled`: closed, with all, some or none of the proxies delivered and paid for.
 */
const NEXT_STATES = {
  reserved: ['submitting', 'canceled'],
  submitting: ['reserved', 'confirming', 'review', 'completed', 'partial', 'canceled'],
  confirming: ['review', 'completed', 'partial', 'canceled'],
  review: ['completed', 'partial', 'canceled'],
  completed: [],
  partial: [],
  canceled: [],
} as const satisfies Record<string, readonly string[]>;

export type OrderState = keyof typeof NEXT_STATES;

export type OpenState = {
  [State in OrderState]: (typeof NEXT_STATES)[State] extends readonly [] ? never : State;
}[OrderState];

export const ORDER_STATES = Object.keys(NEXT_STATES) as readonly OrderState[];

export const ORDER_KINDS = ['purchase', 'prolongation'] as const;
export type OrderKind = (typeof ORDER_KINDS)[number];

export const IS_RENEWAL_SQL = `origin = 'renewal'`;

export const isOpen = (state: OrderState): state is OpenState => NEXT_STATES[state].length > 0;

/** States in which the order's money is held. */
export const OPEN_STATES: readonly OpenState[] = ORDER_STATES.filter(isOpen);

/** Must agree with the database's `public_state()`. */
const PUBLIC_STATES = {
  reserved: 'open',
  submitting: 'open',
  confirming: 'being_confirmed',
  review: 'being_confirmed',
  completed: 'completed',
  partial: 'partial',
  canceled: 'canceled',
} as const satisfies Record<OrderState, string>;

export type PublicState = (typeof PUBLIC_STATES)[OrderState];

export const ALL_PUBLIC_STATES: readonly PublicState[] = [...new Set(Object.values(PUBLIC_STATES))];

export const publicState = (state: OrderState): PublicState => PUBLIC_STATES[state];

export const statesShownAs = (shown: PublicState): readonly OrderState[] =>
  ORDER_STATES.filter((state) => publicState(state) === shown);

/** Open states in which the call may have been sent. Only proof of the outcome, or staff, may end them. */
export const POSSIBLY_BOUGHT_STATES: readonly OpenState[] = OPEN_STATES.filter(
  (state) => state !== 'reserved',
);

/** Open states that reconciliation settles without staff. */
export const UNATTENDED_STATES: readonly OpenState[] = OPEN_STATES.filter((state) => state !== 'review');

export function statesBefore(next: OrderState): readonly OpenState[] {
  return OPEN_STATES.filter((state) => (NEXT_STATES[state] as readonly OrderState[]).includes(next));
}

/**
 * Reason why an order was canceled without a delivery: the provider's refusal, or one of these.
 *
 * - `unavailable`: the order never reached the provider.
 * - `busy`: the order waited in the queue for longer than PURCHASE_WAIT_MS.
 * - `not-sent`: the order was not sent while it was queued.
 * - `nothing-found`: reconciliation found no evidence of a delivery.
 */
export type OrderFailure = ProviderRefusal | 'unavailable' | 'busy' | 'not-sent' | 'nothing-found' | 'staff';

/** Reasons after which the call may still turn out to have taken effect. */
export const CANCELED_WITHOUT_PROOF: readonly OrderFailure[] = ['nothing-found', 'staff'];

/** Refusals of particular proxies. With `request`, it is unknown which of several proxies was refused. */
export const PROXY_FAILURES: readonly OrderFailure[] = ['not-found', 'request'];
