/** Counts by key. A key whose count is 0 takes no memory. */
export class Counts<Key> {
  private readonly counts = new Map<Key, number>();

  of(key: Key): number {
    return this.counts.get(key) ?? 0;
  }

  add(key: Key, change: 1 | -1): void {
    const count = this.of(key) + change;
    if (count === 0) this.counts.delete(key);
    else this.counts.set(key, count);
  }
}
