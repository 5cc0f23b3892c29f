// A service of its own: an order stays open during the tests.
import { request } from 'node:http';
import { TokensService } from '../src/auth';
import { connectionPool } from '../src/database';
import { EventPageReader } from '../src/events';
import { RequestsUnderWay } from '../src/http';
import { OrderCancellations, OrderQueries } from '../src/orders';
import { formatOf } from '../src/proxies/export/formats';
import { ProxyExportService } from '../src/proxies/export/proxy-export.service';
import { toProxyFilter } from '../src/proxies/filter/proxy-filter.query';
import { ListRevisionService } from '../src/proxies/list-revision.service';
import { fetchAs } from './support/api-client';
import { eventually } from './support/built-service';
import { forAllTests } from './support/fixtures';
import { captureLog } from './support/log-capture';
import { leaveOrderOpen } from './support/open-order';
import { insertProxies } from './support/proxy-rows';
import { openSilentPort } from './support/silent-port';
import { lockRow, untilWaiting } from './support/table-lock';
import { startTestService, type TestUser } from './support/test-service';

const MOST_WAITING = 100;
const MOST_EXPORTS = 16;
const TOO_MANY = { detail: 'Too many requests of this kind are in progress' };

// Hundreds of concurrent requests, possibly on a busy machine.

