import { randomUUID } from 'node:crypto';
import { TokensService } from '../src/auth';
import { generateToken } from '../src/auth/token-text';
import { RequestLimits } from '../src/http';
import { eventually } from './support/built-service';
import { forAllTests, forEachTest } from './support/fixtures';
import { type RawResponse, sendRaw } from './support/raw-http';
import { withReplica } from './support/replica';
import { lockRow, untilWaiting } from './support/table-lock';
import { startTestService, type TestUser } from './support/test-service';

const TOKEN_LIMIT = 6;
const USER_LIMIT = 9;
const FAILURE_LIMIT = 4;
const SHARE_INTERVAL_MS = 20;
const STRANGERS_TOKEN = generateToken();

// The limits are small, and the clock advances.
const service = forAllTests(() =>
  startTestService({
    environment: {
      TOKEN_REQUESTS_PER_MINUTE: String(TOKEN_LIMIT),
      USER_REQUESTS_PER_MINUTE: String(USER_LIMIT),
      ADDRESS_FAILURES_PER_MINUTE: String(FAILURE_LIMIT),
      TRUSTED_PROXIES: '127.0.0.1',
    },
    jobIntervalsMs: { 'request-counts': SHARE_INTERVAL_MS },
  }),
);
const user = forEachTest(() => service.createUser());
beforeEach(() => {
  // Each test begins at the start of its own minute.
  const intoMinute = (service.clock.now().getTime() / 1000) % 60;
  service.clock.advanceSeconds(121 - intoMinute);
});

const request = (
  token: string | undefined,
  options: { baseUrl?: string; path?: string; from?: string } = {},
) =>
  sendRaw(options.baseUrl ?? service.baseUrl, {
    path: options.path ?? '/me',
    ...(token !== undefined && { token }),
    headers: options.from === undefined ? {} : { 'X-Forwarded-For': options.from },
  });

const requestTimes = async (count: number, token: string | undefined, from?: string): Promise<number[]> => {
  const statuses: number[] = [];
  for (let n = 0; n < count; n += 1) {
    statuses.push((await request(token, from === undefined ? {} : { from })).status);
  }
  return statuses;
};

const post = ({ token }: TestUser, path: string, body: object, key?: string): Promise<RawResponse> =>
  sendRaw(service.baseUrl, {
    method: 'POST',
    path,
    token,
    headers: { 'Content-Type': 'application/json', ...(key !== undefined && { 'Idempotency-Key': key }) },
    body: JSON.stringify(body),
  });

const buy = (of: TestUser, key?: string, version = '6'): Promise<RawResponse> =>
  post(of, '/proxies/buy', { country: 'ru', period: 30, version }, key);

const times = (count: number, status: number): number[] => Array<number>(count).fill(status);

