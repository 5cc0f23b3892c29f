import { lastMoment, SUNDAY } from '../src/integrity/audit-times';
import { Jobs } from '../src/jobs';
import { eventually } from './support/built-service';
import { forAllTests, forEachTest } from './support/fixtures';
import { captureLog } from './support/log-capture';
import { createStaff } from './support/staff';
import { countWaiting, lockRow, untilWaiting } from './support/table-lock';
import { startTestService } from './support/test-service';

interface AuditRun {
  readonly scope: string;
  readonly ok: boolean;
  readonly started_at: string;
  readonly finished_at: string;
  readonly violations: readonly object[];
}

describe('the audit as a job', () => {
  let logged: number;

  // The audits cover all orders, and the tests corrupt what they check.
  const log = forAllTests(captureLog);
  const service = forAllTests(startTestService);
  const staff = forAllTests(() => createStaff(service, ['staff:system']));
  const user = forEachTest(() => service.createUser());
  beforeEach(async () => {
    await user.prolong((await user.buy({}, 'k')).data?.proxies[0]?.id ?? '');
    await tamper('UPDATE job_runs SET finished_at = now() WHERE finished_at IS NULL');
    logged = log.lines.length;
  });
  afterEach(() => tamper('DELETE FROM audit_runs'));

  const run = (scope: 'day' | 'all') => service.runJob(`audit-${scope}`);
  const events = async (): Promise<readonly AuditRun[]> =>
    (await staff.get<{ audits: AuditRun[] }>('/staff/status')).body.audits;
  const errors = () => log.lines.slice(logged).filter((line) => line.includes('violations in the books'));

  const tamper = (statement: string) =>
    service.owner.transaction(async (owner) => {
      await owner.query('SET LOCAL session_replication_role = replica');
      await owner.query(statement);
    });

  it('reports healthy books as healthy, in both scopes, to staff and on the command line', async () => {
    expect(await run('day')).toEqual({ checked: expect.any(Number), violated: 0 });
    expect(await run('all')).toEqual({ checked: expect.any(Number), violated: 0 });
    expect(await events()).toEqual(
      ['day', 'all'].map((scope) => ({
        scope,
        ok: true,
        started_at: expect.any(String),
        finished_at: expect.any(String),
        violations: [],
      })),
    );
    expect(errors()).toEqual([]);
  });

  it('reports what is broken, once in the log, with the rows in its table', async () => {
    await tamper(`UPDATE accounts SET available = available + 1 WHERE user_id = ${user.id}`);
    expect(await run('day')).toMatchObject({ violated: 1 });
    const [line = ''] = errors();
    expect(errors()).toHaveLength(1);
    expect(line).toContain('balances-equal-sums-of-entries (1)');
    expect((await events())[0]).toMatchObject({
      scope: 'day',
      ok: false,
      violations: [{ name: 'balances-equal-sums-of-entries', violations: 1 }],
    });
    expect((await events())[0]?.violations[0]).not.toHaveProperty('rows');
    const [stored] = await service.dataSource.query(
      'SELECT violations FROM audit_runs ORDER BY id DESC LIMIT 1',
    );
    expect(stored.violations[0].rows).toEqual([expect.objectContaining({ user_id: user.id })]);
    await tamper(`UPDATE accounts SET available = available - 1 WHERE user_id = ${user.id}`);
    expect(await run('day')).toMatchObject({ violated: 0 });
  });

  it('finds what broke long ago in the whole books only', async () => {
    await tamper(`
      WITH aged AS (
        UPDATE orders
           SET created_at = created_at - interval '3 days', closed_at = closed_at - interval '3 days'
         WHERE user_id = ${user.id})
      UPDATE ledger_entries SET created_at = created_at - interval '3 days' WHERE user_id = ${user.id}`);
    await tamper(`UPDATE orders SET history = '[]' WHERE user_id = ${user.id}`);
    expect(await run('day')).toMatchObject({ violated: 0 });
    expect(await run('all')).toMatchObject({ violated: 1 });
    expect(await events()).toMatchObject([
      { scope: 'day', ok: true },
      { scope: 'all', ok: false, violations: [{ name: 'histories-end-with-the-state', violations: 2 }] },
    ]);
    await tamper(`UPDATE orders SET history = jsonb_build_array(jsonb_build_object('state', state))
                   WHERE user_id = ${user.id}`);
  });

  it('runs at its time, once for all replicas, and makes up for a time that was missed', async () => {
    const now = jest.spyOn(service.clock, 'now').mockReturnValue(service.clock.now());
    const runDue = async () => {
      for (const scope of ['day', 'all'] as const) await service.app.get(Jobs).runWhenDue(`audit-${scope}`);
    };
    const counts = async (): Promise<{ day: number; all: number }> => {
      const [row] = await service.dataSource.query(
        `SELECT count(*) FILTER (WHERE scope = 'day') AS day, count(*) FILTER (WHERE scope = 'all') AS all
           FROM audit_runs`,
      );
      return row;
    };
    for (const scope of ['day', 'all'] as const) await run(scope);
    const time = 3 * 60;
    const ran = (scope: string, at: Date) =>
      service.dataSource.query('UPDATE job_runs SET started_at = $2 WHERE name = $1', [`audit-${scope}`, at]);
    const [day, week] = [
      lastMoment(service.clock.now(), time),
      lastMoment(service.clock.now(), time, SUNDAY),
    ];
    const before = await counts();
    await ran('day', day);
    await ran('all', week);
    await runDue();
    expect(await counts()).toEqual(before);
    await ran('day', new Date(day.getTime() - 120_000));
    await Promise.all([runDue(), runDue()]);
    expect(await counts()).toEqual({ ...before, day: before.day + 1 });
    await ran('all', new Date(week.getTime() - 120_000));
    await runDue();
    expect((await counts()).all).toBe(before.all + 1);
    now.mockRestore();
  });

  it('keeps a year of runs', async () => {
    await service.dataSource.query(
      `INSERT INTO audit_runs (scope, started_at, finished_at, ok, violations)
       SELECT 'day', now(), now(), true, '[]' FROM generate_series(1, 500)`,
    );
    await run('day');
    expect(
      await service.dataSource.query(`SELECT count(*) AS kept FROM audit_runs WHERE scope = 'day'`),
    ).toEqual([{ kept: 400 }]);
  });

  it('ends with its statement when the service stops', async () => {
    const blocker = await lockRow(service.owner, 'LOCK TABLE price_rules IN ACCESS EXCLUSIVE MODE');
    const stopping = new AbortController();
    const running = service.runJob('audit-all', stopping.signal);
    await untilWaiting(service.owner, 'WITH audited_orders');
    stopping.abort();
    await expect(running).rejects.toThrow();
    await blocker.release();
    await eventually(async () => (await countWaiting(service.owner, 'WITH audited_orders')) === 0);
  });
});
