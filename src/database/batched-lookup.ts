import DataLoader from 'dataloader';

/** Large enough for every request that one turn of the event loop begins, small enough for a statement. */
const MOST_KEYS = 200;

/**
 * Looks up by keys. What is asked for within one turn of the event loop is one statement, which begins after the last of them asked:
 * nothing is kept, and nobody gets an answer older than their question.
 *
 * @param lookUp gives what it finds by the keys, which may name one several times; what fails, fails for all of them
 */
export function batchedLookup<Key, Found>(
  lookUp: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Found>>,
): (key: Key) => Promise<Found | undefined> {
  const loader = new DataLoader<Key, Found | undefined>(
    async (keys) => {
      const found = await lookUp(keys);
      return keys.map((key) => found.get(key));
    },
    { cache: false, maxBatchSize: MOST_KEYS, batchScheduleFn: setImmediate },
  );
  return (key) => loader.load(key);
}
