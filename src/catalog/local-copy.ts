import type { Clock } from '../common';

interface Entry<Value> {
  readonly value: Value;
  readonly fetchedAt: number;
}

/**
 * Values fetched from the upstream, kept for a while. Concurrent misses of one key share one fetch. Bounded: the keys that were
 * fetched longest ago leave first.
 */
export class LocalCopy<Value> {
  private readonly entries = new Map<string, Entry<Value>>();
  private readonly pending = new Map<string, Promise<Value>>();

  constructor(
    private readonly clock: Clock,
    private readonly limits: { freshMs: number; keepMs: number; maxEntries: number },
  ) {}

  /** A value no older than `freshMs`, or the fetch's error. */
  async getFresh(key: string, fetch: () => Promise<Value>): Promise<Value> {
    const entry = this.entries.get(key);
    if (entry && this.ageMs(entry) < this.limits.freshMs) return entry.value;
    return this.pending.get(key) ?? this.refresh(key, fetch);
  }

  /** A fresh value when there is one to be had, else the last known one that is not older than `keepMs`, else the fetch's error. */
  async get(key: string, fetch: () => Promise<Value>): Promise<Value> {
    try {
      return await this.getFresh(key, fetch);
    } catch (error) {
      const entry = this.entries.get(key);
      if (entry && this.ageMs(entry) < this.limits.keepMs) return entry.value;
      throw error;
    }
  }

  /** Corrects a value by what we know ourselves. It is as old as before. */
  adjust(key: string, change: (value: Value) => Value): void {
    const entry = this.entries.get(key);
    if (entry) this.entries.set(key, { ...entry, value: change(entry.value) });
  }

  private ageMs(entry: Entry<Value>): number {
    return this.clock.now().getTime() - entry.fetchedAt;
  }

  private refresh(key: string, fetch: () => Promise<Value>): Promise<Value> {
    const fetchedAt = this.clock.now().getTime();
    const fetching = fetch()
      .then((value) => {
        this.entries.delete(key);
        this.entries.set(key, { value, fetchedAt });
        const [oldest] = this.entries.keys();
        if (oldest !== undefined && this.entries.size > this.limits.maxEntries) this.entries.delete(oldest);
        return value;
      })
      .finally(() => this.pending.delete(key));
    this.pending.set(key, fetching);
    return fetching;
  }
}
