import { setTimeout as pause } from 'node:timers/promises';
import type { Clock, Moment } from '../common';
import { CALL_PRIORITIES, type CallPriority, ProviderUnavailable } from '../provider';
import type { CatalogStore, StoredEntry } from './catalog-store';

/** How a value is fetched from the provider. */
export interface Fetch<Value> {
  call(priority: CallPriority): Promise<Value>;
  /** @param ageMs the age of the usable cached value, or Infinity without one */
  priorityAt(ageMs: number): CallPriority;
}

/** Runs a refresh in its turn. @throws ProviderUnavailable when the turn does not come in time */
export type InTurn = <Result>(refresh: () => Promise<Result>) => Promise<Result>;

/** An older value does not count as current. */
const FRESH_MS = 60_000;
/** While refreshes fail, the last known value is served up to this age. */
const USABLE_MS = 24 * 3_600_000;
/** Values are refreshed from this age on, so that no request waits when they stop being fresh. */
const DUE_MS = 40_000;
/** A value that was not requested in this time is not refreshed in the background. */
const WANTED_MS = 15 * 60_000;
/** The longest wait of a customer for a refresh when an old value can be served. */
const PATIENCE_MS = 1500;
const RETRY_MS = 5000;
/** A row is applied within this time after it was read. */
const LATE_MS = 30_000;

interface Entry<Value> {
  readonly value: Value;
  readonly fetched: Moment;
  /** The database's time, as in {@link StoredEntry}. */
  readonly fetchedAt: number;
  readonly changedAt: number;
  /**
   * When the value was last requested from this process, and how to refresh it. Absent if only other replicas
   * requested it. A value whose refreshes have turns is wanted only by {@link CatalogCache.want}.
   */
  wanted?: { readonly atMs: number; readonly fetch: Fetch<Value> };
  failedAtMs: number;
}

interface Refresh<Value> {
  readonly startedAtMs: number;
  /** A position in CALL_PRIORITIES. */
  readonly priority: number;
  readonly done: Promise<Entry<Value>>;
}

/**
 * The values of one kind of the catalog in the memory of this process. Concurrent refreshes of a key are one
 * call, but none waits for a call of lower priority. When it is full, the values that were fetched longest
 * ago are evicted.
 *
 * lru-cache's `fetchMethod` shares concurrent calls and serves stale values, too. It lacks limits on waits
 * and on the age of stale values, pauses after failures, and early refreshes, which are most of this class.
 */
export class CatalogCache<Value> {
  private readonly entries = new Map<string, Entry<Value>>();
  private readonly refreshes = new Map<string, Refresh<Value>>();
  /** The number of running background refreshes. */
  refreshing = 0;

  constructor(
    private readonly clock: Clock,
    private readonly store: Pick<CatalogStore, 'refresh'>,
    private readonly maxEntries: number,
  ) {}

  /** Lets an existing value be refreshed in the background for some time. */
  want(key: string, fetch: Fetch<Value>): void {
    const entry = this.entries.get(key);
    if (entry) entry.wanted = { atMs: this.nowMs(), fetch };
  }

  /** The age of the oldest value that customers of this process request; undefined without one. */
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
   * Returns a fresh value at once. Without one it waits a moment for a refresh and falls back to the last
   * value, up to a day old. `fetch` also refreshes the value later in the background, unless refreshes have
   * turns, because such values are too many.
   *
   * @throws the refresh's error when there is no usable value
   */
  async get(key: string, fetch: Fetch<Value>, inTurn?: InTurn): Promise<Value> {
    const entry = this.find(key, USABLE_MS);
    if (!entry) return this.getFirst(key, fetch, inTurn);
    if (!inTurn) this.want(key, fetch);
    if (this.isFresh(entry)) return entry.value;
    await this.refreshPatiently(key, entry, fetch, inTurn);
    return (this.entries.get(key) ?? entry).value;
  }

  /** Returns the cached value, up to a day old, without a fetch. */
  peek(key: string): Value | undefined {
    return this.find(key, USABLE_MS)?.value;
  }

  /** Returns a fresh value, or the refresh's error: ProviderUnavailable when the fetched value is stale. */
  async getFresh(key: string, fetch: Fetch<Value>, inTurn?: InTurn): Promise<Value> {
    const entry = this.find(key, FRESH_MS) ?? (await this.refreshInTurn(key, fetch, inTurn));
    if (!inTurn) this.want(key, fetch);
    return entry.value;
  }

  /**
   * Applies an entry of the store, unless it is known. A correction does not make a value younger. An entry
   * from the future, because the database's clock was set back, has an unknown age: it is not fresh, and any
   * entry that is stored after it is newer.
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
      // All values of a key have one type.
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

  /** The most recently requested of the wanted values that are due for a refresh. */
  nextDue(): { readonly key: string; readonly wantedAtMs: number; refresh(): Promise<unknown> } | undefined {
    const now = this.nowMs();
    let due: { key: string; atMs: number; fetch: Fetch<Value> } | undefined;
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

  private async getFirst(key: string, fetch: Fetch<Value>, inTurn?: InTurn): Promise<Value> {
    try {
      return await this.getFresh(key, fetch, inTurn);
    } catch (error) {
      // In the meantime the store may have provided a value of another replica.
      const entry = this.find(key, USABLE_MS);
      if (entry) return entry.value;
      throw error;
    }
  }

  /** After a failure, or when a refresh takes too long, it continues in the background without a wait. */
  private async refreshPatiently(
    key: string,
    entry: Entry<Value>,
    fetch: Fetch<Value>,
    inTurn?: InTurn,
  ): Promise<void> {
    const now = this.nowMs();
    const runningForMs = now - (this.refreshes.get(key)?.startedAtMs ?? now);
    const failedAgoMs = now - entry.failedAtMs;
    if (failedAgoMs < RETRY_MS) return;
    const refresh = this.refreshInTurn(key, fetch, inTurn).catch(() => undefined);
    if (failedAgoMs < FRESH_MS || runningForMs >= PATIENCE_MS) return;
    await Promise.race([refresh, pause(PATIENCE_MS - runningForMs, undefined, { ref: false })]);
  }

  /**
   * Refreshes that wait for their turns are not shared: the caller with the next turn would wait for the
   * last. When the turn comes, another caller may have fetched the value.
   */
  private async refreshInTurn(key: string, fetch: Fetch<Value>, inTurn?: InTurn): Promise<Entry<Value>> {
    if (!inTurn) return this.refresh(key, fetch);
    return inTurn(async () => this.find(key, FRESH_MS) ?? this.refresh(key, fetch));
  }

  private refresh(key: string, fetch: Fetch<Value>): Promise<Entry<Value>> {
    const usable = this.find(key, USABLE_MS);
    const name = fetch.priorityAt(usable ? this.ageMs(usable) : Infinity);
    const priority = CALL_PRIORITIES.indexOf(name);
    const underWay = this.refreshes.get(key);
    if (underWay && underWay.priority <= priority) return underWay.done;
    const done = this.fetchFresh(key, priority, () => fetch.call(name)).finally(() => {
      if (this.refreshes.get(key) === refresh) this.refreshes.delete(key);
    });
    // Waiting callers get the error, but there may be none.
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
      // The store may have returned a value of another replica that was unknown here and is not fresh.
      const next = await fetchOnce();
      if (this.isFresh(next)) return next;
      throw new ProviderUnavailable(`${key}: what was fetched is not fresh`);
    } catch (error) {
      const entry = this.entries.get(key);
      if (entry) entry.failedAtMs = this.nowMs();
      throw error;
    }
  }
}
