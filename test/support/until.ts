import { setTimeout as sleep } from 'node:timers/promises';

const MOST_WAIT_MS = 15_000;

/** Waits for something that nothing announces. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const startedAt = performance.now();
  while (!(await condition())) {
    if (performance.now() - startedAt > MOST_WAIT_MS) throw new Error('what was waited for did not happen');
    await sleep(5);
  }
}
