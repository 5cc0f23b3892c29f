import { setImmediate as yieldToOthers } from 'node:timers/promises';

/** How long work continues before it yields to other requests. */
const TURN_MS = 5;

/** The time of the last yield. The process has one: a yield counts for all work. */
let yieldedAtMs = -Infinity;

/** All items in their order, in slices. Yields to other requests between slices that take long. */
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
