import { LRUCache } from 'lru-cache';
import { atMost } from '../../common';

/** Counting windows are UTC minutes, so that they are the same on all replicas. */
export const WINDOW_MS = 60_000;

/** Once a count reaches this fraction of the limit, the replica shares the count with the other replicas. */
const SHARED_PART = 0.01;

interface Count {
  /** Minutes since 1970. */
  minute: number;
  /** This replica's count, plus what the other replicas have shared. */
  total: number;
  /** Part of `total` that this replica has not yet shared. */
  unshared: number;
}

/** Counts events by key in the current minute. Evicts the least recently seen keys. */
export class RequestCounter<Key extends number | string = number | string> {
  private readonly counts: LRUCache<Key, Count>;
  private readonly unshared = new Set<Key>();
  private readonly sharedFrom: number;

  /** @param limit events per minute; 0 disables the limit and the count */
  constructor(
    readonly name: string,
    readonly limit: number,
    maxKeys: number,
  ) {
    this.counts = new LRUCache(atMost(maxKeys));
    this.sharedFrom = Math.max(1, limit * SHARED_PART);
  }

  /** Returns how many more events are allowed in this minute; Infinity without a limit. */
  left(key: Key, nowMs: number): number {
    if (this.limit === 0) return Infinity;
    const count = this.counts.get(key);
    const total = count?.minute === minuteOf(nowMs) ? count.total : 0;
    return Math.max(this.limit - total, 0);
  }

  /** @param amount -1 undoes an earlier event */
  add(key: Key, nowMs: number, amount: 1 | -1 = 1): void {
    if (this.limit === 0) return;
    const minute = minuteOf(nowMs);
    let count = this.counts.get(key);
    if (count?.minute !== minute) this.counts.set(key, (count = { minute, total: 0, unshared: 0 }));
    count.total += amount;
    count.unshared += amount;
    if (count.unshared >= this.sharedFrom) this.unshared.add(key);
  }

  takeUnshared() {
    const taken: { key: Key; minute: number; count: number }[] = [];
    for (const key of this.unshared) {
      const count = this.counts.get(key);
      if (!count) continue;
      taken.push({ key, minute: count.minute, count: count.unshared });
      count.unshared = 0;
    }
    this.unshared.clear();
    return taken;
  }

  /** @param total the sum of what all replicas have shared in this minute */
  learn(key: Key, minute: number, total: number): void {
    const count = this.counts.get(key);
    if (count?.minute === minute) count.total = total + count.unshared;
  }
}

export const minuteOf = (ms: number): number => Math.floor(ms / WINDOW_MS);
