import { createHash } from 'node:crypto';

/** How the proxies of a user stand: as long as it holds, so does everything that was made of them. */
export interface ProxyState {
  readonly userId: number;
  /** Grows with each change that the database notices. */
  readonly revision: number;
  /** Milliseconds since 1970, and not before: in between no rental ends. */
  readonly fromMs: number;
  readonly untilMs: number;
}

/**
 * The entity tag of something made of a user's proxies. Weak, because what is sent under it may be newer than the state that it is
 * named by, never older.
 *
 * @param variant what else decides what is in it
 */
export function entityTag({ userId, revision, untilMs }: ProxyState, variant: string): string {
  const hash = createHash('sha256').update(`${userId} ${revision} ${untilMs} ${variant}`);
  return `W/"${hash.digest('base64url').slice(0, 22)}"`;
}