describe('A token', () => {
  it('is refused above its limit until the next minute, with the time and the limits', async () => {
    expect(await requestTimes(TOKEN_LIMIT, user.token)).toEqual(times(TOKEN_LIMIT, 200));
    const refused = await request(user.token);
    expect([refused.status, refused.json()]).toEqual([429, { detail: 'Too many requests' }]);
    const seconds = Number(refused.headers['retry-after']);
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(60);
    expect(refused.headers).toMatchObject({
      'ratelimit-policy': `"token";q=${TOKEN_LIMIT};w=60, "user";q=${USER_LIMIT};w=60`,
      ratelimit: `"token";r=0;t=${seconds}, "user";r=${USER_LIMIT - TOKEN_LIMIT};t=${seconds}`,
    });
    expect((await request(user.token, { path: '/nowhere' })).status).toBe(404);
    service.clock.advanceSeconds(seconds);
    expect((await request(user.token)).status).toBe(200);
  });

  it('sees what is left once that is less than half', async () => {
    expect((await request(user.token)).headers).not.toHaveProperty('ratelimit');
    await requestTimes(3, user.token);
    expect((await request(user.token)).headers['ratelimit']).toMatch(/^"token";r=1;t=\d+, "user";r=4;t=\d+$/);
  });

  it('is refused before its scopes are looked at, on any path', async () => {
    const reader = await service.createUser({ scopes: ['profile:read'] });
    expect((await request(reader.token, { path: '/proxies' })).status).toBe(403);
    await requestTimes(TOKEN_LIMIT - 1, reader.token);
    for (const path of ['/proxies', '/staff/users', '/price']) {
      expect((await request(reader.token, { path })).status).toBe(429);
    }
  });

  it('shares a limit with the other tokens of its user, and none with other users', async () => {
    const other = await service.createUser();
    const { text } = await service.app
      .get(TokensService)
      .issue({ userId: user.id, scopes: ['profile:read'] });
    expect(await requestTimes(TOKEN_LIMIT, user.token)).toEqual(times(TOKEN_LIMIT, 200));
    const left = USER_LIMIT - TOKEN_LIMIT;
    expect(await requestTimes(left + 1, text)).toEqual([...times(left, 200), 429]);
    expect((await request(other.token)).status).toBe(200);
  });

  it('has one limit on all replicas', async () => {
    await withReplica(service, {}, async (replica) => {
      for (let n = 0; n < TOKEN_LIMIT - 1; n += 1) await request(user.token);
      await eventually(async () => {
        const [row] = await service.dataSource.query<{ total: number }[]>(
          `SELECT total FROM request_counts WHERE name = 'user' AND key = $1`,
          [String(user.id)],
        );
        return row?.total === TOKEN_LIMIT - 1;
      });
      // The other replica learns of the limit with the first request that it counts itself.
      expect((await request(user.token, { baseUrl: replica.baseUrl })).status).toBe(200);
      await eventually(async () => (await request(user.token, { baseUrl: replica.baseUrl })).status === 429);
    });
  });
});

describe('The replay of an earlier order', () => {
  it('is not counted', async () => {
    const key = randomUUID();
    expect((await buy(user, key)).status).toBe(200);
    for (let n = 0; n < 2 * TOKEN_LIMIT; n += 1) {
      expect(await buy(user, key)).toMatchObject({
        status: 200,
        headers: { 'idempotency-replayed': 'true' },
      });
    }
    expect(await requestTimes(TOKEN_LIMIT, user.token)).toEqual([...times(TOKEN_LIMIT - 1, 200), 429]);
  });

  it('is served above the limit, while new orders are refused and charge nothing', async () => {
    const key = randomUUID();
    const first = await buy(user, key);
    await requestTimes(TOKEN_LIMIT, user.token);
    expect(await buy(user, key)).toMatchObject({ status: 200, text: first.text });
    const { available } = await service.balanceOf(user);
    expect((await buy(user)).status).toBe(429);
    const refused = await buy(user, randomUUID());
    expect(refused.status).toBe(429);
    expect(refused.headers).toHaveProperty('retry-after');
    expect(await service.balanceOf(user)).toMatchObject({ available });
    expect((await request(user.token, { path: '/me' })).status).toBe(429);
  });

  it('of a bulk is served above the limit, unless there is something left to retry', async () => {
    const bought = [await buy(user), await buy(user, undefined, '4')];
    const [six, four] = bought.map(
      ({ text }) => (JSON.parse(text) as { proxies: { id: string }[] }).proxies[0]?.id,
    );
    const prolong = (ids: unknown[], key: string) =>
      post(user, '/proxies/prolong', { proxy_ids: ids, period: 3 }, key);
    const whole = await prolong([six], 'whole');
    expect((await prolong([six, four], 'part')).text).toContain(
      '"prolonged":1,"being_confirmed":0,"refused":1',
    );
    await requestTimes(TOKEN_LIMIT, user.token);
    expect(await prolong([six], 'whole')).toMatchObject({ status: 200, text: whole.text });
    for (const key of ['part', 'new']) expect((await prolong([six, four], key)).status).toBe(429);
  });
});

