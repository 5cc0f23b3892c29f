import { Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { eventually } from '../../test/support/built-service';
import { forAllTests } from '../../test/support/fixtures';
import { connectTo, createTestDatabase } from '../../test/support/test-database';
import { AppLogger } from '../common';
import { ProviderUnavailable } from './provider-errors';
import { CALL_PRIORITIES, type CallPriority } from './proxy-provider';
import { RatePermits } from './rate-permits';

/** With the margin of 150 ms, the window is one of 5 ms: for tests of the order alone. */
const SHORT_WINDOW_MS = -145;

describe('RatePermits', () => {
  let providers = 0;

  const database = forAllTests(createTestDatabase);
  const dataSource = forAllTests(() => connectTo(database.url, 4));
  beforeAll(() => Logger.overrideLogger(new AppLogger({ level: 'warn', format: 'json' })));

  const createPermits = (calls: number, windowMs: number) =>
    new RatePermits(dataSource, `provider ${(providers += 1)}`, calls, windowMs);

  /** Stands for two processes that call the same provider. */
  const createTwo = (calls: number, windowMs: number) => {
    const name = `provider ${(providers += 1)}`;
    return [1, 2].map(() => new RatePermits(dataSource, name, calls, windowMs)) as [RatePermits, RatePermits];
  };

  /** The processes that wait for permits of the latest provider. */
  const demands = () =>
    dataSource.query<object[]>(
      'SELECT FROM permit_demand WHERE provider = $1 AND cardinality(priorities) > 0',
      [`provider ${providers}`],
    );

  /** Notes which calls are served, in their order. */
  function recorder() {
    const served: CallPriority[] = [];
    const call = async (permits: RatePermits, priority: CallPriority): Promise<void> => {
      await permits.waitForPermit(priority, 60_000);
      served.push(priority);
    };
    const calls = (permits: RatePermits, priority: CallPriority, count: number) =>
      Promise.all(Array.from({ length: count }, () => call(permits, priority)));
    return { served, calls, initials: () => served.map(([initial]) => initial).join('') };
  }

  it('never allow more than their number in any window', async () => {
    const permits = createPermits(3, 100);
    const starts: number[] = [];
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        await permits.waitForPermit('order', 10_000);
        starts.push(performance.now());
      }),
    );
    expect(starts).toHaveLength(10);
    const spansOfFour = starts.slice(3).map((start, at) => start - (starts[at] ?? Number.NaN));
    expect(Math.min(...spansOfFour)).toBeGreaterThanOrEqual(100);
  });

  it('let the first calls go at once', async () => {
    const permits = createPermits(3, 60_000);
    await Promise.all([1, 2, 3].map(() => permits.waitForPermit('order', 10_000)));
  });

  it('refuse a call that has waited too long, and serve the next', async () => {
    const permits = createPermits(1, 500);
    await permits.waitForPermit('order', 10_000);
    const impatient = permits.waitForPermit('order', 1);
    const patient = permits.waitForPermit('order', 10_000);
    await expect(impatient).rejects.toBeInstanceOf(ProviderUnavailable);
    await patient;
  });

  it('go to a confirmation every third time while orders wait, and first when none do', async () => {
    const permits = createPermits(1, SHORT_WINDOW_MS);
    await permits.waitForPermit('rest', 10_000);
    const { calls, initials } = recorder();
    await Promise.all([
      calls(permits, 'rest', 2),
      calls(permits, 'price', 2),
      calls(permits, 'confirmation', 4),
      calls(permits, 'order', 6),
    ]);
    // After eight others the other calls are due as well.
    expect(initials()).toBe('oocoocoocprcpr');
  });

  it('stay free for others when only one of a window is left for a spare call', async () => {
    const permits = createPermits(3, 60_000);
    await Promise.all([1, 2].map(() => permits.waitForPermit('spare', 10_000)));
    await expect(permits.waitForPermit('spare', 200)).rejects.toBeInstanceOf(ProviderUnavailable);
    await permits.waitForPermit('exact', 10_000);
  });

  it('go to every kind of call that waits, within twelve others, however many of another wait', async () => {
    const permits = createPermits(1, SHORT_WINDOW_MS);
    const { served, calls } = recorder();
    await Promise.all([
      ...CALL_PRIORITIES.map((kind) => calls(permits, kind, 4)),
      calls(permits, 'order', 30),
    ]);
    const longestWait = (kind: CallPriority): number => {
      const turns = served.flatMap((other, at) => (other === kind ? [at] : []));
      return Math.max(...turns.map((turn, at) => turn - (turns[at - 1] ?? -1) - 1));
    };
    expect(longestWait('confirmation')).toBe(2);
    for (const kind of CALL_PRIORITIES) {
      expect([kind, longestWait(kind) <= (kind === 'spare' ? 13 : 12)]).toEqual([kind, true]);
    }
  });

  it('go to the orders of one process before the other calls of another', async () => {
    const [one, other] = createTwo(1, 30_000);
    await one.waitForPermit('rest', 10_000);
    const { calls, initials } = recorder();
    const served = Promise.all([calls(other, 'rest', 2), calls(one, 'order', 3)]);
    await eventually(async () => (await demands()).length === 2);
    for (const permits of [other, one]) {
      Object.assign(permits, { windowMs: SHORT_WINDOW_MS });
      permits['wakeUp'].abort();
    }
    await served;
    expect(initials()).toBe('ooorr');
  });

  it('go to a waiting call when they are given back', async () => {
    const permits = createPermits(1, 60_000);
    const permit = await permits.waitForPermit('order', 10_000);
    const waiting = permits.waitForPermit('order', 10_000);
    await permit.giveBack();
    await permit.giveBack();
    await waiting;
    await expect(permits.waitForPermit('order', 0)).rejects.toBeInstanceOf(ProviderUnavailable);
  });

  it('go to a waiting call when they are given back right after the response of the database', async () => {
    const permits = createPermits(1, 60_000);
    const permit = await permits.waitForPermit('order', 10_000);
    const createQueryRunner = dataSource.createQueryRunner.bind(dataSource);
    const polling = jest.spyOn(dataSource, 'createQueryRunner').mockImplementationOnce(() => {
      const runner = createQueryRunner();
      const query = runner.query.bind(runner);
      return Object.assign(runner, {
        query: async (statement: string, parameters?: unknown[]) => {
          const response: unknown = await query(statement, parameters);
          await permit.giveBack();
          return response;
        },
      });
    });
    await permits.waitForPermit('order', 15_000);
    polling.mockRestore();
  });

  it('are no longer demanded for a call that has given up, so that others need not wait for it', async () => {
    const [one, other] = createTwo(1, 400);
    await one.waitForPermit('rest', 10_000);
    await expect(one.waitForPermit('order', 0)).rejects.toBeInstanceOf(ProviderUnavailable);
    await eventually(async () => (await demands()).length === 0);
    await other.waitForPermit('rest', 10_000);
  });

  it('are refused at once when the service ends, also to calls that wait already', async () => {
    const permits = createPermits(1, 60_000);
    await permits.waitForPermit('rest', 10_000);
    const waiting = Promise.allSettled(
      (['order', 'confirmation', 'rest'] as const).map((kind) => permits.waitForPermit(kind, 60_000)),
    );
    permits.stop();
    expect((await waiting).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    await expect(permits.waitForPermit('order', 60_000)).rejects.toBeInstanceOf(ProviderUnavailable);
    expect(permits.waitingCalls()).toMatchObject({ order: 0, confirmation: 0, rest: 0 });
  });

  it('are granted at once, without the database, when there is no limit', async () => {
    const permits = new RatePermits(new DataSource({ type: 'postgres' }), 'none', 0);
    const granted = await Promise.all(Array.from({ length: 100 }, () => permits.waitForPermit('rest', 0)));
    expect(granted.filter(({ until }) => until.hasPassed())).toEqual([]);
  });

  it('are not granted while the database cannot be asked', async () => {
    const permits = new RatePermits(new DataSource({ type: 'postgres' }), 'unknown', 3);
    const startedAtMs = performance.now();
    await expect(permits.waitForPermit('order', 300)).rejects.toBeInstanceOf(ProviderUnavailable);
    expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(295);
    expect(permits.waitingCalls()).toEqual(Object.fromEntries(CALL_PRIORITIES.map((kind) => [kind, 0])));
  });
});
