/**
 * States of a renewal:
 * - `planned`: it becomes due in the future.
 * - `placed`: its order is open.
 * - `done`: it was renewed and charged.
 * - `skipped`: it was due and was not renewed. It is retried at `next_try_at`; if that is null, it is no
 *   longer needed.
 * - `failed`: it was not renewed, and is not retried.
 */
export const RENEWAL_STATES = ['planned', 'placed', 'done', 'skipped', 'failed'] as const;
export type RenewalState = (typeof RENEWAL_STATES)[number];
