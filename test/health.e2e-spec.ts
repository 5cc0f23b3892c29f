import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { json as readJson } from 'node:stream/consumers';
import { drain } from '../src/application';
import { StatusService } from '../src/status';
import { eventually } from './support/built-service';
import { type Caught, startDatabaseRelay } from './support/database-relay';
import { forAllTests } from './support/fixtures';
import { captureLog } from './support/log-capture';
import { startReplica } from './support/replica';
import { lockRow } from './support/table-lock';
import { startTestService } from './support/test-service';

interface ServiceResponse {
  readonly status: number;
  readonly body: unknown;
}

async function send(baseUrl: string, path: string): Promise<ServiceResponse> {
  const response = await fetch(baseUrl + path);
  return { status: response.status, body: await response.json() };
}

const readiness = (baseUrl: string) => send(baseUrl, '/health/ready');
const READY: ServiceResponse = { status: 200, body: { status: 'ready' } };
const LIVE: ServiceResponse = { status: 200, body: { status: 'live' } };
const notReady = (detail: string): ServiceResponse => ({ status: 503, body: { detail, code: 'not-ready' } });

describe('A replica', () => {
  const log = forAllTests(captureLog);
  // The tests cut off the database and downgrade its schema. Without a database, the job would log errors.
  const service = forAllTests(() =>
    startTestService({
      environment: { LOG_LEVEL: 'warn' },
      jobIntervalsMs: { 'reconcile-orders': 60_000, 'replica-report': 50 },
    }),
  );
  const relay = forAllTests(() => startDatabaseRelay(service.databaseUrl));
  const replica = forAllTests(() =>
    startReplica(service, { database: { url: relay.url, poolSize: 2 }, tuning: { poolWaitMs: 1000 } }),
  );

  const untilReadiness = (baseUrl: string, expected: ServiceResponse) =>
    eventually(async () => JSON.stringify(await readiness(baseUrl)) === JSON.stringify(expected));

  async function holdProbe(): Promise<Caught> {
    const probe = relay.catchNext({ statement: '"isReadOnly"', moment: 'before', action: 'hold' });
    let isHeld = false;
    void probe.reached.then(() => (isHeld = true));
    await eventually(() => {
      void readiness(replica.baseUrl);
      return isHeld;
    });
    return probe;
  }

  const probesConnected = async (): Promise<number> => {
    const rows = await service.owner.query<{ pid: number }[]>(
      `SELECT pid FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'proxy-rental-service probe'`,
    );
    return rows.length;
  };

  it('is live and ready once it serves requests', async () => {
    expect(await send(service.baseUrl, '/health/live')).toEqual(LIVE);
    expect(await readiness(service.baseUrl)).toEqual(READY);
  });

  it('asks the database once for all who ask at the same time, on a connection of its own', async () => {
    // Each pool holds one connection, and reconnects what another test cut off.
    await eventually(async () => {
      for (const { baseUrl } of [service, replica]) await untilReadiness(baseUrl, READY);
      return (await probesConnected()) === 2;
    });
    const probe = await holdProbe();
    const responses = Promise.all(Array.from({ length: 20 }, () => readiness(replica.baseUrl)));
    // A second statement would return before this one is released.
    expect(await send(replica.baseUrl, '/health/live')).toEqual(LIVE);
    probe.letGo();
    expect(new Set((await responses).map(({ status }) => status))).toEqual(new Set([200]));
    expect(await probesConnected()).toBe(2);
  });

  it('is ready while all connections of its pool are taken', async () => {
    const user = await service.createUser();
    const lock = await lockRow(service.owner, 'LOCK TABLE api_tokens');
    let isPoolTaken = false;
    const waiting: Promise<void>[] = [];
    // Begun one by one, because concurrent token look-ups share a statement.
    await eventually(() => {
      const requested = fetch(`${replica.baseUrl}/me`, {
        headers: { Authorization: `Bearer ${user.token}` },
      });
      waiting.push(requested.then(({ status }) => void (isPoolTaken ||= status === 503)));
      return isPoolTaken;
    });
    const probe = await holdProbe();
    const response = readiness(replica.baseUrl);
    probe.letGo();
    expect(await response).toEqual(READY);
    await lock.release();
    await Promise.all(waiting);
  });

  it('is live and not ready while the database does not respond, until another connection does', async () => {
    relay.catchNext({ statement: '"isReadOnly"', moment: 'before', action: 'hold' });
    await untilReadiness(replica.baseUrl, notReady('The database cannot be reached'));
    expect(await send(replica.baseUrl, '/health/live')).toEqual(LIVE);
    await untilReadiness(replica.baseUrl, READY);
  });

  it('is ready again after its connections were lost', async () => {
    await untilReadiness(replica.baseUrl, READY);
    relay.cutAll();
    await untilReadiness(replica.baseUrl, READY);
  });

  it('is not ready while the database takes no writes', async () => {
    // New sessions are read-only too.
    const session = service.owner.createQueryRunner();
    const [database] = await session.query('SELECT current_database() AS name');
    await session.query(`ALTER DATABASE ${database.name} SET default_transaction_read_only = on`);
    relay.cutAll();
    await untilReadiness(replica.baseUrl, notReady('The database does not accept writes'));
    await session.query(`ALTER DATABASE ${database.name} RESET default_transaction_read_only`);
    await session.release();
    // The read-only connection must not be used again.
    await untilReadiness(replica.baseUrl, READY);
    relay.cutAll();
  });

  it('is not ready while the schema is older than it needs, and is with a newer one', async () => {
    const [last] = await service.owner.query<{ id: number; timestamp: string; name: string }[]>(
      'SELECT * FROM migrations ORDER BY id DESC LIMIT 1',
    );
    await service.owner.query('DELETE FROM migrations WHERE id = $1', [last?.id]);
    await Promise.all(
      Array.from({ length: 5 }, () => untilReadiness(service.baseUrl, notReady('Migrations are pending'))),
    );
    await service.owner.query('INSERT INTO migrations VALUES ($1, $2, $3)', [
      last?.id,
      last?.timestamp,
      last?.name,
    ]);
    await service.owner.query(`INSERT INTO migrations (timestamp, name) VALUES (9e12, 'Later9000000000000')`);
    await untilReadiness(service.baseUrl, READY);
    const unknownTo = async (): Promise<unknown[]> =>
      (await service.app.get(StatusService, { strict: false }).read()).replicas.map(
        ({ unknown_migrations }) => unknown_migrations,
      );
    await eventually(
      async () => JSON.stringify(await unknownTo()) === '[["Later9000000000000"],["Later9000000000000"]]',
    );
    // Each replica logs the line once, however often it is probed.
    expect(log.lines.filter((line) => line.includes('not ready: Migrations')).length).toBeLessThanOrEqual(2);
    expect(log.lines.filter((line) => line.includes('Later9000000000000'))).toHaveLength(2);
    await service.owner.query(`DELETE FROM migrations WHERE name = 'Later9000000000000'`);
    await eventually(async () => JSON.stringify(await unknownTo()) === '[[],[]]');
  });

  describe('that is stopping', () => {
    // The latest service determines the log level.
    const stopping = forAllTests(() => startTestService({ environment: { LOG_LEVEL: 'warn' } }));

    it('is not ready, serves everything, and ends connections with their response', async () => {
      const user = await stopping.createUser();
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      async function onKeepAliveConnection(path: string, body?: object) {
        const headers = { Authorization: `Bearer ${user.token}`, 'Content-Type': 'application/json' };
        const call = request(stopping.baseUrl + path, { agent, method: body ? 'POST' : 'GET', headers });
        call.end(body && JSON.stringify(body));
        const [response] = (await once(call, 'response')) as [IncomingMessage];
        const { statusCode } = response;
        return {
          status: statusCode,
          body: await readJson(response),
          connection: response.headers.connection,
        };
      }
      try {
        expect(await onKeepAliveConnection('/health/ready')).toEqual({ ...READY, connection: 'keep-alive' });
        drain(stopping.app);
        expect(await onKeepAliveConnection('/health/ready')).toEqual({
          ...notReady('The replica is stopping'),
          connection: 'close',
        });
        expect(await onKeepAliveConnection('/health/live')).toEqual({ ...LIVE, connection: 'close' });
        expect(await onKeepAliveConnection('/proxies/buy', { country: 'ru', period: 30 })).toMatchObject({
          status: 200,
          connection: 'close',
        });
      } finally {
        agent.destroy();
      }
    });
  });
});
