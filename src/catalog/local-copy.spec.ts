import { Clock } from '../common';
import { LocalCopy } from './local-copy';
import type { StoredCopy } from './shared-copies';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 3_600_000;

class HandClock extends Clock {
  atMs = 0;

  now(): Date {
    return new Date(this.atMs);
  }
}

/** Stands for the database: whoever refreshes a key is the only one who does. */
class OneReplica {
  fetches: string[] = [];
  private moment = 0;

  async refresh(key: string, _known: number | null, ask: () => Promise<unknown>): Promise<StoredCopy> {
    this.fetches.push(key);
    return this.stored(key, await ask());
  }

  stored(key: string, value: unknown, ageMs = 0): StoredCopy {
    this.moment += 1;
    return { key, value, fetchedAt: this.moment, changedAt: this.moment, ageMs };
  }
}

describe('LocalCopy', () => {
  let clock: HandClock;
  let shared: OneReplica;
  let copy: LocalCopy<number>;

  beforeEach(() => {
    clock = new HandClock();
    shared = new OneReplica();
    copy = new LocalCopy(clock, shared, 2);
  });

  const answers = (value: number) => () => Promise.resolve(value);
  const fails = () => Promise.reject(new Error('no provider'));
  const hangs = () => new Promise<number>(() => undefined);

  it('asks once for any number who want it at the same time', async () => {
    let asked = 0;
    const ask = async () => (asked += 1);
    expect(await Promise.all([copy.get('k', ask), copy.get('k', ask), copy.getFresh('k', ask)])).toEqual([
      1, 1, 1,
    ]);
  });

  it('asks again after a minute, and not before', async () => {
    await copy.get('k', answers(1));
    clock.atMs = MINUTE_MS - 1;
    expect(await copy.get('k', answers(2))).toBe(1);
    clock.atMs = MINUTE_MS;
    expect(await copy.get('k', answers(2))).toBe(2);
  });

  it('serves the last known value while the provider fails, for a day', async () => {
    await copy.get('k', answers(1));
    clock.atMs = DAY_MS - 1;
    expect(await copy.get('k', fails)).toBe(1);
    clock.atMs = DAY_MS;
    await expect(copy.get('k', fails)).rejects.toThrow('no provider');
  });

  it('never serves an old value to who needs a fresh one', async () => {
    await copy.getFresh('k', answers(1));
    clock.atMs = MINUTE_MS;
    await expect(copy.getFresh('k', fails)).rejects.toThrow('no provider');
  });

  it('makes one customer wait for a refresh that fails, and then nobody until a minute later', async () => {
    await copy.get('k', answers(1));
    clock.atMs = MINUTE_MS;
    await copy.get('k', fails);
    clock.atMs += MINUTE_MS - 1;
    // Would never come to its end if it were waited for.
    expect(await copy.get('k', hangs)).toBe(1);
  });

  it('tries again behind the customers five seconds after a failure', async () => {
    await copy.get('k', answers(1));
    clock.atMs = MINUTE_MS;
    await copy.get('k', fails);
    clock.atMs += 4999;
    await copy.get('k', answers(2));
    expect(shared.fetches).toHaveLength(2);
    clock.atMs += 1;
    expect(await copy.get('k', answers(2))).toBe(1);
    expect(shared.fetches).toHaveLength(3);
    expect(await copy.get('k', fails)).toBe(2);
  });

  it('waits a second and a half for a slow refresh, and not at all for one that is slower already', async () => {
    await copy.get('k', answers(1));
    clock.atMs = MINUTE_MS;
    const startedAt = performance.now();
    expect(await copy.get('k', hangs)).toBe(1);
    expect(performance.now() - startedAt).toBeGreaterThan(1400);
    clock.atMs += 1500;
    const laterAt = performance.now();
    expect(await copy.get('k', hangs)).toBe(1);
    expect(performance.now() - laterAt).toBeLessThan(500);
  });

  it('takes over what another replica has fetched, as old as it is', async () => {
    clock.atMs = MINUTE_MS;
    copy.apply(shared.stored('k', 7, MINUTE_MS - 1));
    expect(await copy.get('k', fails)).toBe(7);
    clock.atMs += 1;
    await expect(copy.getFresh('k', fails)).rejects.toThrow('no provider');
  });

  it('does not become younger by a correction, and takes no older one over', async () => {
    const fetched = shared.stored('k', 5);
    const sold = { ...fetched, value: 4, changedAt: fetched.changedAt + 1 };
    copy.apply(fetched);
    clock.atMs = MINUTE_MS - 1;
    copy.apply(sold);
    copy.apply(fetched);
    expect(await copy.getFresh('k', fails)).toBe(4);
    clock.atMs = MINUTE_MS;
    expect(await copy.getFresh('k', answers(9))).toBe(9);
  });

  it('asks again when another replica had nothing fresh', async () => {
    const old = shared.stored('k', 1, MINUTE_MS);
    jest.spyOn(shared, 'refresh').mockResolvedValueOnce(old);
    expect(await copy.getFresh('k', answers(2))).toBe(2);
  });

  it('forgets what was fetched longest ago', async () => {
    for (const key of ['a', 'b', 'c']) await copy.get(key, answers(1));
    expect(await copy.get('a', answers(2))).toBe(2);
    expect(await copy.get('c', answers(2))).toBe(1);
  });

  describe('in the background', () => {
    it('has to be refreshed after 40 s when it was asked for in the last 15 minutes', async () => {
      await copy.get('k', answers(1));
      clock.atMs = 39_999;
      expect(copy.nextDue()).toBeUndefined();
      clock.atMs = 40_000;
      expect(copy.nextDue()?.key).toBe('k');
      clock.atMs = 15 * MINUTE_MS;
      expect(copy.nextDue()?.key).toBe('k');
      clock.atMs += 1;
      expect(copy.nextDue()).toBeUndefined();
    });

    it('refreshes what was asked for last before the rest', async () => {
      await copy.get('a', answers(1));
      await copy.get('b', answers(1));
      clock.atMs = 1;
      await copy.get('a', answers(1));
      clock.atMs = 45_000;
      expect(copy.nextDue()?.key).toBe('a');
      await copy.nextDue()?.refresh();
      expect(copy.nextDue()?.key).toBe('b');
    });

    it('leaves alone what is under way, what has failed just now, and what only others ask for', async () => {
      copy.apply(shared.stored('others', 1, 45_000));
      expect(copy.nextDue()).toBeUndefined();
      let answer: (value: number) => void = () => undefined;
      await copy.get('k', answers(1));
      await copy.get('k', () => new Promise((resolve) => (answer = resolve)));
      clock.atMs = 45_000;
      const under = copy.nextDue()?.refresh();
      expect(copy.refreshing).toBe(1);
      expect(copy.nextDue()).toBeUndefined();
      answer(2);
      await under;
      await copy.get('k', fails);
      clock.atMs = 90_000;
      await expect(copy.nextDue()?.refresh()).rejects.toThrow('no provider');
      expect(copy.nextDue()).toBeUndefined();
      clock.atMs += 5000;
      expect(copy.nextDue()?.key).toBe('k');
    });
  });

  it('tells how old the oldest and the newest are', async () => {
    expect(copy.ages()).toBeNull();
    await copy.get('a', answers(1));
    clock.atMs = 30_000;
    await copy.get('b', answers(1));
    expect(copy.ages()).toEqual({ oldestSeconds: 30, newestSeconds: 0 });
  });
});
