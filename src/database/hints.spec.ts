import { setTimeout as pause } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { eventually } from '../../test/support/built-service';
import { forAllTests } from '../../test/support/fixtures';
import { connectTo, createTestDatabase } from '../../test/support/test-database';
import { AppLogger } from '../common';
import { Hints } from './hints';

describe('Hints', () => {
  let heard: number[];
  let missed: number;
  let hints: Hints;

  const database = forAllTests(createTestDatabase);
  const dataSource = forAllTests(() => connectTo(database.url, 1));
  beforeAll(() => Logger.overrideLogger(new AppLogger({ level: 'warn', format: 'json' })));
  beforeEach(() => {
    heard = [];
    missed = 0;
    hints = new Hints(dataSource, 'somewhere');
    hints.listen((ids) => {
      if (ids) heard.push(...ids);
      else missed += 1;
    });
  });
  afterEach(() => hints.close());

  const listeners = async (): Promise<number> => {
    const rows = await dataSource.query<unknown[]>(
      'SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    return rows.length;
  };

  /** Sends until something is heard: the connection may not be there yet. */
  const untilHeard = (): Promise<boolean> =>
    eventually(() => {
      hints.stayConnected();
      hints.send([1]);
      return heard.length > 0;
    });

  it('bring the ids, however many, in several messages', async () => {
    await untilHeard();
    heard.length = 0;
    const ids = Array.from({ length: 2000 }, (_, at) => Number.MAX_SAFE_INTEGER - at);
    hints.send(ids);
    await eventually(() => heard.includes(ids.at(-1) ?? 0));
    expect(heard.filter((id) => id !== 1)).toEqual(ids);
  });

  it('come again after the connection was lost, with the notice that some may have been missed', async () => {
    await untilHeard();
    // The first hint may come with the response to LISTEN.
    await eventually(() => missed > 0);
    expect(missed).toBe(1);
    await dataSource.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    await eventually(async () => (await listeners()) === 0);
    heard.length = 0;
    await untilHeard();
  });

  it.each([0, 1, 2, 5, 10, 20])(
    'leave no connection when they are closed %i ms after the first',
    async (ms) => {
      await pause(ms);
      hints.close();
      hints.stayConnected();
      await eventually(async () => (await listeners()) === 0);
    },
  );
});
