import { setImmediate as yieldToOthers } from 'node:timers/promises';

/** All items in their order, some at a time. Other requests have their turn after each slice. */
export async function* inSlices<Item>(
  items: Iterable<Item>,
  atOnce: number,
): AsyncGenerator<readonly Item[]> {
  let slice: Item[] = [];
  for (const item of items) {
    slice.push(item);
    if (slice.length < atOnce) continue;
    yield slice;
    await yieldToOthers();
    slice = [];
  }
  yield slice;
  await yieldToOthers();
}
