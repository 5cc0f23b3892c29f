/**
 * `planned`: due in the future. `placed`: its order is open. `done`: renewed and charged. `skipped`: was due
 * and is retried at `next_try_at`, or is no longer needed if that is null. `failed`: neither renewed nor
 * retried.
 */
export const RENEWAL_STATES = ['planned', 'placed', 'done', 'skipped', 'failed'] as const;
export type RenewalState = (typeof RENEWAL_STATES)[number];
