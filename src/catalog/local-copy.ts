import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../common';
import type { SharedCopies, StoredCopy } from './shared-copies';

/** Asks the provider. `ageMs`: of the copy that is there; Infinity when there is none, or none of use. */
export type Ask<Value> = (ageMs: number) => Promise<Value>;

/** A copy that is older does not pass for what the provider says now. */
const FRESH_MS = 60_000;
/** Who has waited for nothing but failures is told what was known last, up to this age. */
const KEPT_MS = 24 * 3_600_000;
/** Refreshed from this age on, so that nobody has to wait for it when it is a minute old. */
const DUE_MS = 40_000;
/** What nobody has asked for in this time is left to grow old. */
const WANTED_MS = 15 * 60_000;
/** How long a customer waits for a refresh when there is an old copy. */
const PATIENCE_MS = 1500;
const RETRY_MS = 5000;

interface Entry<Value> {
  readonly value: Value;
  readonly fetchedAtMs: number;
  /** The database's moments of it. */
  readonly fetchedAt: number;
  readonly changedAt: number;
  /** By this process. */
  wanted?: { atMs: number; readonly ask: Ask<Value> };
  failedAtMs: number;
}

interface Refresh<Value> {
  readonly sinceMs: number;
  readonly done: Promise<Entry<Value>>;
}

async function settledWithin(work: Promise<unknown>, limitMs: number): Promise<void> {
  const timer = new AbortController();
  const settled = work.then(
    () => undefined,
    () => undefined,
  );
  await Promise.race([settled, pause(limitMs, undefined, timer).catch(() => undefined)]);
  timer.abort();
}

/**
 * What this process knows of one kind of the shared copies, in memory. Concurrent refreshes of one key are one. Bounded: the keys
 * that were fetched longest ago leave first.
 */
export class LocalCopy<Value> {
  private readonly entries = new Map<string, Entry<Value>>();
  private readonly refreshes = new Map<string, Refresh<Value>>();

  constructor(
    private readonly clock: Clock,
    private readonly shared: Pick<SharedCopies, 'refresh'>,
    private readonly maxEntries: number,
  ) {}

  get refreshing(): number {
    return this.refreshes.size;
  }

  /**
   * A fresh value at once; an older one when no fresh one can be had soon, up to a day old; else the refresh's error.
   * `ask` is also what refreshes it later in the background.
   */
  async get(key: string, ask: Ask<Value>): Promise<Value> {
    const entry = this.find(key);
    if (!entry) return this.getUnknown(key, ask);
    entry.wanted = { atMs: this.nowMs(), ask };
    if (this.ageMs(entry) < FRESH_MS) return entry.value;
    await this.refreshPatiently(key, entry, ask);
    return (this.entries.get(key) ?? entry).value;
  }

  /** What {@link get} would say at once; undefined when it would ask, or was never asked for it. */
  recall(key: string): Value | undefined {
    const entry = this.entries.get(key);
    if (!entry?.wanted) return undefined;
    const now = this.nowMs();
    if (now - entry.fetchedAtMs >= FRESH_MS) return undefined;
    entry.wanted.atMs = now;
    return entry.value;
  }

  /** A fresh value, or the refresh's error. */
  async getFresh(key: string, ask: Ask<Value>): Promise<Value> {
    const known = this.find(key);
    const entry = known && this.ageMs(known) < FRESH_MS ? known : await this.refresh(key, ask);
    entry.wanted = { atMs: this.nowMs(), ask };
    return entry.value;
  }

  /** Takes over what the database has, unless it is known. A correction does not make a copy younger. */
  apply(stored: StoredCopy): Entry<Value> {
    const { key, fetchedAt, changedAt, ageMs } = stored;
    const known = this.entries.get(key);
    if (known && changedAt <= known.changedAt) return known;
    const isCorrection = known?.fetchedAt === fetchedAt;
    const entry: Entry<Value> = {
      ...known,
      // A key has values of one kind.
      value: stored.value as Value,
      fetchedAt,
      changedAt,
      fetchedAtMs: isCorrection ? known.fetchedAtMs : this.nowMs() - ageMs,
      failedAtMs: isCorrection ? known.failedAtMs : -Infinity,
    };
    this.entries.delete(key);
    this.entries.set(key, entry);
    const [oldest] = this.entries.keys();
    if (oldest !== undefined && this.entries.size > this.maxEntries) this.entries.delete(oldest);
    return entry;
  }

