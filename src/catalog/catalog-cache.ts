import { setTimeout as pause } from 'node:timers/promises';
import type { Clock, Moment } from '../common';
import { CALL_PRIORITIES, type CallPriority, ProviderUnavailable } from '../provider';
import type { CatalogStore, StoredEntry } from './catalog-store';

export interface CatalogFetch<Value> {
  call(priority: CallPriority): Promise<Value>;
  /** @param ageMs age of the cached value; Infinity if none is usable */
  priorityAt(ageMs: number): CallPriority;
}

/** Queues a refresh. @throws ProviderUnavailable if the refresh cannot start in time */
export type RefreshInTurn = <Result>(refresh: () => Promise<Result>) => Promise<Result>;

const FRESH_MS = 60_000;
/** Maximum age of a value that is served while refreshes fail. */
const USABLE_MS = 24 * 3_600_000;
/** Age at which values are refreshed in the background. */
const DUE_MS = 40_000;
/** Values are refreshed in the background for this long after their last request. */
const WANTED_MS = 15 * 60_000;
/** Maximum time that a customer waits for a refresh if an old value can be served. */
const PATIENCE_MS = 1500;
const RETRY_MS = 5000;
/** Maximum time between reading a stored entry and applying it. */
const LATE_MS = 30_000;

interface Entry<Value> {
  readonly value: Value;
  readonly fetched: Moment;
  /** Database time, as in {@link StoredEntry}. */
  readonly fetchedAt: number;
  readonly changedAt: number;
  /** Last request in this process. For values whose refreshes are queued, only `want` sets this field. */
  wanted?: { readonly atMs: number; readonly fetch: CatalogFetch<Value> };
  failedAtMs: number;
}

interface Refresh<Value> {
  readonly startedAtMs: number;
  /** Position in CALL_PRIORITIES. */
  readonly priority: number;
  readonly done: Promise<Entry<Value>>;
}

/**
 * Concurrent refreshes of a key share one call, but never wait for a call of lower priority. We do not use
 * lru-cache's `fetchMethod`, because it cannot limit waits or the age of stale values.
 */
export class CatalogCache<Value> {
  private readonly entries = new Map<string, Entry<Value>>();
  private readonly refreshes = new Map<string, Refresh<Value>>();
  /** Number of running background refreshes. */
  refreshing = 0;

  constructor(
    private readonly clock: Clock,
    private readonly store: Pick<CatalogStore, 'refresh'>,
    private readonly maxEntries: number,
  ) {}

  /** Requests background refreshes of a cached value for the next {@link WANTED_MS}. */
  want(key: string, fetch: CatalogFetch<Value>): void {
    const entry = this.entries.get(key);
    if (entry) entry.wanted = { atMs: this.nowMs(), fetch };
  }

  /** Returns the age of the oldest value that this process's customers recently requested, if any. */
  oldestWantedMs(): number | undefined {
    const now = this.nowMs();
    let oldest: number | undefined;
    for (const entry of this.entries.values()) {
      if (!entry.wanted || now - entry.wanted.atMs > WANTED_MS) continue;
      oldest = Math.max(oldest ?? 0, this.ageMs(entry));
    }
    return oldest;
  }

  /**
   * Returns a fresh value or, if the refresh is slow, one up to a day old. With `inTurn`, the refresh is
   * queued, and the value is not refreshed in the background.
   * @throws the refresh's error if there is no usable value
   */
  async get(key: string, fetch: CatalogFetch<Value>, inTurn?: RefreshInTurn): Promise<Value> {
    const entry = this.find(key, USABLE_MS);
    if (!entry) return this.getFirst(key, fetch, inTurn);
    if (!inTurn) this.want(key, fetch);
    if (this.isFresh(entry)) return entry.value;
    await this.refreshPatiently(key, entry, fetch, inTurn);
    return (this.entries.get(key) ?? entry).value;
  }

  /** Returns a value up to a day old, without fetching. */
  peek(key: string): Value | undefined {
    return this.find(key, USABLE_MS)?.value;
  }

  /** @throws the refresh's error, or ProviderUnavailable if even the fetched value is stale */
  async getFresh(key: string, fetch: CatalogFetch<Value>, inTurn?: RefreshInTurn): Promise<Value> {
    const entry = this.find(key, FRESH_MS) ?? (await this.refreshInTurn(key, fetch, inTurn));
    if (!inTurn) this.want(key, fetch);
    return entry.value;
  }

  /**
   * Caches a stored entry unless the cached one is newer. A cached entry may be from the future if the
   * database's clock was set back; any stored entry then replaces it. A stored entry from the future is not
   * fresh.
   */
  apply(stored: StoredEntry): Entry<Value> {
    const { key, fetchedAt, changedAt, ageMs } = stored;
    const known = this.entries.get(key);
    const databaseTime = fetchedAt + ageMs * 1000;
    const isKnownFromFuture = known && known.changedAt > databaseTime + LATE_MS * 1000;
    if (known && changedAt <= known.changedAt && !isKnownFromFuture) return known;
    const isCorrection = known?.fetchedAt === fetchedAt;
    const entry: Entry<Value> = {
      ...known,
      // All values of a key share one type.
      value: stored.value as Value,
      fetchedAt,
      changedAt,
      fetched: isCorrection ? known.fetched : this.clock.moment(ageMs < 0 ? FRESH_MS : ageMs),
      failedAtMs: isCorrection ? known.failedAtMs : -Infinity,
    };
    this.entries.delete(key);
    this.entries.set(key, entry);
    const [oldest] = this.entries.keys();
    if (oldest !== undefined && this.entries.size > this.maxEntries) this.entries.delete(oldest);
    return entry;
  }

