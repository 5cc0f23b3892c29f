import { setImmediate as turn } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { forEachTest } from '../../test/support/fixtures';
import { Metrics } from '../metrics';
import type { DueWork } from './due-work';
import { Jobs } from './jobs';

const HOUR_MS = 3_600_000;

describe('Due work', () => {
  let due: string[];
  let ends: Map<string, (error?: Error) => void>;
  let claims: number;
  let cutOff: AbortSignal | undefined;
  const jobs = forEachTest(() => new Jobs({} as DataSource, Metrics.disabled));
  beforeEach(() => {
    [due, ends, claims] = [[], new Map(), 0];
  });
  afterEach(async () => {
    for (const end of ends.values()) end();
    await jobs.stop();
  });

  const add = (changes: Partial<DueWork<string>> = {}) =>
    jobs.due<string>({
      name: 'some-rows',
      lookEveryMs: HOUR_MS,
      atOnce: 2,
      waiting: '',
      async claim(capacity) {
        claims += 1;
        await turn();
        return { rows: due.splice(0, capacity), isMore: due.length > 0 };
      },
      execute: (row, signal) => {
        cutOff = signal;
        return new Promise((resolve, reject) =>
          ends.set(row, (error) => (error ? reject(error) : resolve())),
        );
      },
      ...changes,
    });

  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) await turn();
  };

  it('is not claimed before the process begins to work', async () => {
    due = ['a'];
    add({ listen: (wake) => wake() }).wake();
    await turn();
    expect(claims).toBe(0);
    await jobs.start();
    await until(() => ends.has('a'));
  });

  it('is claimed when it is woken, if there is capacity, and again when something is done', async () => {
    const rows = add();
    await jobs.start();
    due = ['a', 'b', 'c'];
    rows.wake();
    await until(() => ends.size === 2);
    rows.wake();
    await turn();
    expect([...ends.keys()]).toEqual(['a', 'b']);
    ends.get('a')?.();
    await until(() => ends.has('c'));
  });

  it('is claimed once more when it is woken during a claim', async () => {
    const rows = add();
    await jobs.start();
    rows.wake();
    expect(claims).toBe(1);
    due = ['a'];
    rows.wake();
    await until(() => ends.has('a') && claims === 2);
  });

  it('is looked for, and a row that fails keeps no other from being executed', async () => {
    const logged = jest.spyOn(jobs['logger'], 'error').mockReturnValue();
    add({ lookEveryMs: 5 });
    await jobs.start();
    due = ['a'];
    await until(() => ends.has('a'));
    ends.get('a')?.(new Error('failed'));
    due = ['b'];
    await until(() => ends.has('b'));
    expect(logged).toHaveBeenCalledTimes(1);
  });

  it('is not claimed by a process that stops, which waits for what is under way', async () => {
    const rows = add();
    await jobs.start();
    due = ['a'];
    rows.wake();
    await until(() => ends.has('a'));
    let isStopped = false;
    const stopped = jobs.stop().then(() => (isStopped = true));
    due = ['b'];
    rows.wake();
    await turn();
    expect([ends.has('b'), isStopped, cutOff?.aborted]).toEqual([false, false, false]);
    ends.get('a')?.();
    await stopped;
    expect(ends.has('b')).toBe(false);
  });

  it('is aborted when the process has waited for some time', async () => {
    const rows = add({
      execute: (row, signal) => {
        ends.set(row, () => undefined);
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
      },
    });
    await jobs.start();
    due = ['a'];
    rows.wake();
    await until(() => ends.has('a'));
    const begunMs = performance.now();
    await jobs.stop(50);
    expect(performance.now() - begunMs).toBeGreaterThanOrEqual(49);
  });
});
