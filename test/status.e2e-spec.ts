import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AdministrationModule } from '../src/administration.module';
import { REPLICA_ID } from '../src/common';
import { AppConfig } from '../src/config';
import { LeasedRun, type LeasedJob } from '../src/jobs';
import { type StatusOut, StatusService } from '../src/status';
import { createApiClient } from './support/api-client';
import { eventually } from './support/built-service';
import { forAllTests } from './support/fixtures';
import { captureLog } from './support/log-capture';
import { lookAway } from './support/look-away';
import { startReplica } from './support/replica';
import { startTestService } from './support/test-service';

const UUID = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

describe('the status of the service', () => {
  const log = forAllTests(captureLog);
  // The status covers all replicas and orders.
  const service = forAllTests(() =>
    startTestService({
      environment: { PROVIDER_LOW_BALANCE: '5000.00', LOG_LEVEL: 'info' },
      jobIntervalsMs: { 'replica-report': 100 },
    }),
  );
  // The command line reads the status in another process.
  const office = forAllTests(() =>
    NestFactory.createApplicationContext(
      AdministrationModule.with(service.app.get<unknown, AppConfig>(AppConfig)),
      { logger: false },
    ),
  );
  afterEach(async () => {
    await service.control.resetFaults();
    await service.dataSource.query('DELETE FROM replica_reports WHERE holder <> $1', [REPLICA_ID]);
  });

  const read = (): Promise<StatusOut> => office.get(StatusService).read();
  const NONE_OPEN = { orders_waiting: 0, orders_submitting: 0, orders_confirming: 0, orders_in_review: 0 };

  it('lists each replica with what it reports of itself', async () => {
    const replica = await startReplica(service);
    try {
      const { replicas } = await eventually(async () => {
        const status = await read();
        return status.replicas.length === 2 && status;
      });
      for (const one of replicas) {
        expect(one).toEqual({
          holder: UUID,
          reported_at: expect.any(Date),
          pid: process.pid,
          started_at: ISO,
          breakers: ['money', 'reads', 'funds'].map((name) => ({ name, state: 'closed', since: ISO })),
          waiting_calls: { order: 0, confirmation: 0, price: 0, rest: 0, exact: 0, spare: 0 },
          waiting_orders: 0,
          unknown_migrations: [],
        });
      }
      expect(replicas.map(({ holder }) => holder)).toContain(REPLICA_ID);
    } finally {
      await replica.close();
    }
  });

  it('omits replicas that have stopped reporting, and deletes their reports after an hour', async () => {
    const [shown] = await service.dataSource.query(
      `INSERT INTO replica_reports SELECT gen_random_uuid(), now() - make_interval(secs => silent), '{}'
         FROM unnest(ARRAY[10, 21, 3500, 3601]) AS silent
       RETURNING holder`,
    );
    const others = (await read()).replicas.filter(({ holder }) => holder !== REPLICA_ID);
    expect(others.map(({ holder }) => holder)).toEqual([shown.holder]);
    await eventually(async () => {
      const [{ silent }] = await service.dataSource.query(
        'SELECT count(*) AS silent FROM replica_reports WHERE holder <> $1',
        [REPLICA_ID],
      );
      return silent === 3;
    });
  });

  it('shows the state of each circuit breaker of a replica', async () => {
    const replica = await startReplica(service, { tuning: { breakerFailures: 2 } });
    await service.control.addFault({ method: 'any', kind: 'http-status', status: 500, times: null });
    const api = createApiClient(replica.baseUrl, (await service.createUser()).token);
    try {
      // The service keeps no copy of these countries yet.
      const params = { query: { version: '4s' } } as const;
      for (let times = 0; times < 3; times++) await api.GET('/countries', { params });
      const breakers = await eventually(async () => {
        const { replicas } = await read();
        return replicas.find((one) => one.breakers.some(({ state }) => state === 'open'))?.breakers;
      });
      expect(breakers).toContainEqual({ name: 'reads', state: 'open', since: ISO });
    } finally {
      await replica.close();
    }
  });

  it('shows the balance at the provider and whether it is low', async () => {
    const user = await service.createUser();
    await service.control.setBalance('6000.00');
    await user.buy();
    const { provider_balance: balance } = await eventually(async () => {
      const status = await read();
      return status.provider_balance?.amount.startsWith('59') && status;
    });
    expect(balance).toEqual({
      amount: expect.stringMatching(/^\d{4}\.\d\d$/),
      seen_at: expect.any(Date),
      is_low: false,
    });
    await service.control.setBalance('4999.99');
    await user.buy();
    await eventually(async () => (await read()).provider_balance?.is_low);
    await service.control.setBalance('1000000.00');
  });

  it('estimates how long the balance at the provider lasts at the rate of the last day', async () => {
    await service.dataSource.query(`UPDATE orders SET closed_at = closed_at - interval '2 days'`);
    expect(await read()).toMatchObject({ spent_24_hours: '0.00', runway_hours: null });
    const user = await service.createUser();
    await user.buy();
    await user.buy();
    const {
      provider_balance: balance,
      runway_hours: hours,
      spent_24_hours: spent,
    } = await eventually(async () => {
      const status = await read();
      return status.provider_balance && status;
    });
    expect(spent).toBe('41.80');
    expect(hours).toBeCloseTo((24 * Number(balance?.amount)) / 41.8, 0);
    await service.dataSource.query('UPDATE provider_accounts SET balance = -1');
    expect(await read()).toMatchObject({ runway_hours: 0 });
    await service.dataSource.query(`UPDATE orders SET closed_at = closed_at - interval '23 h 59 min'`);
    expect(await read()).toMatchObject({ spent_24_hours: '41.80' });
    await service.dataSource.query(`UPDATE orders SET closed_at = closed_at - interval '2 min'`);
    expect(await read()).toMatchObject({ spent_24_hours: '0.00', runway_hours: null });
  });

  it('counts the unmatched proxies that staff have not resolved', async () => {
    await service.dataSource.query(
      `INSERT INTO unmatched_proxies (provider, provider_proxy_id, order_reference, host, port, login,
                            password, proxy_type, date_start, date_end, resolution, resolved_at)
       SELECT 'px6', n, 'prs.test', 'host', '1', 'login', 'password', 'http', now(), now(),
              CASE n WHEN 3 THEN 'written-off' END, CASE n WHEN 3 THEN now() END
         FROM generate_series(1, 3) AS n`,
    );
    expect(await read()).toMatchObject({ open_unmatched_proxies: 2 });
  });

  it('counts the open orders by state', async () => {
    expect(await read()).toMatchObject(NONE_OPEN);
    const user = await service.createUser();
    // Otherwise the service would buy the queued orders.
    const lookAgain = lookAway(service);
    for (const [state, times] of [
      ['reserved', 4],
      ['submitting', 5],
      ['confirming', 3],
      ['review', 2],
    ] as const) {
      await service.dataSource.query(
        `INSERT INTO orders (user_id, kind, state, order_reference, country, version, period, count,
                             proxy_type, unit_price, hold_amount, provider, provider_price, queued_until,
                             sent_before, next_search_at)
         SELECT $1, 'purchase', $2, gen_random_uuid(), 'ru', '6', 30, 1, 'http', 1, 1, 'px6', 1,
                CASE $2 WHEN 'reserved' THEN later END, CASE WHEN $2 <> 'reserved' THEN later END, later
           FROM generate_series(1, $3::int), (SELECT now() + interval '1 day' AS later) AS times`,
        [user.id, state, times],
      );
    }
    await service.dataSource.query(
      `UPDATE orders SET created_at = created_at - interval '1 hour'
        WHERE id IN (SELECT max(id) FROM orders WHERE state IN ('reserved', 'review') GROUP BY state)`,
    );
    const status = await read();
    expect(status).toMatchObject({
      orders_waiting: 4,
      orders_submitting: 5,
      orders_confirming: 3,
      orders_in_review: 2,
    });
    for (const oldest of [status.oldest_waiting_at, status.oldest_in_review_at]) {
      expect(status.at.getTime() - (oldest?.getTime() ?? 0)).toBeGreaterThanOrEqual(3_600_000);
    }
    await service.dataSource.query(
      `UPDATE orders SET state = 'canceled', released = hold_amount, closed_at = now(), queued_until = NULL
        WHERE user_id = $1`,
      [user.id],
    );
    lookAgain();
    expect(await read()).toMatchObject(NONE_OPEN);
  });

  it('shows the age of the catalog by kind', async () => {
    await service.dataSource.query('DELETE FROM catalog_copies');
    await service.dataSource.query(
      `INSERT INTO catalog_copies (key, value, fetched_at)
       VALUES ('kind/a', '1', '2026-01-01T00:00:00Z'), ('kind/b', '2', '2026-01-02T00:00:00Z'),
              ('kind/c', NULL, NULL)`,
    );
    expect((await read()).catalog).toContainEqual({
      kind: 'kind',
      copies: 2,
      oldest_fetched_at: new Date('2026-01-01T00:00:00Z'),
      newest_fetched_at: new Date('2026-01-02T00:00:00Z'),
    });
    const user = await service.createUser();
    await user.api.GET('/countries', { params: { query: { version: '4' } } });
    await eventually(async () => (await read()).catalog.some(({ kind }) => kind === 'countries'));
  });

  it('names the rights that the service has in the database and does not need', async () => {
    expect((await read()).excessive_database_rights).toEqual([]);
    await service.owner.query('GRANT DELETE ON accounts TO PUBLIC');
    const replica = await startReplica(service);
    await replica.close();
    expect((await read()).excessive_database_rights).toEqual(['may write to accounts']);
    await service.owner.query('REVOKE DELETE ON accounts FROM PUBLIC');
    expect(log.lines.filter((line) => line.includes('it may write to accounts. '))).toHaveLength(1);
  });

  describe('of each job', () => {
    const countProxies = async (): Promise<number> => {
      const [{ count }] = await service.dataSource.query('SELECT count(*) FROM proxies');
      return count;
    };
    const sweepStatus = async () => (await read()).jobs.find(({ name }) => name === 'sweep');

    it('shows what the last run did, and when', async () => {
      await (await service.createUser()).buy();
      await service.runJob('sweep');
      expect(await sweepStatus()).toEqual({
        name: 'sweep',
        state: 'done',
        started_at: expect.any(Date),
        finished_at: expect.any(Date),
        holder: REPLICA_ID,
        report: {
          listed: await countProxies(),
          changed: 0,
          extended: 0,
          unmatched: 0,
          withdrawn: 0,
          implausible: 0,
          unread_foreign: 0,
          unread_own: 0,
          unread_unknown: 0,
        },
      });
    });

    it('shows that the last run broke off', async () => {
      await service.dataSource.query(
        `INSERT INTO job_runs (name, holder, started_at, lease_seconds, leased_until)
         VALUES ('gone', gen_random_uuid(), now() - interval '1 hour', 60, now() - interval '1 second')`,
      );
      expect((await read()).jobs).toContainEqual(
        expect.objectContaining({ name: 'gone', state: 'broken-off', finished_at: null }),
      );
    });

    it('shows the progress of a run that has not ended', async () => {
      const user = await service.createUser({ balance: '1000000.00' });
      await service.control.setStock('6', 'us', 5000);
      await user.buy({ country: 'us', period: 3, count: 1000 });
      const gate = await service.control.addGate({
        method: 'getproxy',
        stage: 'received',
        match: { page: '2' },
      });
      const swept = service.runJob('sweep');
      await service.control.untilGateReached(gate);
      expect(await sweepStatus()).toMatchObject({
        state: 'running',
        finished_at: null,
        report: { listed: 0 },
      });
      await service.control.openGate(gate);
      await swept;
      expect(await sweepStatus()).toMatchObject({ report: { listed: await countProxies() } });
    });

    it('is logged from time to time while it is long', async () => {
      const logged = jest.spyOn(Logger.prototype, 'log');
      const progress = () =>
        logged.mock.calls.map(([message]) => message).filter((message) => /is still running/.test(message));
      const runOf = async (name: string, progressEveryMs?: number) => {
        const run: LeasedJob = {
          name,
          everySeconds: 900,
          execute: async (begun) => {
            for (let done = 1; done <= 3; done++) await begun.renew({ done, left: 3 - done });
            return { done: 3, left: 0 };
          },
        };
        const begun = await LeasedRun.begin(service.dataSource, run, 0, () => false, progressEveryMs);
        await begun?.execute(new AbortController().signal);
      };
      await runOf('short');
      expect(progress()).toEqual([]);
      await runOf('long', 0);
      expect(progress()).toEqual([
        'long is still running: 1 done, 2 left so far',
        'long is still running: 2 done, 1 left so far',
        'long is still running: 3 done, 0 left so far',
      ]);
      logged.mockRestore();
    });
  });
});
