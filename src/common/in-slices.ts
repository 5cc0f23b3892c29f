import { setImmediate as yieldToOthers } from 'node:timers/promises';

const TURN_MS = 5;

/** Shared by all callers, because they all block the same event loop. */
let yieldedAtMs = -Infinity;

/** Yields the items in slices, and lets other requests run every few milliseconds. */
export async function* inSlices<Item>(
  items: Iterable<Item>,
  atOnce: number,
): AsyncGenerator<readonly Item[]> {
  let slice: Item[] = [];
  for (const item of items) {
    slice.push(item);
    if (slice.length < atOnce) continue;
    yield slice;
    await yieldAfterAWhile();
    slice = [];
  }
  if (slice.length > 0) yield slice;
  await yieldAfterAWhile();
}

async function yieldAfterAWhile(): Promise<void> {
  if (performance.now() - yieldedAtMs < TURN_MS) return;
  await yieldToOthers();
  yieldedAtMs = performance.now();
}
