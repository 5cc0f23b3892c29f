import { eventually } from '../support/built-service';
import { forAllTests } from '../support/fixtures';
import { insertProxies } from '../support/proxy-rows';
import { openSilentPort } from '../support/silent-port';
import { startTestService, type TestUser } from '../support/test-service';

const NOT_FOUND = { latency_ms: null, detail: 'Proxy not found' };

describe('POST /proxies/ping', () => {
  const silent = forAllTests(openSilentPort);
  // Only the end of the response or of the connection ends an attempt.
  const service = forAllTests(() => startTestService({ tuning: { pingTimeoutMs: 60_000 } }));

  const ping = (user: TestUser, body: object, signal?: AbortSignal) =>
    user.api.POST('/proxies/ping', { body, ...(signal && { signal }) });

  const openPort = (): string => new URL(service.baseUrl).port;

  it('returns before its attempts end if no proxy responds, and says which were not tried', async () => {
    const user = await service.createUser();
    await insertProxies(service.dataSource, user.id, 1000, { port: String(silent.port) });
    const { data } = await ping(user, { filter: {} });
    const reported = (data?.proxies ?? []).map(({ latency_ms: latency, detail }) => `${latency} ${detail}`);
    // Some of those that were cut off had begun, which says nothing about them.
    expect(reported.filter((text) => text === 'null Not tried in time')).toHaveLength(1000);
  }, 60_000);

  it('returns each proxy in the requested order, once', async () => {
    const user = await service.createUser();
    const [reachable, refusing, unknown] = [
      ...(await insertProxies(service.dataSource, user.id, 1, { port: openPort() })),
      ...(await insertProxies(service.dataSource, user.id, 1, { port: '1' })),
      ...(await insertProxies(service.dataSource, user.id, 1, { host: 'no-such-host.invalid' })),
    ].map(String);
    const [foreign] = await insertProxies(service.dataSource, (await service.createUser()).id, 1);
    const { data, response } = await ping(user, {
      proxy_ids: [
        refusing,
        String(foreign),
        'abc',
        '0',
        reachable,
        unknown,
        refusing,
        '99999999999999999999',
      ],
    });
    expect(response.status).toBe(200);
    expect(data?.proxies).toEqual([
      { proxy_id: refusing, latency_ms: null, detail: null },
      { proxy_id: String(foreign), ...NOT_FOUND },
      { proxy_id: 'abc', ...NOT_FOUND },
      { proxy_id: '0', ...NOT_FOUND },
      { proxy_id: reachable, latency_ms: expect.any(Number), detail: null },
      { proxy_id: unknown, latency_ms: null, detail: 'The service could not connect' },
      { proxy_id: '99999999999999999999', ...NOT_FOUND },
    ]);
  });

  it('returns a thousand proxies that a filter matches, in the order of ids', async () => {
    const user = await service.createUser();
    await insertProxies(service.dataSource, user.id, 3, { proxyType: 'socks', port: openPort() });
    const ids = await insertProxies(service.dataSource, user.id, 1000, { port: openPort() });
    const { data } = await ping(user, { filter: { proxy_type: 'http' } });
    expect(data?.proxies.map(({ proxy_id: id }) => id)).toEqual(ids.map(String));
    expect(data?.proxies.filter(({ latency_ms: latency }) => latency === null)).toEqual([]);
  });

  it('refuses more than a thousand, and says how many match', async () => {
    const user = await service.createUser();
    const ids = await insertProxies(service.dataSource, user.id, 1001);
    const byFilter = await ping(user, { filter: {} });
    expect(byFilter.response.status).toBe(400);
    expect(byFilter.error).toMatchObject({
      detail: 'The filter matches 1001 proxies, but a request can include at most 1000',
    });
    const byIds = await ping(user, { proxy_ids: ids.map(String) });
    expect(byIds.response.status).toBe(422);
    expect(byIds.error).toMatchObject({ detail: [{ type: 'too_long', ctx: { actual_length: 1001 } }] });
  });

  it.each([
    ['nothing', {}, 'missing', ['body', 'proxy_ids']],
    ['ids and a filter', { proxy_ids: ['1'], filter: {} }, 'value_error', ['body', 'filter']],
    ['no ids', { proxy_ids: [] }, 'too_short', ['body', 'proxy_ids']],
    ['an id that is a number', { proxy_ids: [1] }, 'string_type', ['body', 'proxy_ids', 0]],
    ['an unknown field', { proxy_ids: ['1'], ids: ['2'] }, 'extra_forbidden', ['body', 'ids']],
    ['an unknown filter', { filter: { tags: 'a' } }, 'extra_forbidden', ['body', 'filter', 'tags']],
    ['a wrong filter', { filter: { active: 'yes' } }, 'bool_type', ['body', 'filter', 'active']],
  ])('refuses %s', async (_, body, type, loc) => {
    const { error, response } = await ping(await service.createUser(), body);
    expect(response.status).toBe(422);
    expect(error).toMatchObject({ detail: [{ type, loc }] });
  });

  it('needs the scope proxies:read', async () => {
    const user = await service.createUser({ scopes: ['proxies:write', 'proxies:export'] });
    const { response } = await ping(user, { filter: {} });
    expect(response.status).toBe(403);
  });

  it('stops when the caller hangs up, and makes room for others', async () => {
    const user = await service.createUser();
    await insertProxies(service.dataSource, user.id, 1000, { port: String(silent.port) });
    const sockets = (): number =>
      process.getActiveResourcesInfo().filter((name) => /^TCP(Socket|Connect)Wrap$/.test(name)).length;
    const before = sockets();
    const caller = new AbortController();
    const hungUp = ping(user, { filter: {} }, caller.signal).catch(() => 'hung up');
    await eventually(async () => sockets() >= before + 400);
    caller.abort();
    expect(await hungUp).toBe('hung up');
    await eventually(async () => sockets() < before + 50);
    const other = await service.createUser();
    const ids = await insertProxies(service.dataSource, other.id, 500, { port: openPort() });
    const { data } = await ping(other, { proxy_ids: ids.map(String) });
    expect(data?.proxies.filter(({ latency_ms: latency }) => latency === null)).toEqual([]);
  });
});
