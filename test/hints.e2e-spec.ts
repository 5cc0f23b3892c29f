import type { Client } from 'pg';
import { eventually } from './support/built-service';
import { startDatabaseRelay } from './support/database-relay';
import { beforeClosing, forAllTests } from './support/fixtures';
import { startReplica } from './support/replica';
import { purchase, send } from './support/replicas';
import { connectClient } from './support/test-database';
import { startTestService, type TestUser } from './support/test-service';

/** When a request looks for the first time at what became of its order, without having got a hint. */
const POLL_INTERVAL_MS = 1000;
const CLAIM = 'WITH waiting AS (';
const HAS_NEXT = 'AS "hasNext"';

describe('A request whose order another replica sends', () => {
  let users: TestUser[];
  let listener: Client;
  let heard: string[];

  // All its sessions that listen are ended, and it may send no hints. None sends what is not placed at it,
  // unless it is about to send something anyway.
  const service = forAllTests(() => startTestService({ jobIntervalsMs: { 'dispatch-orders': 600_000 } }));
  const relay = forAllTests(() => startDatabaseRelay(service.databaseUrl));
  const replica = forAllTests(() =>
    startReplica(service, {
      database: { url: relay.url },
      // A request that is still in the queue then would leave it.
      purchases: { waitMs: 20_000 },
    }),
  );
  beforeAll(async () => {
    users = await Promise.all([service.createUser(), service.createUser()]);
    listener = await connectClient(service.databaseUrl);
    await listener.query('LISTEN settled_orders');
    listener.on('notification', ({ payload = '' }) => heard.push(payload));
    // Both fetch what they check orders against, and the replica begins to listen.
    for (const { baseUrl } of [service, replica]) expect((await buy(baseUrl, 0)).status).toBe(200);
    await eventually(async () => (await listeningSessions()).length === 2);
  }, 30_000);
  beforeEach(() => (heard = []));
  afterEach(async () => {
    await service.untilSettled();
  });
  beforeClosing(async () => {
    await service.audit({ withProvider: true });
    await listener.end();
  });

  const buy = (baseUrl: string, user: number) => send(baseUrl, purchase(users[user]!));

  /** Gives the sessions of the service that listen for hints. */
  const listeningSessions = (): Promise<{ pid: number }[]> =>
    service.owner.query(
      `SELECT pid FROM pg_stat_activity
        WHERE datname = current_database() AND query = 'LISTEN settled_orders' AND application_name <> ''`,
    );

  /** Has the service send an order of the replica's. Gives its id, and how long its request took. */
  async function orderElsewhere(
    meanwhile: () => Promise<unknown> = () => Promise.resolve(),
  ): Promise<{ orderId: unknown; elapsedMs: number }> {
    const claim = relay.catchNext({ statement: CLAIM, moment: 'before', action: 'hold' });
    const startedAtMs = performance.now();
    const response = buy(replica.baseUrl, 0);
    await claim.reached;
    await meanwhile();
    // There is one queue: the replica that sends an order of the service itself sends the other one too.
    expect((await buy(service.baseUrl, 1)).status).toBe(200);
    const { status, body } = await response;
    const elapsedMs = performance.now() - startedAtMs;
    // Its claim finds nothing. Until it has looked once more, it would send what is placed next.
    const looked = relay.catchNext({ statement: HAS_NEXT, moment: 'after', action: 'hold' });
    claim.letGo();
    await looked.reached;
    looked.letGo();
    expect(status).toBe(200);
    return { orderId: body['order_id'], elapsedMs };
  }

  /** A busy machine may need more than one try. */
  const untilHintResponds = () =>
    eventually(async () => {
      const order = await orderElsewhere();
      return order.elapsedMs < POLL_INTERVAL_MS && order;
    });

  /** The hint may reach the test after the replica. */
  const untilHeard = (orderId: unknown) =>
    eventually(() => Promise.resolve(heard.join(',').split(',').includes(String(orderId))));

  it('returns after a hint, before it looks for itself', async () => {
    const { orderId } = await untilHintResponds();
    await untilHeard(orderId);
  });

  it('returns although the connection for hints was cut, and hears the next hint', async () => {
    const { elapsedMs } = await orderElsewhere(async () => {
      const ended = (await listeningSessions()).map(({ pid }) => pid);
      for (const pid of ended) await service.owner.query('SELECT pg_terminate_backend($1)', [pid]);
      // A replica that a busy machine delays may listen again before this looks.
      await eventually(async () => !(await listeningSessions()).some(({ pid }) => ended.includes(pid)));
    });
    expect(elapsedMs).toBeGreaterThanOrEqual(POLL_INTERVAL_MS);
    await untilHintResponds();
  });

  it('returns although the hint was not sent', async () => {
    await service.owner.query('REVOKE EXECUTE ON FUNCTION pg_notify FROM PUBLIC');
    const { elapsedMs } = await orderElsewhere();
    await service.owner.query('GRANT EXECUTE ON FUNCTION pg_notify TO PUBLIC');
    expect(elapsedMs).toBeGreaterThanOrEqual(POLL_INTERVAL_MS);
  });

  it('is the only one that gets a hint: a replica that serves it itself sends none', async () => {
    const { body } = await buy(service.baseUrl, 1);
    const { orderId } = await untilHintResponds();
    await untilHeard(orderId);
    expect(heard).not.toContain(String(body['order_id']));
  });
});
