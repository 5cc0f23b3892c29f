import { setImmediate as yieldToOthers } from 'node:timers/promises';

/** How long work runs, in milliseconds, before it yields to other requests. */
const TURN_MS = 5;

/** Time of the last yield in this process, shared by all work on the event loop. */
let yieldedAtMs = -Infinity;

/** Returns all items in order, in slices. Yields to other requests after every few milliseconds of work. */
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
