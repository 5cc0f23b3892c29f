// Starts its own server, whose timeline changes.
import { fetchAs } from '../support/api-client';
import { eventually } from '../support/built-service';
import { forAllTests } from '../support/fixtures';
import { captureLog } from '../support/log-capture';
import { startOwnPostgres } from '../support/own-postgres';
import { type Replica, startReplica } from '../support/replica';
import { createStaff } from '../support/staff';
import { connectAsOwner } from '../support/test-database';
import { startTestService } from '../support/test-service';

describe('After the timeline of the PostgreSQL server has changed', () => {
  const log = forAllTests(captureLog);
  const postgres = forAllTests(startOwnPostgres);
  const first = forAllTests(() =>
    startTestService({ database: postgres, jobIntervalsMs: { 'known-server': 100 } }),
  );
  const user = forAllTests(() => first.createUser());
  const staff = forAllTests(() => createStaff(first));
  let replica: Replica | undefined;
  afterEach(async () => {
    await replica?.close();
    replica = undefined;
  });

  async function start() {
    await replica?.close();
    const started = (replica = await startReplica(first));
    const call = async (method: string, path: string, token: string, body?: object) => {
      const response = await fetchAs({ token }, method, started.baseUrl + path, body);
      const json: Record<string, unknown> = JSON.parse(await response.text());
      return { status: response.status, ...json };
    };
    return {
      buy: () => call('POST', '/proxies/buy', user.token, { country: 'ru', period: 30, count: 1 }),
      list: () => call('GET', '/proxies', user.token),
      maintenance: () => call('GET', '/staff/maintenance', staff.token),
      end: (body: object) =>
        call('POST', '/staff/maintenance/end', staff.token, { reason: 'a failover', ...body }),
    };
  }

  async function storedTimeline(): Promise<number> {
    const owner = await connectAsOwner(postgres);
    try {
      const [known] = await owner.query<{ timeline: number }[]>('SELECT timeline FROM known_server');
      return known?.timeline ?? 0;
    } finally {
      await owner.destroy();
    }
  }

  it('under a running replica, which stores it, the next one starts as usual', async () => {
    await postgres.restartOnNewTimeline();
    await eventually(async () => (await storedTimeline().catch(() => 0)) === 2);
    const second = await start();
    expect(await second.buy()).toMatchObject({ status: 200 });
  });

  it('and no replica ran, a start closes the service until staff say that nothing was lost', async () => {
    await first.app.close();
    await postgres.restartOnNewTimeline();
    const second = await start();
    expect(log.lines.join('')).toContain('Closed for maintenance');
    expect(await second.buy()).toMatchObject({ status: 503 });
    expect(await second.list()).toMatchObject({ status: 200 });
    expect(await second.maintenance()).toMatchObject({ closed: true, reason: 'server-changed' });
    expect(await second.end({})).toMatchObject({ status: 409 });
    expect(await second.end({ nothing_was_lost: true })).toMatchObject({ status: 200, closed: false });
    expect(await second.buy()).toMatchObject({ status: 200 });
    const third = await start();
    expect(await third.maintenance()).toMatchObject({ closed: false });
  });

  it('during maintenance that staff began, every decision is still needed', async () => {
    await replica?.close();
    replica = undefined;
    const owner = await connectAsOwner(postgres);
    await owner.query('INSERT INTO maintenance DEFAULT VALUES');
    await owner.destroy();
    await postgres.restartOnNewTimeline();
    const second = await start();
    expect(await second.maintenance()).toMatchObject({ closed: true, reason: 'restored' });
    expect(await second.end({ nothing_was_lost: true })).toMatchObject({ status: 409 });
  });
});
