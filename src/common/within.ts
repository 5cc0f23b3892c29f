import { setTimeout as pause } from 'node:timers/promises';

/**
 * Waits for a promise to settle, up to a time limit.
 *
 * @returns whether it settled in time
 */
export async function isOverWithin(ms: number, something: Promise<unknown>): Promise<boolean> {
  const waiting = new AbortController();
  const { signal } = waiting;
  const tooLong = pause(ms, false, { signal }).catch(() => false);
  try {
    return await Promise.race([something.then(() => true), tooLong]);
  } finally {
    waiting.abort();
  }
}