  /** Returns the most recently requested value that is due for a refresh. */
  nextDue(): { readonly key: string; readonly wantedAtMs: number; refresh(): Promise<unknown> } | undefined {
    const now = this.nowMs();
    let due: { key: string; atMs: number; fetch: CatalogFetch<Value> } | undefined;
    for (const [key, { wanted, fetched, failedAtMs }] of this.entries) {
      if (!wanted || now - wanted.atMs > WANTED_MS || wanted.atMs <= (due?.atMs ?? -Infinity)) continue;
      if (fetched.elapsedMs() < DUE_MS || now - failedAtMs < RETRY_MS || this.refreshes.has(key)) continue;
      due = { key, ...wanted };
    }
    if (!due) return undefined;
    const { key, atMs, fetch } = due;
    const refresh = (): Promise<unknown> => {
      this.refreshing += 1;
      return this.refresh(key, fetch).finally(() => (this.refreshing -= 1));
    };
    return { key, wantedAtMs: atMs, refresh };
  }

  private nowMs(): number {
    return this.clock.monotonicMs();
  }

  private ageMs(entry: Entry<Value>): number {
    return entry.fetched.elapsedMs();
  }

  private isFresh(entry: Entry<Value>): boolean {
    return this.ageMs(entry) < FRESH_MS;
  }

  private find(key: string, youngerThanMs: number): Entry<Value> | undefined {
    const entry = this.entries.get(key);
    return entry && this.ageMs(entry) < youngerThanMs ? entry : undefined;
  }

  private async getFirst(key: string, fetch: CatalogFetch<Value>, inTurn?: RefreshInTurn): Promise<Value> {
    try {
      return await this.getFresh(key, fetch, inTurn);
    } catch (error) {
      // Look again, because the failed attempt may have cached another replica's value.
      const entry = this.find(key, USABLE_MS);
      if (entry) return entry.value;
      throw error;
    }
  }

  /** Waits briefly, or not at all after a recent failure, for a refresh that continues in the background. */
  private async refreshPatiently(
    key: string,
    entry: Entry<Value>,
    fetch: CatalogFetch<Value>,
    inTurn?: RefreshInTurn,
  ): Promise<void> {
    const now = this.nowMs();
    const runningForMs = now - (this.refreshes.get(key)?.startedAtMs ?? now);
    const failedAgoMs = now - entry.failedAtMs;
    if (failedAgoMs < RETRY_MS) return;
    const refresh = this.refreshInTurn(key, fetch, inTurn).catch(() => undefined);
    if (failedAgoMs < FRESH_MS || runningForMs >= PATIENCE_MS) return;
    await Promise.race([refresh, pause(PATIENCE_MS - runningForMs, undefined, { ref: false })]);
  }

  /** Never joins another caller's queued refresh, because that caller's turn might come later. */
  private async refreshInTurn(
    key: string,
    fetch: CatalogFetch<Value>,
    inTurn?: RefreshInTurn,
  ): Promise<Entry<Value>> {
    if (!inTurn) return this.refresh(key, fetch);
    return inTurn(async () => this.find(key, FRESH_MS) ?? this.refresh(key, fetch));
  }

  private refresh(key: string, fetch: CatalogFetch<Value>): Promise<Entry<Value>> {
    const usable = this.find(key, USABLE_MS);
    const name = fetch.priorityAt(usable ? this.ageMs(usable) : Infinity);
    const priority = CALL_PRIORITIES.indexOf(name);
    const underWay = this.refreshes.get(key);
    if (underWay && underWay.priority <= priority) return underWay.done;
    const done = this.fetchFresh(key, priority, () => fetch.call(name)).finally(() => {
      if (this.refreshes.get(key) === refresh) this.refreshes.delete(key);
    });
    // Prevents an unhandled rejection if no caller waits.
    done.catch(() => undefined);
    const refresh = { startedAtMs: this.nowMs(), priority, done };
    this.refreshes.set(key, refresh);
    return done;
  }

  private async fetchFresh(
    key: string,
    priority: number,
    fetch: () => Promise<Value>,
  ): Promise<Entry<Value>> {
    const fetchOnce = async (): Promise<Entry<Value>> => {
      const known = this.entries.get(key)?.fetchedAt ?? null;
      return this.apply(await this.store.refresh(key, known, priority, fetch));
    };
    try {
      const entry = await fetchOnce();
      if (this.isFresh(entry)) return entry;
      // Fetch again, because the store may have returned another replica's stale value.
      const next = await fetchOnce();
      if (this.isFresh(next)) return next;
      throw new ProviderUnavailable(`${key}: the fetched data is already stale`);
    } catch (error) {
      const entry = this.entries.get(key);
      if (entry) entry.failedAtMs = this.nowMs();
      throw error;
    }
  }
}