describe('The concurrent requests of one user', () => {
  const log = forAllTests(captureLog);
  const silent = forAllTests(openSilentPort);
  const service = forAllTests(() => startTestService({ tuning: { reconcileIntervalMs: 60_000 } }));

  const get = (user: TestUser, path: string, signal?: AbortSignal): Promise<Response> =>
    fetch(service.baseUrl + path, {
      headers: { Authorization: `Bearer ${user.token}` },
      ...(signal && { signal }),
    });
  const waitingOf = (): number =>
    service.app.get(OrderQueries).awaited.count() + service.app.get(EventPageReader).awaited.count();

  async function sendAndLeave(user: TestUser, paths: readonly string[]): Promise<void> {
    const headers = { authorization: `Bearer ${user.token}` };
    await Promise.all(
      paths.map(
        (path) =>
          new Promise<void>((resolve) => {
            const call = request(service.baseUrl + path, { headers, agent: false }).on('close', resolve);
            call.on('error', () => undefined).end();
            call.once('finish', () => setTimeout(() => call.destroy(), 1));
          }),
      ),
    );
    await eventually(() => {
      const { idleCount, totalCount, waitingCount } = connectionPool(service.dataSource);
      return waitingCount === 0 && idleCount === totalCount;
    });
  }

  async function openOrder(): Promise<{ user: TestUser; path: string }> {
    const user = await service.createUser();
    await leaveOrderOpen(service, user);
    // Publishing the order's last event would end waits for earlier events.
    await eventually(async () => {
      const published = `SELECT FROM events
        WHERE user_id = $1 AND type = 'order.being_confirmed' AND position IS NOT NULL`;
      return (await service.dataSource.query<object[]>(published, [user.id])).length > 0;
    });
    return { user, path: `/orders/${(await user.api.GET('/orders')).data?.items[0]?.id}?wait=30` };
  }

  it('is a hundred waits, for orders and for events together, and leaves others alone', async () => {
    const { user, path } = await openOrder();
    const leaving = new AbortController();
    const waits = Array.from({ length: MOST_WAITING }, (_, n) =>
      get(user, n % 2 ? path : '/events?after=now&wait=30', leaving.signal).catch(() => undefined),
    );
    await eventually(() => waitingOf() === MOST_WAITING);
    for (const refused of [await get(user, path), await get(user, '/events?after=now&wait=30')]) {
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
      expect(await refused.json()).toMatchObject(TOO_MANY);
    }
    for (const free of [path.replace('wait=30', 'wait=0'), '/events?after=now']) {
      expect((await get(user, free)).status).toBe(200);
    }
    const other = await openOrder();
    expect((await get(other.user, other.path.replace('wait=30', 'wait=1'))).status).toBe(200);
    leaving.abort();
    await Promise.all(waits);
    await eventually(() => waitingOf() === 0);
  });

  it('is nothing once clients have left that waited for an order or for events', async () => {
    const { user, path } = await openOrder();
    const awaited = [path, '/events?after=now&wait=30'];
    // With so many at once, clients leave at different stages of their requests.
    await sendAndLeave(
      user,
      Array.from({ length: 24 }, (_, n) => awaited[n % 2] ?? ''),
    );
    await eventually(() => waitingOf() === 0);
    for (const one of awaited) expect((await get(user, one.replace('wait=30', 'wait=1'))).status).toBe(200);
  });

  it('ends with a token that is revoked, or a user who is blocked, during a wait for an order', async () => {
    const revoked = await openOrder();
    const blocked = await openOrder();
    const waiting = [revoked, blocked].map(({ user, path }) => get(user, path));
    await eventually(() => service.app.get(OrderQueries).awaited.count() === 2);
    const tokens = service.app.get(TokensService);
    await tokens.revoke((await tokens.findCaller(revoked.user.token))?.tokenId ?? 0);
    await service.owner.query('UPDATE users SET blocked_at = now(), blocked_reason = $2 WHERE id = $1', [
      blocked.user.id,
      'test',
    ]);
    const ids = [revoked, blocked].map(({ path }) => Number(/\d+/.exec(path)));
    await service.app.get(OrderCancellations).cancelOrders(ids, 'staff', ['confirming']);
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([401, 403]);
  });

  it('is two pings of many proxies, whose client may leave, and delays no other user', async () => {
    const pingAll = (user: TestUser, signal?: AbortSignal) =>
      user.api.POST('/proxies/ping', { body: { filter: {} }, ...(signal && { signal }) });
    const [leaver, user, other] = await Promise.all([1, 2, 3].map(() => service.createUser()));
    if (!leaver || !user || !other) throw new Error('no users');
    for (const { id } of [leaver, user]) {
      await insertProxies(service.dataSource, id, 990, { port: String(silent.port) });
    }
    await insertProxies(service.dataSource, other.id, 2, { port: new URL(service.baseUrl).port });
    for (let round = 0; round < 3; round += 1) {
      await pingAll(leaver, AbortSignal.timeout(5)).catch(() => undefined);
    }

    const leaving = new AbortController();
    const pings = [1, 2, 3].map(() => pingAll(user, leaving.signal));
    expect(await Promise.race(pings)).toMatchObject({ response: { status: 429 }, error: TOO_MANY });
    expect((await pingAll(other)).data?.proxies.map(({ latency_ms: latency }) => latency)).toEqual([
      expect.any(Number),
      expect.any(Number),
    ]);
    leaving.abort();
    await Promise.allSettled(pings);
  });

  async function createOwner(proxies: number): Promise<TestUser> {
    const user = await service.createUser();
    await insertProxies(service.dataSource, user.id, proxies);
    // Makes the service know their number.
    await get(user, '/proxies?country=ru');
    return user;
  }
  const lockProxies = () => lockRow(service.owner, 'LOCK TABLE proxies IN ACCESS EXCLUSIVE MODE');
  const exportsOf = (user: TestUser): number => service.app.get(RequestsUnderWay).of('export', user.id);
  const exportPath = (n: number): string =>
    `/proxies/lists/playwright?ends_before=2100-01-01T00:00:${String(n).padStart(2, '0')}Z`;

  it('is one change of a kind that locks the user: the others wait without a connection', async () => {
    const [user, other] = await Promise.all([service.createUser(), service.createUser()]);
    const lock = await lockRow(service.owner, `SELECT FROM users WHERE id = ${user.id} FOR NO KEY UPDATE`);
    const change = (method: string, path: string, body: object): Promise<Response> =>
      fetchAs(user, method, service.baseUrl + path, body);
    const changes = Array.from({ length: 3 }, () => [
      change('POST', '/tokens', { scopes: ['profile:read'] }),
      change('POST', '/links', { format: 'json' }),
      change('POST', '/webhooks', { url: 'https://example.com/', types: null }),
      change('PUT', '/renewals/budget', { monthly: '100.00' }),
    ]).flat();
    await untilWaiting(service.owner, 'FROM users');
    expect((await get(other, '/webhooks')).status).toBe(200);
    await lock.release();
    expect(new Set((await Promise.all(changes)).map(({ status }) => status))).toEqual(new Set([200, 201]));
  });

  it('is sixteen exports, while what the specification has waits and is never refused', async () => {
    const [user, other] = await Promise.all([createOwner(3), createOwner(3)]);
    const lock = await lockProxies();
    const many = Array.from({ length: MOST_EXPORTS + 1 }, (_, n) => get(user, exportPath(n)));
    const refused = await Promise.race(many);
    expect([refused.status, await refused.json()]).toMatchObject([429, TOO_MANY]);
    const specified = ['/proxies', '/proxies/export?format=txt&active_only=true'];
    const waiting = Array.from({ length: 20 }, (_, n) => get(user, specified[n % 2] ?? ''));
    const others = get(other, exportPath(0));
    await lock.release();
    const statuses = (await Promise.all([...waiting, others])).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect((await Promise.all(many)).filter(({ status }) => status === 200)).toHaveLength(MOST_EXPORTS);
    expect((await get(user, exportPath(0))).status).toBe(200);
  });

  it('has an export under way until its response is over, however slowly it is read', async () => {
    const user = await createOwner(3);
    const caller = await service.app.get(TokensService).findCaller(user.token);
    if (!caller) throw new Error('no caller');
    const revision = await service.app.get(ListRevisionService).get(caller);
    const filter = toProxyFilter({ ends_before: new Date('2100-01-01') });
    const closed = new AbortController();
    const options = { format: 'playwright', template: null, filter } as const;
    await service.app.get(ProxyExportService).get(revision, options, closed.signal);
    expect(exportsOf(user)).toBe(1);
    closed.abort();
    expect(exportsOf(user)).toBe(0);
  });

  it.each([3, 8001])('is nothing, and no error, once clients have left exports of %d', async (count) => {
    const user = await createOwner(count);
    const lock = await lockProxies();
    const leaving = new AbortController();
    const specified = ['/proxies', '/proxies?proxy_type=http', '/proxies/export?format=txt'];
    const left = Array.from({ length: 2 * MOST_EXPORTS }, (_, n) =>
      get(user, n % 2 ? (specified[n % 3] ?? '') : exportPath(n), leaving.signal),
    );
    await untilWaiting(service.owner, 'FROM proxies');
    await eventually(() => exportsOf(user) === MOST_EXPORTS);
    leaving.abort();
    await Promise.allSettled(left);
    // At most two were being read, and still are.
    await eventually(() => exportsOf(user) <= 2);
    const all = Array.from({ length: MOST_EXPORTS - 2 }, (_, n) => get(user, exportPath(n)));
    await eventually(() => exportsOf(user) >= all.length);
    await lock.release();
    const read = await Promise.all(all);
    expect(new Set(read.map(({ status }) => status))).toEqual(new Set([200]));
    // Unread responses would delay the service's shutdown by seconds.
    await Promise.all(read.map(async ({ body }) => body?.cancel()));
    await eventually(() => exportsOf(user) === 0);
    expect(log.lines.filter((line) => line.includes('unforeseen error'))).toEqual([]);
  });

  it('writes exports a few hundred rows at a time, so that other requests have their turns', async () => {
    const user = await createOwner(600);
    const playwright = formatOf({ format: 'playwright', template: null });
    const { write } = playwright;
    if (typeof write !== 'function') throw new Error('the database writes it');
    const writing = { now: 0, most: 0 };
    const spy = jest.spyOn(playwright as { write: typeof write }, 'write').mockImplementation((proxy) => {
      // Runs before any other user's turn.
      if (writing.now === 0) queueMicrotask(() => (writing.now = 0));
      writing.most = Math.max(writing.most, (writing.now += 1));
      return write(proxy);
    });
    const texts = await Promise.all([0, 1].map(async (n) => (await get(user, exportPath(n))).text()));
    spy.mockRestore();
    expect([texts.map((text) => text.split('\n').length), writing.most]).toEqual([[603, 603], 250]);
  });
});
