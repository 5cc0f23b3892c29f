import { setTimeout as pause } from 'node:timers/promises';

/** Waits until something is over, for some time at most. @returns whether it was over in time */
export async function isOverWithin(ms: number, something: Promise<unknown>): Promise<boolean> {
  const waiting = new AbortController();
  const { signal } = waiting;
  const tooLong = pause(ms, false, { signal }).catch(() => false);
  const isOver = await Promise.race([something.then(() => true), tooLong]);
  waiting.abort();
  return isOver;
}
