import DataLoader from 'dataloader';

/** More than the requests that start in one turn of the event loop, and few enough for one statement. */
const MAX_KEYS = 200;

/** The longest wait for the statement before: one that hangs delays the next, and stops none. */
const MAX_WAIT_MS = 5;

/**
 * Looks up many keys with one statement. What is asked for in one turn of the event loop shares it, and so
 * does what is asked for while the statement before is under way: a few large statements cost the service
 * and the database less than many small ones. A lone look-up waits for nobody. The statement is sent after
 * the last of its keys was requested and nothing is cached, so no result is older than its request.
 *
 * @param lookUp gives the rows found, by key; the keys may repeat. An error rejects every look-up of the
 * batch
 */
export function batchedLookup<Key, Found>(
  lookUp: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Found>>,
): (key: Key) => Promise<Found | undefined> {
  let underWay = 0;
  const waiting = new Set<() => void>();

  function wait(send: () => void): void {
    const go = (): void => {
      clearTimeout(timer);
      waiting.delete(go);
      send();
    };
    const timer = setTimeout(go, MAX_WAIT_MS);
    waiting.add(go);
  }

  const loader = new DataLoader<Key, Found | undefined>(
    async (keys) => {
      underWay += 1;
      try {
        const found = await lookUp(keys);
        return keys.map((key) => found.get(key));
      } finally {
        underWay -= 1;
        for (const go of waiting) go();
      }
    },
    {
      cache: false,
      maxBatchSize: MAX_KEYS,
      batchScheduleFn: (send) => setImmediate(() => (underWay === 0 ? send() : wait(send))),
    },
  );
  return (key) => loader.load(key);
}
