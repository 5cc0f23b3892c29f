import { setTimeout as pause } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { eventually } from '../../test/support/built-service';
import { forAllTests } from '../../test/support/fixtures';
import { connectTo, createTestDatabase } from '../../test/support/test-database';
import { AppLogger } from '../common';
import { Notifier } from './notifier';
import { RowWaiters } from './row-waiters';

describe('A notifier', () => {
  let heard: number[];
  let polls: number;
  let notifier: Notifier;
  const database = forAllTests(createTestDatabase);
  const dataSource = forAllTests(() => connectTo(database.url, 1));
  beforeAll(() => Logger.overrideLogger(new AppLogger({ level: 'error', format: 'json' })));
  beforeEach(() => {
    heard = [];
    polls = 0;
    notifier = new Notifier(dataSource);
    notifier.listen('things', (ids) => {
      if (ids) heard.push(...ids);
      else polls += 1;
    });
  });
  afterEach(() => notifier.onModuleDestroy());

  const listeners = async (): Promise<number> => {
    const rows = await dataSource.query<unknown[]>(
      'SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    return rows.length;
  };

  /** Sends repeatedly, because the connection may not exist yet. */
  const untilHeard = (id = 1): Promise<boolean> =>
    eventually(() => {
      notifier.send('things', [id]);
      return heard.includes(id);
    });

  function awaitedThings() {
    let value = 0;
    const read: number[][] = [];
    const things = new RowWaiters<{ id: number; value: number }>(notifier, 'things', async (waits) => {
      read.push([...waits.keys()]);
      await pause(1);
      return [...waits.keys()].map((id) => ({ id, value }));
    });
    return { things, read, set: (next: number) => void (value = next) };
  }
  const forever = new AbortController().signal;

  it('brings the ids of one kind, however many, in several messages over one connection', async () => {
    const others: number[] = [];
    notifier.listen('others', (ids) => ids && others.push(...ids));
    await untilHeard();
    heard.length = 0;
    const ids = Array.from({ length: 2000 }, (_, at) => Number.MAX_SAFE_INTEGER - at);
    notifier.send('others', [7]);
    notifier.send('things', ids);
    await eventually(() => heard.includes(ids.at(-1) ?? 0));
    expect(heard.filter((id) => id !== 1)).toEqual(ids);
    expect([others, await listeners()]).toEqual([[7], 1]);
  });

  it('connects again after the connection was lost, and has everybody poll all the time', async () => {
    await untilHeard();
    const pollsBefore = polls;
    await dataSource.query(
      `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    await eventually(() => polls > pollsBefore);
    await untilHeard(2);
  });

  it('calls no listener once it is closed', async () => {
    await untilHeard();
    await dataSource.query(`SELECT pg_notify('changed_rows', 'things,2')`);
    notifier.onModuleDestroy();
    const heardBefore = [...heard];
    await eventually(async () => (await listeners()) === 0);
    expect(heard).toEqual(heardBefore);
  });

  it.each([0, 1, 2, 5, 10, 20])(
    'leaves no connection when it is closed %i ms after the first listener',
    async (ms) => {
      await pause(ms);
      notifier.onModuleDestroy();
      notifier.listen('things', () => undefined);
      await eventually(async () => (await listeners()) === 0);
    },
  );

  it('ends waits after a notification, of awaited rows only, and without one after a poll', async () => {
    await untilHeard();
    const { things, read, set } = awaitedThings();
    const polling = jest.spyOn(things as unknown as { poll: () => Promise<void> }, 'poll');
    polling.mockResolvedValue();
    const wait = things.until(5, ({ value }) => value === 1, 60_000, forever);
    set(1);
    notifier.send('things', [4, 5, 6]);
    await wait;
    expect([read.at(-1), things.count()]).toEqual([[5], 0]);
    polling.mockRestore();
    const unnoticed = things.until(5, ({ value }) => value === 2, 60_000, forever);
    set(2);
    await unnoticed;
  });

  it('reads no row whose change this process knows, and sends it to other processes', async () => {
    await untilHeard();
    heard.length = 0;
    const { things, read } = awaitedThings();
    const seen: number[] = [];
    const wait = things.open(5, ({ value }) => seen.push(value));
    await things.changed([5, 6], [{ id: 5, value: 3 }], [6]);
    expect([seen, read]).toEqual([[3], []]);
    // A row seen between two waits ends the next wait at once.
    expect(await wait.until(({ value }) => value === 3, 60_000, forever)).toBe(true);
    const changing = things.changed([5]);
    expect(read).toEqual([[5]]);
    await changing;
    await eventually(() => heard.includes(5));
    expect(heard.filter((id) => id !== 1)).toEqual([6, 5]);
    wait.close();
  });

  it('ends waits when the time is over, the client leaves or the replica stops', async () => {
    const { things } = awaitedThings();
    const never = () => false;
    const leaving = new AbortController();
    const waits = [things.until(1, never, 10, forever), things.until(1, never, 60_000, leaving.signal)];
    leaving.abort();
    waits.push(things.until(1, never, 60_000, leaving.signal));
    await Promise.all(waits);
    const draining = things.until(1, never, 60_000, forever);
    notifier.drain();
    await draining;
    const startedAtMs = performance.now();
    await things.until(1, never, 60_000, forever);
    expect(performance.now() - startedAtMs).toBeGreaterThan(900);
    const ending = things.until(1, never, 60_000, forever);
    notifier.end();
    await ending;
    await things.until(1, never, 60_000, forever);
    expect([things.count(), notifier.isEnding]).toEqual([0, true]);
  });
});
