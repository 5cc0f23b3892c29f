import DataLoader from 'dataloader';

/** More than the requests that start in one turn of the event loop, and few enough for one statement. */
const MAX_KEYS = 200;

/**
 * Looks up many keys with one statement: the look-ups of one turn of the event loop share it. It is sent
 * after the last of them was requested and nothing is cached, so no result is older than its request.
 *
 * @param lookUp gives the rows found, by key; the keys may repeat. An error rejects every look-up of the
 * batch
 */
export function batchedLookup<Key, Found>(
  lookUp: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Found>>,
): (key: Key) => Promise<Found | undefined> {
  const loader = new DataLoader<Key, Found | undefined>(
    async (keys) => {
      const found = await lookUp(keys);
      return keys.map((key) => found.get(key));
    },
    { cache: false, maxBatchSize: MAX_KEYS, batchScheduleFn: setImmediate },
  );
  return (key) => loader.load(key);
}
