/** Options of an LRUCache of `entries`. Its own `max` would allocate them all in advance. */
export const atMost = (entries: number): { maxSize: number; sizeCalculation: () => number } => ({
  maxSize: entries,
  sizeCalculation: () => 1,
});
