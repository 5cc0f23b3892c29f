import { forEachTest } from '../../test/support/fixtures';
import { Clock } from '../common';
import { CatalogCache, type CatalogFetch } from './catalog-cache';
import type { StoredEntry } from './catalog-store';

const MINUTE_MS = 60_000;

class HandClock extends Clock {
  atMs = 0;

  wallMs = 0;

  now(): Date {
    return new Date(this.atMs + this.wallMs);
  }

  monotonicMs(): number {
    return this.atMs;
  }
}

class LoneStore {
  fetches: string[] = [];
  private moment = 0;

  async refresh(
    key: string,
    _known: number | null,
    _priority: number,
    fetch: () => Promise<unknown>,
  ): Promise<StoredEntry> {
    this.fetches.push(key);
    return this.stored(key, await fetch());
  }

  stored(key: string, value: unknown, ageMs = 0): StoredEntry {
    this.moment += 1;
    return { key, value, fetchedAt: this.moment, changedAt: this.moment, ageMs };
  }
}

describe('CatalogCache', () => {
  const clock = forEachTest(() => new HandClock());
  const store = forEachTest(() => new LoneStore());
  const cache = forEachTest(() => new CatalogCache(clock, store, 2));
  const calling = (call: () => Promise<number>): CatalogFetch<number> => ({ call, priorityAt: () => 'rest' });
  const returning = (value: number) => calling(() => Promise.resolve(value));
  const fails = calling(() => Promise.reject(new Error('no provider')));
  const hangs = calling(() => new Promise(() => undefined));

  it('never serves an old value where a fresh one is needed', async () => {
    await cache.getFresh('k', returning(1));
    clock.atMs = MINUTE_MS;
    await expect(cache.getFresh('k', fails)).rejects.toThrow('no provider');
  });

  it('treats no price as fresh after the wall clock was set back, or the machine was suspended', async () => {
    await cache.getFresh('k', returning(1));
    clock.wallMs = -60 * MINUTE_MS;
    clock.atMs = MINUTE_MS;
    expect(await cache.getFresh('k', returning(2))).toBe(2);
    // The monotonic clock stands still while the machine is suspended.
    clock.wallMs += MINUTE_MS;
    expect(await cache.getFresh('k', returning(3))).toBe(3);
  });

  it('treats no entry from the future as fresh, and what is stored after it as newer', async () => {
    const future = store.stored('k', 1, -60 * MINUTE_MS);
    cache.apply({ ...future, fetchedAt: future.fetchedAt + 1e9, changedAt: future.changedAt + 1e9 });
    expect([await cache.get('k', fails), await cache.getFresh('k', returning(2))]).toEqual([1, 2]);
    expect(await cache.get('k', fails)).toBe(2);
  });

  it('has no value when what is fetched is not fresh even at the second attempt', async () => {
    jest.spyOn(store, 'refresh').mockResolvedValue(store.stored('k', 1, MINUTE_MS));
    await expect(cache.getFresh('k', returning(2))).rejects.toThrow('already stale');
  });

  it('makes one customer wait for a refresh that fails, then none for a minute', async () => {
    await cache.get('k', returning(1));
    clock.atMs = MINUTE_MS;
    await cache.get('k', fails);
    clock.atMs += MINUTE_MS - 1;
    // The test would time out if this call waited.
    expect(await cache.get('k', hangs)).toBe(1);
  });

  it('tries again in the background five seconds after a failure', async () => {
    await cache.get('k', returning(1));
    clock.atMs = MINUTE_MS;
    await cache.get('k', fails);
    clock.atMs += 4999;
    await cache.get('k', returning(2));
    expect(store.fetches).toHaveLength(2);
    clock.atMs += 1;
    expect(await cache.get('k', returning(2))).toBe(1);
    expect(store.fetches).toHaveLength(3);
    expect(await cache.get('k', fails)).toBe(2);
  });

  it('takes over what another replica has fetched, with its age', async () => {
    clock.atMs = MINUTE_MS;
    cache.apply(store.stored('k', 7, MINUTE_MS - 1));
    expect(await cache.get('k', fails)).toBe(7);
    clock.atMs += 1;
    await expect(cache.getFresh('k', fails)).rejects.toThrow('no provider');
  });

  it('keeps the age of a value that is corrected, and ignores an older entry', async () => {
    const fetched = store.stored('k', 5);
    const sold = { ...fetched, value: 4, changedAt: fetched.changedAt + 1 };
    cache.apply(fetched);
    clock.atMs = MINUTE_MS - 1;
    cache.apply(sold);
    cache.apply(fetched);
    expect(await cache.getFresh('k', fails)).toBe(4);
    clock.atMs = MINUTE_MS;
    expect(await cache.getFresh('k', returning(9))).toBe(9);
  });

  it('fetches again when the entry of another replica is not fresh', async () => {
    const old = store.stored('k', 1, MINUTE_MS);
    jest.spyOn(store, 'refresh').mockResolvedValueOnce(old);
    expect(await cache.getFresh('k', returning(2))).toBe(2);
  });

  it('drops what was fetched longest ago when it is full', async () => {
    for (const key of ['a', 'b', 'c']) await cache.get(key, returning(1));
    expect([await cache.get('a', returning(2)), await cache.get('c', returning(2))]).toEqual([2, 1]);
  });

  describe('in the background', () => {
    it('a value is due after 40 s if it was requested in the last 15 minutes', async () => {
      await cache.get('k', returning(1));
      clock.atMs = 39_999;
      expect(cache.nextDue()).toBeUndefined();
      clock.atMs = 40_000;
      expect(cache.nextDue()?.key).toBe('k');
      clock.atMs = 15 * MINUTE_MS;
      expect(cache.nextDue()?.key).toBe('k');
      clock.atMs += 1;
      expect(cache.nextDue()).toBeUndefined();
    });

    it('the value that was requested last comes first', async () => {
      await cache.get('a', returning(1));
      await cache.get('b', returning(1));
      clock.atMs = 1;
      await cache.get('a', returning(1));
      clock.atMs = 45_000;
      expect(cache.nextDue()?.key).toBe('a');
      await cache.nextDue()?.refresh();
      expect(cache.nextDue()?.key).toBe('b');
    });

    it('no value is due that is being refreshed, has just failed, or only other replicas want', async () => {
      cache.apply(store.stored('others', 1, 45_000));
      expect(cache.nextDue()).toBeUndefined();
      let respond: (value: number) => void = () => undefined;
      await cache.get('k', returning(1));
      await cache.get(
        'k',
        calling(() => new Promise((resolve) => (respond = resolve))),
      );
      clock.atMs = 45_000;
      const under = cache.nextDue()?.refresh();
      expect([cache.refreshing, cache.nextDue()]).toEqual([1, undefined]);
      respond(2);
      await under;
      await cache.get('k', fails);
      clock.atMs = 90_000;
      await expect(cache.nextDue()?.refresh()).rejects.toThrow('no provider');
      expect(cache.nextDue()).toBeUndefined();
      clock.atMs += 5000;
      expect(cache.nextDue()?.key).toBe('k');
    });
  });
});
