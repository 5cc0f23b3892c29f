import { setTimeout as pause } from 'node:timers/promises';
import type { Clock, Moment } from '../common';
import { ProviderUnavailable } from '../provider';
import type { CatalogStore, StoredEntry } from './catalog-store';

/**
 * Fetches a value from the provider. `ageMs` is the age of the usable cached value, or Infinity when there is
 * none.
 */
export type Fetch<Value> = (ageMs: number) => Promise<Value>;

/**
 * Runs a refresh in its turn.
 *
 * @throws ProviderUnavailable when the turn does not come in time
 */
export type InTurn = <Result>(refresh: () => Promise<Result>) => Promise<Result>;

/** An older value does not count as what the provider says now. */
const FRESH_MS = 60_000;
/** While refreshes fail, the last known value is served up to this age. */
const USABLE_MS = 24 * 3_600_000;
/** Values are refreshed from this age on, so that nobody has to wait when they stop being fresh. */
const DUE_MS = 40_000;
/** A value that nobody has asked for in this time is not refreshed in the background. */
const WANTED_MS = 15 * 60_000;
/** The longest wait of a customer for a refresh when an old value can be served. */
const PATIENCE_MS = 1500;
const RETRY_MS = 5000;
/** A row that was read is taken over within this time. */
const LATE_MS = 30_000;

interface Entry<Value> {
  readonly value: Value;
  readonly fetched: Moment;
  /** The database's time, as in {@link StoredEntry}. */
  readonly fetchedAt: number;
  readonly changedAt: number;
  /**
   * When this process was last asked for the value, and how to refresh it. Absent if only other replicas
   * asked. A value whose refreshes have turns is wanted when {@link CatalogCache.want} says so.
   */
  wanted?: { readonly atMs: number; readonly fetch: Fetch<Value> };
  failedAtMs: number;
}

interface Refresh<Value> {
  readonly startedAtMs: number;
  readonly done: Promise<Entry<Value>>;
}

/**
 * What this process has in memory of one kind of the catalog. Concurrent refreshes of a key are one call.
 * When it is full, the values that were fetched longest ago leave first.
 *
 * lru-cache's `fetchMethod` shares concurrent calls and serves stale values, too. It has no limit on a wait
 * or on the age of a stale value, no pause after a failure and no refresh ahead of time, which are most of
 * this class.
 */
export class CatalogCache<Value> {
  private readonly entries = new Map<string, Entry<Value>>();
  private readonly refreshes = new Map<string, Refresh<Value>>();
  /** How many refreshes are under way in the background. */
  refreshing = 0;

  constructor(
    private readonly clock: Clock,
    private readonly store: Pick<CatalogStore, 'refresh'>,
    private readonly maxEntries: number,
  ) {}

  /** Has a value refreshed in the background for some time, if there is one. */
  want(key: string, fetch: Fetch<Value>): void {
    const entry = this.entries.get(key);
    if (entry) entry.wanted = { atMs: this.nowMs(), fetch };
  }

  /** The age of the oldest value that customers of this process ask for; undefined when there is none. */
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
   * Gives a fresh value at once. Without one it waits a moment for a refresh and falls back to the last
   * value, up to a day old. `fetch` also refreshes the value later in the background, unless refreshes have
   * turns: of such values there are too many.
   *
   * @throws the refresh's error when there is no usable value
   */
  async get(key: string, fetch: Fetch<Value>, inTurn?: InTurn): Promise<Value> {
    const entry = this.findUsable(key);
    if (!entry) return this.getFirst(key, fetch, inTurn);
    if (!inTurn) this.want(key, fetch);
    if (this.isFresh(entry)) return entry.value;
    await this.refreshPatiently(key, entry, fetch, inTurn);
    return (this.entries.get(key) ?? entry).value;
  }

  /** Gives what is known, up to a day old, and asks nobody. */
  peek(key: string): Value | undefined {
    return this.findUsable(key)?.value;
  }

  /** Gives a fresh value, or the refresh's error: ProviderUnavailable when what it brings is not fresh. */
  async getFresh(key: string, fetch: Fetch<Value>, inTurn?: InTurn): Promise<Value> {
    const entry = this.findFresh(key) ?? (await this.refreshInTurn(key, fetch, inTurn));
    if (!inTurn) this.want(key, fetch);
    return entry.value;
  }

  /**
   * Takes over what the store has, unless it is known. A correction does not make a value younger. An entry
   * from the future, because the database's clock was set back, is of unknown age: it is not fresh, and what
   * is stored after it is newer.
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

  /** Of the wanted values that are due for a refresh, the one that was asked for last. */
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

  /** Null when the cache is empty. */
  ages(): { readonly oldestSeconds: number; readonly newestSeconds: number } | null {
    const seconds = [...this.entries.values()].map((entry) => Math.round(this.ageMs(entry) / 1000));
    if (seconds.length === 0) return null;
    return { oldestSeconds: Math.max(...seconds), newestSeconds: Math.min(...seconds) };
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

  private findUsable(key: string): Entry<Value> | undefined {
    const entry = this.entries.get(key);
    return entry && this.ageMs(entry) < USABLE_MS ? entry : undefined;
  }

  private findFresh(key: string): Entry<Value> | undefined {
    const entry = this.entries.get(key);
    return entry && this.isFresh(entry) ? entry : undefined;
  }

  private async getFirst(key: string, fetch: Fetch<Value>, inTurn?: InTurn): Promise<Value> {
    try {
      return await this.getFresh(key, fetch, inTurn);
    } catch (error) {
      // Meanwhile the store may have given a value that another replica knew.
      const entry = this.findUsable(key);
      if (entry) return entry.value;
      throw error;
    }
  }

  /** After a failure, or once a refresh takes too long, nobody waits: it goes on in the background. */
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
   * Refreshes that wait for their turns are not one: whoever has the next turn would wait for the last. Once
   * the turn comes, somebody else may have fetched the value.
   */
  private async refreshInTurn(key: string, fetch: Fetch<Value>, inTurn?: InTurn): Promise<Entry<Value>> {
    if (!inTurn) return this.refresh(key, fetch);
    return inTurn(async () => this.findFresh(key) ?? this.refresh(key, fetch));
  }

  private refresh(key: string, fetch: Fetch<Value>): Promise<Entry<Value>> {
    const underWay = this.refreshes.get(key);
    if (underWay) return underWay.done;
    const done = this.fetchFresh(key, fetch).finally(() => this.refreshes.delete(key));
    // Whoever waits for it sees its error, and maybe nobody waits.
    done.catch(() => undefined);
    this.refreshes.set(key, { startedAtMs: this.nowMs(), done });
    return done;
  }

  private async fetchFresh(key: string, fetch: Fetch<Value>): Promise<Entry<Value>> {
    try {
      const entry = await this.fetchOnce(key, fetch);
      if (this.isFresh(entry)) return entry;
      // The store may have given a value of another replica that was unknown here and is not fresh.
      const next = await this.fetchOnce(key, fetch);
      if (this.isFresh(next)) return next;
      throw new ProviderUnavailable(`${key}: what was fetched is not fresh`);
    } catch (error) {
      const entry = this.entries.get(key);
      if (entry) entry.failedAtMs = this.nowMs();
      throw error;
    }
  }

  private async fetchOnce(key: string, fetch: Fetch<Value>): Promise<Entry<Value>> {
    const usable = this.findUsable(key);
    const ageMs = usable ? this.ageMs(usable) : Infinity;
    const fetchedAt = this.entries.get(key)?.fetchedAt ?? null;
    return this.apply(await this.store.refresh(key, fetchedAt, () => fetch(ageMs)));
  }
}
