import type { DataSource } from 'typeorm';
import { JobLease, type JobRun } from '../src/database';
import { connectAsOwner, createTestDatabase, type TestDatabase } from './support/test-database';

const TIMES = { intervalSeconds: 3600, leaseSeconds: 60 };

describe('The lease of a job', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let lease: JobLease;

  beforeAll(async () => {
    database = await createTestDatabase();
    dataSource = await connectAsOwner(database);
    lease = new JobLease(dataSource, 'a-job');
  });
  afterAll(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  it('keeps a run that has lost it from renewing or finishing a later run of the same replica', async () => {
    const kept = () =>
      dataSource.query('SELECT report, finished_at, succeeded_at FROM job_runs WHERE leased_until > now()');
    let endFirst: (report: object) => void = () => undefined;
    const lost: JobRun[] = [];
    const first = lease.runWhenDue(TIMES, (run) => {
      lost.push(run);
      return new Promise<object>((resolve) => (endFirst = resolve));
    });
    while (lost.length === 0) await new Promise(setImmediate);
    await dataSource.query('UPDATE job_runs SET leased_until = now()');

    await lease.runWhenDue(TIMES, async (later) => {
      await later.renew({ done: 1 });
      await expect(lost[0]?.renew({ done: 100 })).rejects.toThrow('ran out');
      endFirst({ done: 100 });
      await first;
      expect(await kept()).toEqual([{ report: { done: 1 }, finished_at: null, succeeded_at: null }]);
      return { done: 2 };
    });
    expect(await kept()).toEqual([
      { report: { done: 2 }, finished_at: expect.any(Date), succeeded_at: expect.any(Date) },
    ]);
  });
});
