import { setTimeout as pause } from 'node:timers/promises';
import { type LeasedRun, type LeasedJob, Jobs } from '../src/jobs';
import { Metrics } from '../src/metrics';
import { eventually } from './support/built-service';
import { forAllTests, forEachTest } from './support/fixtures';
import { connectAsOwner, createTestDatabase } from './support/test-database';

describe('The lease of a run', () => {
  let name: string;
  let named = 0;
  const database = forAllTests(createTestDatabase);
  const dataSource = forAllTests(() => connectAsOwner(database));
  const jobs = forEachTest(() => new Jobs(dataSource, Metrics.disabled));
  beforeEach(() => {
    name = `run-${(named += 1)}`;
  });

  const add = (run: Omit<LeasedJob, 'name' | 'everySeconds'>): void =>
    jobs.run({ name, everySeconds: 3600, ...run });

  const stored = async () => {
    const [row] = await dataSource.query(
      `SELECT report, finished_at, succeeded_at, leased_until > now() AS "isLeased"
         FROM job_runs WHERE name = $1`,
      [name],
    );
    return row;
  };

  it('keeps a run that has lost it from renewing or finishing a later run of the same replica', async () => {
    const runs: { run: LeasedRun; end: (report: object) => void }[] = [];
    add({ execute: (run) => new Promise((resolve) => runs.push({ run, end: resolve })) });
    const first = jobs.runNow(name);
    await eventually(() => runs.length === 1);
    await dataSource.query('UPDATE job_runs SET leased_until = now() WHERE name = $1', [name]);

    const second = jobs.runNow(name);
    await eventually(() => runs.length === 2);
    await runs[1]?.run.renew({ done: 1 });
    await expect(runs[0]?.run.renew({ done: 100 })).rejects.toThrow('expired');
    runs[0]?.end({ done: 100 });
    await first;
    expect(await stored()).toMatchObject({ report: { done: 1 }, finished_at: null, succeeded_at: null });
    runs[1]?.end({ done: 2 });
    await second;
    expect(await stored()).toMatchObject({
      report: { done: 2 },
      finished_at: expect.any(Date),
      succeeded_at: expect.any(Date),
    });
  });

  it('begins and ends in one statement if there is no work, unless the run is requested', async () => {
    let hasWork = false;
    add({ hasWork: () => String(hasWork), execute: () => Promise.resolve({ done: 1 }) });
    const sent = jest.spyOn(dataSource.logger, 'logQuery');
    expect(await jobs.runWhenDue(name)).toBeNull();
    expect(sent).toHaveBeenCalledTimes(1);
    expect(await stored()).toMatchObject({
      report: {},
      finished_at: expect.any(Date),
      succeeded_at: expect.any(Date),
    });
    hasWork = true;
    expect(await jobs.runWhenDue(name)).toBeNull();
    hasWork = false;
    expect(await jobs.runNow(name)).toEqual({ done: 1 });
    await dataSource.query('DELETE FROM job_runs WHERE name = $1', [name]);
    hasWork = true;
    expect(await jobs.runWhenDue(name)).toEqual({ done: 1 });
  });

  it('outlasts a step that takes longer', async () => {
    add({
      leaseSeconds: 1,
      execute: async (run) => {
        await run.renew({});
        await pause(1200);
        expect(await jobs.runNow(name)).toBeNull();
        await run.renew({});
        return { done: 1 };
      },
    });
    expect(await jobs.runNow(name)).toEqual({ done: 1 });
  });

  it('does not outlast a step that hangs', async () => {
    let end: (report: object) => void = () => undefined;
    let begun = 0;
    add({
      leaseSeconds: 0.3,
      longestStepSeconds: 0.1,
      execute: () => {
        begun += 1;
        return begun > 1 ? Promise.resolve({ done: 2 }) : new Promise((resolve) => (end = resolve));
      },
    });
    const hanging = jobs.runNow(name);
    await eventually(() => begun === 1);
    expect(await eventually(() => jobs.runNow(name))).toEqual({ done: 2 });
    end({ done: 1 });
    await hanging;
    expect(await stored()).toMatchObject({ report: { done: 2 } });
  });

  it('is given back by a process that stops, at the end of the step under way', async () => {
    let steps = 0;
    let endStep = (): void => undefined;
    add({
      execute: async (run) => {
        await run.repeat<true>({}, 'steps', async () => {
          steps += 1;
          await new Promise<void>((resolve) => (endStep = resolve));
          return { done: 1, next: true };
        });
        return {};
      },
    });
    await jobs.start(() => 10);
    await eventually(() => steps === 1);
    const stopped = jobs.stop();
    endStep();
    await stopped;
    expect(steps).toBe(1);
    expect(await stored()).toMatchObject({ finished_at: null, isLeased: false });
  });
});
