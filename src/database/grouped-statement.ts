import DataLoader from 'dataloader';

/**
 * Runs one statement for all items that arrive together: in one turn of the event loop, and while the
 * previous statement runs. A few large statements cost the service and the database less than many small
 * ones. A single item does not wait.
 *
 * @param run returns the results in the order of the items. Only its own item waits for a promise among them,
 * not the next statement
 * @param limits.maxItems of one statement
 * @param limits.maxWaitMs for the previous statement: one that hangs delays the next, but does not block it
 */
export function groupedStatement<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly (Result | Promise<Result>)[]>,
  { maxItems, maxWaitMs }: { readonly maxItems: number; readonly maxWaitMs: number },
): (item: Item) => Promise<Result> {
  let underWay = 0;
  const waiting = new Set<() => void>();

  function wait(send: () => void): void {
    const go = (): void => {
      clearTimeout(timer);
      waiting.delete(go);
      send();
    };
    const timer = setTimeout(go, maxWaitMs);
    waiting.add(go);
  }

  const loader = new DataLoader<{ readonly item: Item }, Result | Promise<Result>>(
    async (items) => {
      underWay += 1;
      try {
        return await run(items.map(({ item }) => item));
      } finally {
        underWay -= 1;
        for (const go of waiting) go();
      }
    },
    {
      cache: false,
      maxBatchSize: maxItems,
      batchScheduleFn: (send) => setImmediate(() => (underWay === 0 ? send() : wait(send))),
    },
  );
  return (item) => loader.load({ item }).then((result) => result);
}

/** More than the requests that start in one turn of the event loop, but few enough for one statement. */
const MAX_KEYS = 200;

/** Reads take less than this, unless the database is busy. */
const MAX_WAIT_MS = 5;

/**
 * Looks up many keys with one statement, which is sent after the last of them was requested. Nothing is
 * cached, so no result is older than its request.
 *
 * @param lookUp returns the rows found, by key; keys may be duplicates. An error rejects all lookups of the
 * batch
 */
export function batchedLookup<Key, Found>(
  lookUp: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Found>>,
): (key: Key) => Promise<Found | undefined> {
  return groupedStatement(
    async (keys) => {
      const found = await lookUp(keys);
      return keys.map((key) => found.get(key));
    },
    { maxItems: MAX_KEYS, maxWaitMs: MAX_WAIT_MS },
  );
}
