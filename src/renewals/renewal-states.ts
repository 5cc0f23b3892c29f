/**
 * - `planned`: it is due at a time to come.
 * - `placed`: its order is open.
 * - `done`: charged, and carried out.
 * - `skipped`: it was its turn, and it was not renewed. It is tried again at `nextTryAt`, or, when that is
 *   null, is not needed any more.
 * - `failed`: it was not renewed, and is not tried again.
 */
export const RENEWAL_STATES = ['planned', 'placed', 'done', 'skipped', 'failed'] as const;
export type RenewalState = (typeof RENEWAL_STATES)[number];
