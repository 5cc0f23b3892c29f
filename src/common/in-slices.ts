import { setImmediate as yieldToOthers } from 'node:timers/promises';

/** How long work goes on before other requests have their turn. */
const TURN_MS = 5;

/** When others had their turn last. It is one for the process: whoever yields does it for all. */
let yieldedAtMs = -Infinity;

/** All items in their order, some at a time. Other requests have their turn between slices that take long. */
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
  yield slice;
  await yieldAfterAWhile();
}

async function yieldAfterAWhile(): Promise<void> {
  if (performance.now() - yieldedAtMs < TURN_MS) return;
  await yieldToOthers();
  yieldedAtMs = performance.now();
}
