import { groupedStatement } from './grouped-statement';

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
