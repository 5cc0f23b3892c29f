/** Limits an LRUCache to `entries` entries. Its own `max` option would preallocate all of them. */
export const atMost = (entries: number): { maxSize: number; sizeCalculation: () => number } => ({
  maxSize: entries,
  sizeCalculation: () => 1,
});