describe('An address', () => {
  it('is refused after too many requests without a valid token, until the next minute', async () => {
    const from = '203.0.113.7';
    expect(await requestTimes(2, undefined, from)).toEqual([401, 401]);
    expect(await requestTimes(2, STRANGERS_TOKEN, from)).toEqual([401, 401]);
    const refused = await request(undefined, { from });
    expect(refused.status).toBe(429);
    expect(refused.headers).toMatchObject({
      'retry-after': expect.stringMatching(/^\d+$/),
      'ratelimit-policy': `"address";q=${FAILURE_LIMIT};w=60`,
    });
    expect(await requestTimes(1, STRANGERS_TOKEN, from)).toEqual([429]);
    expect(await requestTimes(1, undefined, '203.0.113.8')).toEqual([401]);
    service.clock.advanceSeconds(60);
    expect(await requestTimes(1, undefined, from)).toEqual([401]);
  });

  it('blocks no user whose token was valid', async () => {
    const from = '203.0.113.9';
    expect(await requestTimes(1, user.token, from)).toEqual([200]);
    await requestTimes(FAILURE_LIMIT, undefined, from);
    expect(await requestTimes(2, user.token, from)).toEqual([200, 200]);
    await service.dataSource.query('UPDATE api_tokens SET revoked_at = now() WHERE user_id = $1', [user.id]);
    expect(await requestTimes(2, user.token, from)).toEqual([401, 429]);
  });

  it('of IPv6 counts with its /64', async () => {
    const network = '2001:db8:7:1';
    const addresses = Array.from({ length: FAILURE_LIMIT }, (_, n) => `${network}::${n + 1}`);
    for (const from of addresses) expect(await requestTimes(1, undefined, from)).toEqual([401]);
    expect(await requestTimes(1, undefined, `${network}:a:b:c:d`)).toEqual([429]);
    expect(await requestTimes(1, undefined, '2001:db8:7:2::1')).toEqual([401]);
  });

  it('of IPv6 counts with its /48 too, which has four times the limit', async () => {
    const network = (n: number): string => `2001:db8:8:${n}::1`;
    for (let n = 0; n < 4 * FAILURE_LIMIT; n += 1) {
      expect(await requestTimes(1, undefined, network(n))).toEqual([401]);
    }
    expect(await requestTimes(1, undefined, network(99))).toEqual([429]);
    expect(await requestTimes(1, undefined, '2001:db8:9::1')).toEqual([401]);
  });

  it('has as many pages, which its failures do not count for', async () => {
    const from = '203.0.113.11';
    const get = async (path: string): Promise<number> => (await request(undefined, { path, from })).status;
    const pages = ['/openapi.json', '/docs/', '/staff/openapi-3.0.yaml', '/docs/swagger-ui.css'];
    for (const page of pages) expect([page, await get(page)]).toEqual([page, 200]);
    for (const page of pages) expect([page, await get(page)]).toEqual([page, 429]);
    expect(await get('/me')).toBe(401);
  });
});

it('Health is not counted, and responds to clients over their limit', async () => {
  const from = '203.0.113.10';
  await requestTimes(FAILURE_LIMIT + 1, undefined, from);
  for (const path of ['/health', '/health/ready', '/health/live', '/']) {
    for (let n = 0; n < 2 * TOKEN_LIMIT; n += 1) {
      expect((await request(undefined, { path, from })).status).toBe(200);
    }
  }
});

it('A limit of 0 is none', async () => {
  const limits = { tokenRequestsPerMinute: 0, userRequestsPerMinute: 0, addressFailuresPerMinute: 0 };
  await withReplica(service, { limits }, async (free) => {
    for (let n = 0; n < 3 * USER_LIMIT; n += 1) {
      const response = await request(user.token, { baseUrl: free.baseUrl });
      expect(response.status).toBe(200);
      expect(response.headers).not.toHaveProperty('ratelimit');
      expect((await request(undefined, { baseUrl: free.baseUrl })).status).toBe(401);
    }
  });
});

it('A connection closed at a limit is reported to a caller while the replica shares its count', async () => {
  const limits = service.app.get(RequestLimits);
  await limits.share();
  const lock = await lockRow(service.owner, 'LOCK TABLE request_counts IN SHARE MODE');
  limits.countFull('of-any');
  await untilWaiting(service.owner, 'INTO request_counts');
  const closed = limits.closedConnections();
  // A response that takes several statements.
  await request(user.token);
  await lock.release();
  expect(await closed).toEqual(new Set(['of-any']));
});
