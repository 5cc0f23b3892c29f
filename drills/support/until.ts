import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../../src/common';

const POLL_MS = 50;

type Maybe<Value> = Value | undefined | null | false;

/** Repeats a check that throws. @param what completes `waited 30 s in vain for …` */
export async function until<Value>(
  what: string,
  check: () => Maybe<Value> | Promise<Maybe<Value>>,
  { timeoutMs = 30_000, pollMs = POLL_MS }: { timeoutMs?: number; pollMs?: number } = {},
): Promise<Value> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    let why = '';
    try {
      const response = await check();
      if (response !== undefined && response !== null && response !== false) return response;
    } catch (error) {
      why = `: ${messageOf(error)}`;
    }
    if (performance.now() > deadlineMs) {
      throw new Error(`waited ${timeoutMs / 1000} s in vain for ${what}${why}`);
    }
    await pause(pollMs);
  }
}
