import DataLoader from 'dataloader';

/**
 * Returns a function that runs one statement for all items that arrive together: in one turn of the event
 * loop, or while the previous statement runs. A single item does not wait.
 *
 * @param run returns the results in the order of the items. If a result is a promise, only its own item waits
 * for the promise
 * @param limits.maxItems maximum number of items in one statement
 * @param limits.maxWaitMs maximum wait for the previous statement, which may hang
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

/** Maximum number of keys in a lookup, more than requests start in one turn of the event loop. */
const MAX_KEYS = 200;

/** Maximum wait for the previous lookup. A lookup takes longer only if the database is busy. */
const MAX_WAIT_MS = 5;

/**
 * Returns a function that looks up many keys with one statement. No result is older than its request.
 * @param lookUp returns the found rows by key; `keys` may contain duplicates. If `lookUp` fails, so do all
 * lookups of the statement
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
