import { eventually } from './support/built-service';
import { forAllTests, forEachTest } from './support/fixtures';
import { captureLog } from './support/log-capture';
import { insertProxies, type ProxyRow } from './support/proxy-rows';
import { startReplica } from './support/replica';
import { startTestService } from './support/test-service';

describe('The stored flags of proxies', () => {
  const log = forAllTests(captureLog);
  // The tests refresh all users' flags.
  const service = forAllTests(() =>
    startTestService({ environment: { LOG_LEVEL: 'debug' }, tuning: { activeFlagsIntervalSeconds: 86_400 } }),
  );
  const user = forEachTest(() => service.createUser());
  const insert = (count: number, row: ProxyRow) => insertProxies(service.dataSource, user.id, count, row);
  const refresh = () => service.runJob('active-flags');

  async function stored(): Promise<Map<number, { active: boolean; writtenBy: string }>> {
    const rows = await service.dataSource.query(
      'SELECT id, active, xmin::text AS written_by FROM proxies WHERE user_id = $1',
      [user.id],
    );
    return new Map(
      rows.map((row: { id: number; active: boolean; written_by: string }) => [
        row.id,
        { active: row.active, writtenBy: row.written_by },
      ]),
    );
  }

  const logged = () =>
    log.lines
      .filter((line) => line.includes('ActiveFlagsService'))
      .map((line) => {
        const { level, message } = JSON.parse(line) as { level: string; message: string };
        return `${level}: ${message}`;
      });

  it('are cleared when a rental has ended, without touching other rows', async () => {
    const ended = await insert(3, { active: true, endsInSeconds: -1 });
    const others = [
      ...(await insert(2, { active: true, endsInSeconds: 3600 })),
      ...(await insert(2, { active: false, endsInSeconds: -1 })),
    ];
    const before = await stored();
    expect(await refresh()).toEqual({ ended: 3, restored: 0 });
    const after = await stored();
    expect(ended.map((id) => after.get(id)?.active)).toEqual([false, false, false]);
    expect(others.map((id) => after.get(id))).toEqual(others.map((id) => before.get(id)));

    expect([await refresh(), await stored()]).toEqual([{ ended: 0, restored: 0 }, after]);
  });

  it('are set again when the rental is not over', async () => {
    const [id = 0] = await insert(1, { active: false, endsInSeconds: 3600 });
    expect([await refresh(), (await stored()).get(id)?.active]).toEqual([{ ended: 0, restored: 1 }, true]);
  });

  it('are not set again for withdrawn proxies', async () => {
    const [id = 0] = await insert(1, { active: false, endsInSeconds: 3600 });
    await service.dataSource.query('UPDATE proxies SET withdrawn_at = now() WHERE id = $1', [id]);
    expect([await refresh(), (await stored()).get(id)?.active]).toEqual([{ ended: 0, restored: 0 }, false]);
  });

  it('are all refreshed, however many there are', async () => {
    await insert(10_001, { active: true, endsInSeconds: -1 });
    expect(await refresh()).toEqual({ ended: 10_001, restored: 0 });
    expect([...(await stored()).values()].filter(({ active }) => active)).toEqual([]);
  });

  it('of rows that another transaction is changing are left to the next run', async () => {
    const [locked = 0, free = 0] = await insert(2, { active: true, endsInSeconds: -1 });
    const session = service.dataSource.createQueryRunner();
    await session.startTransaction();
    await session.query(`UPDATE proxies SET date_end = now() + interval '1 day' WHERE id = $1`, [locked]);
    expect(await refresh()).toEqual({ ended: 1, restored: 0 });
    await session.commitTransaction();
    await session.release();
    expect(await refresh()).toEqual({ ended: 0, restored: 0 });
    const after = await stored();
    expect([locked, free].map((id) => after.get(id)?.active)).toEqual([true, false]);
  });

  it('are logged in one line, at level debug when nothing has changed', async () => {
    await insert(2, { active: true, endsInSeconds: -1 });
    const before = logged().length;
    await refresh();
    await refresh();
    expect(logged().slice(before)).toEqual([
      'log: 2 proxies have ended, 0 are active again',
      'debug: 0 proxies have ended, 0 are active again',
    ]);
  });
});

describe('The refresh of the flags on two replicas', () => {
  const log = forAllTests(captureLog);
  const service = forAllTests(() =>
    startTestService({ environment: { LOG_LEVEL: 'debug' }, tuning: { activeFlagsIntervalSeconds: 1 } }),
  );
  forAllTests(() => startReplica(service));

  it('runs by itself once in an interval and stores its report', async () => {
    const user = await service.createUser();
    await insertProxies(service.dataSource, user.id, 5, { active: true, endsInSeconds: -1 });
    const rounds = () => log.lines.filter((line) => line.includes('proxies have ended')).length;
    await eventually(
      async () => (await service.dataSource.query('SELECT id FROM proxies WHERE active')).length === 0,
    );
    const roundsBefore = rounds();
    const begun = new Set<number>();
    await eventually(async () => {
      const [{ at }] = await service.dataSource.query(
        `SELECT extract(epoch FROM started_at)::float8 AS at FROM job_runs WHERE name = 'active-flags'`,
      );
      begun.add(at);
      return begun.size >= 3 && rounds() >= roundsBefore + 2;
    });
    // If each replica refreshed on its own, there would be twice as many rounds.
    expect(rounds() - roundsBefore).toBeLessThanOrEqual(begun.size);
    const times = [...begun];
    for (const [n, at] of times.slice(1).entries()) expect(at - (times[n] ?? 0)).toBeGreaterThan(0.99);
    await eventually(async () => {
      const [job] = await service.dataSource.query(
        `SELECT report FROM job_runs WHERE name = 'active-flags' AND finished_at IS NOT NULL`,
      );
      return JSON.stringify(job?.report) === '{"ended": 0, "restored": 0}'.replaceAll(' ', '');
    });
  });
});
