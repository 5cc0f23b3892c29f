/**
 * - `planned`: it is due in the future.
 * - `placed`: its order is open.
 * - `done`: renewed and charged.
 * - `skipped`: it was due and not renewed. It is retried at `next_try_at`, or no longer needed when that
 *   is null.
 * - `failed`: it was not renewed, and is not retried.
 */
export const RENEWAL_STATES = ['planned', 'placed', 'done', 'skipped', 'failed'] as const;
export type RenewalState = (typeof RENEWAL_STATES)[number];
