import { AppConfig } from '../../src/config';
import { DispatcherService } from '../../src/orders';
import { connectAbsentStandby } from '../support/absent-standby';
import { fetchAs } from '../support/api-client';
import { eventually } from '../support/built-service';
import { startDatabaseRelay } from '../support/database-relay';
import { forAllTests, forEachTest } from '../support/fixtures';
import { startOwnPostgres } from '../support/own-postgres';
import { startReplica } from '../support/replica';
import { createStaff } from '../support/staff';
import { startTestService, testUser } from '../support/test-service';

/** Only the beginnings, because the database shows 1 kB of a statement. */
const CLAIM = 'WITH waiting AS';
const SETTLEMENT = 'WITH member AS MATERIALIZED';
const BARRIER = 'pg_logical_emit_message';

describe('A commit whose wait for the synchronous standby is cancelled', () => {
  const postgres = forAllTests(startOwnPostgres);
  const service = forAllTests(() =>
    startTestService({
      database: postgres,
      jobIntervalsMs: { 'dispatch-orders': 600_000 },
      environment: { PROVIDER_TIMEOUT_MS: '1500' },
    }),
  );
  const standby = forAllTests(() => connectAbsentStandby(postgres.ownerUrl));
  const relay = forAllTests(() =>
    startDatabaseRelay(service.app.get<unknown, AppConfig>(AppConfig).database.url),
  );
  const replica = forAllTests(() => startReplica(service, { database: { url: relay.url } }));
  const user = forEachTest(() => service.createUser({ balance: '500.00' }));
  beforeEach(async () => {
    await service.control.clearCalls();
  });
  afterEach(() => standby.comeBack());

  const orders = (): Promise<{ state: string }[]> =>
    service.owner.query('SELECT state FROM orders WHERE user_id = $1 ORDER BY id', [user.id]);

  const buy = (key?: string) => testUser(replica.baseUrl, user.id, user.token).buy({}, key);

  async function untilWaiting(statement: string, send: () => unknown): Promise<number> {
    const held = relay.catchNext({ statement, moment: 'before', action: 'hold' });
    send();
    await held.reached;
    await standby.leave();
    held.letGo();
    return standby.waitingFor(statement);
  }

  it('of a claim: nothing is bought for it, and its order is canceled before the response', async () => {
    let result: ReturnType<typeof buy> | undefined;
    const pid = await untilWaiting(CLAIM, () => (result = buy()));
    await standby.cancel(pid);
    // Everybody sees the claim, but its outcome is not known before a standby has it.
    await standby.waitingFor(BARRIER);
    expect(await orders()).toEqual([{ state: 'submitting' }]);
    await standby.comeBack();
    const { response, error } = (await result) ?? {};
    expect(response?.status).toBe(503);
    expect(response?.headers.get('Retry-After')).not.toBeNull();
    expect(error).toEqual({ detail: 'Service temporarily unavailable' });
    expect(await service.control.getCalls('buy')).toEqual([]);
    expect(await orders()).toEqual([{ state: 'canceled' }]);
    await service.audit({ withProvider: true });
  });

  it.each(['pg_cancel_backend', 'pg_terminate_backend'] as const)(
    'of a reservation, by %s: it is neither sent nor returned before a standby has it',
    async (how) => {
      let response: ReturnType<typeof buy> | undefined;
      const pid = await untilWaiting('place_orders', () => (response = buy()));
      await standby.cancel(pid, how);
      await standby.waitingFor(BARRIER);
      expect(await orders()).toEqual([{ state: 'reserved' }]);
      expect(await service.control.getCalls('buy')).toEqual([]);
      await standby.comeBack();
      expect((await response)?.response.status).toBe(200);
      expect(await orders()).toEqual([{ state: 'completed' }]);
      await service.audit({ withProvider: true });
    },
  );

  it.each([
    // A replica that looks into the queue reads it again, after the time of the first reading.
    ['the claim of a reading', 'WITH unread AS MATERIALIZED', 200, 'completed', 1],
    ['the store of an end', 'WITH read AS MATERIALIZED', 503, 'canceled', 0],
  ])('of %s: its prolongation is sent once or canceled', async (_, statement, status, state, calls) => {
    const { data } = await user.buy();
    await service.untilSettled();
    let result: ReturnType<typeof user.prolong> | undefined;
    const pid = await untilWaiting(statement, () => {
      result = testUser(replica.baseUrl, user.id, user.token).prolong(data?.proxies[0]?.id ?? '');
    });
    await standby.cancel(pid);
    await standby.comeBack();
    let isOver = false;
    void result?.finally(() => (isOver = true));
    await eventually(() => {
      if (calls > 0) service.app.get(DispatcherService).wake('prolongation');
      return isOver;
    });
    expect((await result)?.response.status).toBe(status);
    expect(await orders()).toEqual([{ state: 'completed' }, { state }]);
    expect(await service.control.getCalls('prolong')).toHaveLength(calls);
    await service.audit({ withProvider: true });
  });

  it('of the publishing of an event: it is reported once a standby has it', async () => {
    const read = () =>
      fetch(`${service.baseUrl}/events`, { headers: { Authorization: `Bearer ${user.token}` } });
    await read();
    const unpublished = () => service.owner.query<object[]>('SELECT FROM events WHERE position IS NULL');
    await eventually(async () => (await unpublished()).length === 0);
    await standby.leave();
    await service.owner.query(`
      BEGIN;
      SET LOCAL synchronous_commit = local;
      INSERT INTO events (user_id, type, data) VALUES (${user.id}, 'proxy.expiring', '{"proxy_id":"1"}');
      COMMIT`);
    await standby.cancel(await standby.waitingFor('publish_events'));
    await eventually(async () => (await unpublished()).length === 0);
    let hasResponse = false;
    const response = read().finally(() => (hasResponse = true));
    await standby.waitingFor(BARRIER);
    expect(hasResponse).toBe(false);
    await standby.comeBack();
    expect(await (await response).text()).toContain('"proxy.expiring"');
  });

  it('of a settlement: it returns, and is replayed, once a standby has it', async () => {
    let response: ReturnType<typeof buy> | undefined;
    const pid = await untilWaiting(SETTLEMENT, () => (response = buy('settled')));
    await standby.cancel(pid);
    await standby.waitingFor(BARRIER);
    expect(await orders()).toEqual([{ state: 'completed' }]);
    let hasResponse = false;
    const replay = buy('settled').finally(() => (hasResponse = true));
    await eventually(async () => (await waitingBarriers()) > 1);
    expect(hasResponse).toBe(false);
    await standby.comeBack();
    const [{ data }, { data: replayed }] = await Promise.all([response!, replay]);
    expect(data).toEqual(replayed);
    expect(data?.proxies).toHaveLength(1);
    expect(await service.control.getCalls('buy')).toHaveLength(1);
    await service.audit({ withProvider: true });
  });

  const waitingBarriers = async (): Promise<number> => {
    const [row] = await service.owner.query<[{ count: number }]>(
      `SELECT count(*)::int AS count FROM pg_stat_activity
        WHERE wait_event = 'SyncRep' AND query LIKE '%' || $1 || '%'`,
      [BARRIER],
    );
    return row.count;
  };

  it('of a credit by staff: it returns 503, and retried with its key it is booked once', async () => {
    const staff = await createStaff(service);
    const body = { amount: '10.00', reason: 'test' };
    const credit = (baseUrl: string) =>
      fetchAs(staff, 'POST', `${baseUrl}/staff/users/${user.id}/credit`, body, {
        'Idempotency-Key': `credit-${user.id}`,
      });
    const held = relay.catchNext({ statement: 'INSERT INTO audit_log', moment: 'before', action: 'hold' });
    const response = credit(replica.baseUrl);
    await held.reached;
    await standby.leave();
    held.letGo();
    await standby.cancel(await standby.waitingFor('COMMIT'));
    await standby.waitingFor(BARRIER);
    await standby.comeBack();
    expect((await response).status).toBe(503);
    const replayed = await credit(replica.baseUrl);
    expect([replayed.status, replayed.headers.get('Idempotency-Replayed')]).toEqual([200, 'true']);
    expect((await service.balanceOf(user)).available).toBe('510.00');
  });
});
