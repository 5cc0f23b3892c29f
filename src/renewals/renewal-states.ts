/** A `skipped` renewal is retried at `next_try_at`. If that is null, the renewal is no longer needed. */
export const RENEWAL_STATES = ['planned', 'placed', 'done', 'skipped', 'failed'] as const;
export type RenewalState = (typeof RENEWAL_STATES)[number];
