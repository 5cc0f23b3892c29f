import { setTimeout as pause } from 'node:timers/promises';

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
