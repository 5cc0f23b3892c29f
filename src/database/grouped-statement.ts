import DataLoader from 'dataloader';

/**
 * Returns a function that collects items: one statement runs for all items that arrive in one turn of the
 * event loop, or while the previous statement is running.
 * @param run returns the results in the order of the items; a result may be a promise, which delays only its
 * own item
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

const MAX_KEYS = 200;

const MAX_WAIT_MS = 5;

/** Returns a function that combines concurrent lookups into one statement. `keys` may contain duplicates. */
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