  /** Of what was asked for lately and begins to be old: what was asked for last. */
  nextDue(): { readonly key: string; readonly wantedAtMs: number; refresh(): Promise<unknown> } | undefined {
    const now = this.nowMs();
    let due: { key: string; atMs: number; ask: Ask<Value> } | undefined;
    for (const [key, { wanted, fetchedAtMs, failedAtMs }] of this.entries) {
      if (!wanted || now - wanted.atMs > WANTED_MS || wanted.atMs <= (due?.atMs ?? -Infinity)) continue;
      if (now - fetchedAtMs < DUE_MS || now - failedAtMs < RETRY_MS || this.refreshes.has(key)) continue;
      due = { key, ...wanted };
    }
    if (!due) return undefined;
    const { key, atMs, ask } = due;
    return { key, wantedAtMs: atMs, refresh: () => this.refresh(key, ask) };
  }

  /** Null when there is nothing. */
  ages(): { readonly oldestSeconds: number; readonly newestSeconds: number } | null {
    const seconds = [...this.entries.values()].map((entry) => Math.round(this.ageMs(entry) / 1000));
    if (seconds.length === 0) return null;
    return { oldestSeconds: Math.max(...seconds), newestSeconds: Math.min(...seconds) };
  }

  private nowMs(): number {
    return this.clock.now().getTime();
  }

  private ageMs(entry: Entry<Value>): number {
    return this.nowMs() - entry.fetchedAtMs;
  }

  private find(key: string): Entry<Value> | undefined {
    const entry = this.entries.get(key);
    return entry && this.ageMs(entry) < KEPT_MS ? entry : undefined;
  }

  private async getUnknown(key: string, ask: Ask<Value>): Promise<Value> {
    try {
      return await this.getFresh(key, ask);
    } catch (error) {
      // Another replica may have known it.
      const entry = this.find(key);
      if (entry) return entry.value;
      throw error;
    }
  }

  /** After a failure, and while a refresh takes its time, nobody waits: it goes on behind. */
  private async refreshPatiently(key: string, entry: Entry<Value>, ask: Ask<Value>): Promise<void> {
    const now = this.nowMs();
    const underWayMs = now - (this.refreshes.get(key)?.sinceMs ?? now);
    const failedAgoMs = now - entry.failedAtMs;
    if (failedAgoMs < RETRY_MS) return;
    const refresh = this.refresh(key, ask);
    if (failedAgoMs >= FRESH_MS && underWayMs < PATIENCE_MS) {
      await settledWithin(refresh, PATIENCE_MS - underWayMs);
    }
  }

  private refresh(key: string, ask: Ask<Value>): Promise<Entry<Value>> {
    const underWay = this.refreshes.get(key);
    if (underWay) return underWay.done;
    const done = this.renew(key, ask).finally(() => this.refreshes.delete(key));
    // Those who wait for it see its error, and maybe nobody waits.
    done.catch(() => undefined);
    this.refreshes.set(key, { sinceMs: this.nowMs(), done });
    return done;
  }

  private async renew(key: string, ask: Ask<Value>): Promise<Entry<Value>> {
    try {
      const entry = await this.fetch(key, ask);
      // What another replica had was unknown here, and not fresh.
      return this.ageMs(entry) < FRESH_MS ? entry : await this.fetch(key, ask);
    } catch (error) {
      const entry = this.entries.get(key);
      if (entry) entry.failedAtMs = this.nowMs();
      throw error;
    }
  }

  private async fetch(key: string, ask: Ask<Value>): Promise<Entry<Value>> {
    const known = this.find(key);
    const fetchedAt = this.entries.get(key)?.fetchedAt ?? null;
    const ageMs = known ? this.ageMs(known) : Infinity;
    return this.apply(await this.shared.refresh(key, fetchedAt, () => ask(ageMs)));
  }
}
