import { LRUCache } from 'lru-cache';

/** Counts begin anew with each minute of UTC, so that all replicas count in the same ones. */
export const WINDOW_MS = 60_000;

/** A replica tells the others of a count once it is this part of the limit. */
const SHARED_PART = 0.01;

/** What was counted for a key in one minute. */
interface Count {
  minute: number;
  /** By this replica, and by the others as far as is known. */
  total: number;
  /** The part that the others have not been told. */
  unshared: number;
}

/** A count to be added to the one that all replicas share. */
export interface UnsharedCount {
  readonly key: number | string;
  /** Minutes since 1970. */
  readonly minute: number;
  readonly count: number;
}

/** Counts events by key in this minute. The keys are bounded: those not seen for longest are forgotten. */
export class RequestCounter<Key extends number | string> {
  private readonly counts: LRUCache<Key, Count>;
  private readonly unshared = new Set<Key>();
  private readonly sharedFrom: number;

  /** @param limit events in a minute; 0: no limit, and nothing is counted */
  constructor(
    readonly name: string,
    readonly limit: number,
    maxKeys: number,
  ) {
    this.counts = new LRUCache({ max: maxKeys });
    this.sharedFrom = Math.max(1, limit * SHARED_PART);
  }

  /** How many more events the key may have in this minute; Infinity without a limit. */
  left(key: Key, nowMs: number): number {
    if (this.limit === 0) return Infinity;
    const count = this.counts.get(key);
    const total = count?.minute === minuteOf(nowMs) ? count.total : 0;
    return Math.max(this.limit - total, 0);
  }

  /** @param amount 1, or −1 for an event that turned out not to count */
  add(key: Key, nowMs: number, amount: 1 | -1 = 1): void {
    if (this.limit === 0) return;
    const minute = minuteOf(nowMs);
    let count = this.counts.get(key);
    if (count?.minute !== minute) this.counts.set(key, (count = { minute, total: 0, unshared: 0 }));
    count.total += amount;
    count.unshared += amount;
    if (count.unshared >= this.sharedFrom) this.unshared.add(key);
  }

  /** Takes what the other replicas should be told. */
  takeUnshared(): UnsharedCount[] {
    const taken: UnsharedCount[] = [];
    for (const key of this.unshared) {
      const count = this.counts.get(key);
      if (!count) continue;
      taken.push({ key, minute: count.minute, count: count.unshared });
      count.unshared = 0;
    }
    this.unshared.clear();
    return taken;
  }

  /** @param total what all replicas have counted for the key in that minute and told each other */
  learn(key: Key, minute: number, total: number): void {
    const count = this.counts.get(key);
    if (count?.minute === minute) count.total = total + count.unshared;
  }
}

export const minuteOf = (ms: number): number => Math.floor(ms / WINDOW_MS);
