import type { Client } from 'pg';
import { eventually } from './support/built-service';
import { startDatabaseRelay } from './support/database-relay';
import { beforeClosing, forAllTests } from './support/fixtures';
import { startReplica } from './support/replica';
import { purchase, send } from './support/replicas';
import { connectClient } from './support/test-database';
import { startTestService, type TestUser } from './support/test-service';

const CLAIM = 'WITH waiting AS (';
const QUEUE_LOOK = 'AS "hasReady"';

describe('A request whose order another replica sends', () => {
  let users: TestUser[];
  let listener: Client;
  let heard: string[] = [];

  // The tests end listening sessions and forbid notifications. Without the job, a replica sends another one's
  // orders only together with its own.
  const service = forAllTests(() => startTestService({ jobIntervalsMs: { 'dispatch-orders': 600_000 } }));
  const relay = forAllTests(() => startDatabaseRelay(service.databaseUrl));
  const replica = forAllTests(() =>
    startReplica(service, {
      database: { url: relay.url },
      // The default would refuse orders that still wait in the queue.
      purchases: { waitMs: 20_000 },
    }),
  );
  beforeAll(async () => {
    users = await Promise.all([service.createUser(), service.createUser()]);
    listener = await connectClient(service.databaseUrl);
    await listener.query('LISTEN changed_rows');
    listener.on('notification', ({ payload = '' }) => {
      const [kind, ...ids] = payload.split(',');
      if (kind === 'orders') heard.push(...ids);
    });
    // Both replicas fetch the catalog, and the second one begins to listen.
    for (const { baseUrl } of [service, replica]) expect((await buy(baseUrl, 0)).status).toBe(200);
    await eventually(async () => (await listeningSessions()).length === 2);
  });
  beforeEach(() => (heard = []));
  afterEach(() => service.untilSettled());
  beforeClosing(async () => {
    await service.audit({ withProvider: true });
    await listener.end();
  });

  const buy = (baseUrl: string, user: number) => send(baseUrl, purchase(users[user]!));

  const listeningSessions = (): Promise<{ pid: number }[]> =>
    service.owner.query(
      `SELECT pid FROM pg_stat_activity
        WHERE datname = current_database() AND query = 'LISTEN changed_rows' AND application_name <> ''`,
    );

  async function orderElsewhere(
    meanwhile: () => Promise<unknown> = () => Promise.resolve(),
  ): Promise<unknown> {
    const claim = relay.catchNext({ statement: CLAIM, moment: 'before', action: 'hold' });
    const response = buy(replica.baseUrl, 0);
    await claim.reached;
    await meanwhile();
    // The replica that sends its own order also sends the other one from the common queue.
    expect((await buy(service.baseUrl, 1)).status).toBe(200);
    const { status, body } = await response;
    // After its empty claim, the replica would send the next order until it has looked once more.
    const looked = relay.catchNext({ statement: QUEUE_LOOK, moment: 'after', action: 'hold' });
    claim.letGo();
    await looked.reached;
    looked.letGo();
    expect(status).toBe(200);
    return body['order_id'];
  }

  const untilHeard = (orderId: unknown) => eventually(() => Promise.resolve(heard.includes(String(orderId))));

  it('returns, and was notified', async () => {
    await untilHeard(await orderElsewhere());
  });

  it('returns although the connection for notifications was cut, which is made again', async () => {
    await orderElsewhere(async () => {
      const ended = (await listeningSessions()).map(({ pid }) => pid);
      for (const pid of ended) await service.owner.query('SELECT pg_terminate_backend($1)', [pid]);
      // On a busy machine, the replica may listen again before this looks.
      await eventually(async () => !(await listeningSessions()).some(({ pid }) => ended.includes(pid)));
    });
    await eventually(async () => (await listeningSessions()).length === 2);
  });

  it('returns although the notification was not sent', async () => {
    await service.owner.query('REVOKE EXECUTE ON FUNCTION pg_notify FROM PUBLIC');
    await orderElsewhere();
    await service.owner.query('GRANT EXECUTE ON FUNCTION pg_notify TO PUBLIC');
  });

  it('is the only one that is notified: a replica that serves it itself sends nothing', async () => {
    const { body } = await buy(service.baseUrl, 1);
    await untilHeard(await orderElsewhere());
    expect(heard).not.toContain(String(body['order_id']));
  });
});
