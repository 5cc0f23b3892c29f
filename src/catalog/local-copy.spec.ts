import { Clock } from '../common';
import { LocalCopy } from './local-copy';

class HandClock extends Clock {
  atMs = 0;

  now(): Date {
    return new Date(this.atMs);
  }
}

describe('LocalCopy', () => {
  let clock: HandClock;
  let copy: LocalCopy<number>;

  beforeEach(() => {
    clock = new HandClock();
    copy = new LocalCopy(clock, { freshMs: 60_000, keepMs: 3_600_000, maxEntries: 2 });
  });

  const fails = () => Promise.reject(new Error('no upstream'));

  it('fetches once for any number who ask at the same time', async () => {
    let fetches = 0;
    const fetch = async () => (fetches += 1);
    expect(await Promise.all([copy.get('k', fetch), copy.get('k', fetch), copy.get('k', fetch)])).toEqual([
      1, 1, 1,
    ]);
  });

  it('fetches again after a minute, and not before', async () => {
    await copy.get('k', async () => 1);
    clock.atMs = 59_999;
    expect(await copy.get('k', async () => 2)).toBe(1);
    clock.atMs = 60_000;
    expect(await copy.get('k', async () => 2)).toBe(2);
  });

  it('serves the last known value while the upstream fails, up to its limit', async () => {
    await copy.get('k', async () => 1);
    clock.atMs = 3_599_999;
    expect(await copy.get('k', fails)).toBe(1);
    clock.atMs = 3_600_000;
    await expect(copy.get('k', fails)).rejects.toThrow('no upstream');
  });

  it('never serves an old value to who needs a fresh one', async () => {
    await copy.getFresh('k', async () => 1);
    clock.atMs = 60_000;
    await expect(copy.getFresh('k', fails)).rejects.toThrow('no upstream');
  });

  it('does not become younger by a correction', async () => {
    await copy.get('k', async () => 5);
    copy.adjust('k', (stock) => stock - 1);
    expect(await copy.get('k', async () => 9)).toBe(4);
    clock.atMs = 60_000;
    expect(await copy.get('k', async () => 9)).toBe(9);
  });

  it('forgets what was fetched longest ago', async () => {
    for (const key of ['a', 'b', 'c']) await copy.get(key, async () => 1);
    expect(await copy.get('a', async () => 2)).toBe(2);
    expect(await copy.get('c', async () => 2)).toBe(1);
  });
});
