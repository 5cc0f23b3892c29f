import { createHmac } from 'node:crypto';
import { connect } from 'node:net';
import { sign } from '@telegram-apps/init-data-node';
import type { ApiToken } from '../src/auth';
import { AppConfig } from '../src/config';
import { RequestLimits } from '../src/http';
import type * as users from '../src/staff/users/staff-users.dto';
import { UsersService } from '../src/users';
import { SignInService } from '../src/users/sign-in/sign-in.service';
import { createApiClient } from './support/api-client';
import { eventually } from './support/built-service';
import { readDescription } from './support/description';
import { forAllTests } from './support/fixtures';
import { captureLog } from './support/log-capture';
import { exchangeRaw, type RawResponse, sendRaw } from './support/raw-http';
import { startReplica } from './support/replica';
import { createStaff } from './support/staff';
import { startTestService } from './support/test-service';

const BOT_TOKEN = '123456789:AAExampleExampleExampleExampleExample';
const OTHER_BOT = '987654321:AAOtherOtherOtherOtherOtherOtherOther';
const MAX_AGE_SECONDS = 600;
const TOKEN_MINUTES = 30;
const SCOPES = ['profile:read', 'proxies:read'];
const FAILURE_LIMIT = 20;
let lastTgId = 5_000_000_000;

// The service accepts sign-ins, and the clock advances.
const log = forAllTests(captureLog);
const service = forAllTests(() =>
  startTestService({
    environment: {
      LOG_LEVEL: 'debug',
      TRUSTED_PROXIES: '127.0.0.1',
      ADDRESS_FAILURES_PER_MINUTE: String(FAILURE_LIMIT),
      TELEGRAM_BOT_TOKEN: BOT_TOKEN,
      TELEGRAM_SCOPES: SCOPES.join(', '),
    },
    tuning: { signInMaxAgeSeconds: MAX_AGE_SECONDS, signInTokenMinutes: TOKEN_MINUTES },
  }),
);
// Each test begins in a new minute of the rate limit.
beforeEach(() => service.clock.advanceSeconds(60 - (nowSeconds() % 60)));

interface Person {
  readonly tgId: number;
  readonly username?: string;
}

const nowSeconds = () => Math.floor(service.clock.now().getTime() / 1000);

const userField = ({ tgId, username }: Person) =>
  JSON.stringify({ id: tgId, first_name: 'Анна', ...(username !== undefined && { username }) });

/** As Telegram documents it: HMAC-SHA-256 of the sorted lines, keyed with a hash of the bot's token. */
function hashOf(fields: URLSearchParams, botToken: string): string {
  const lines = [...fields].map(([name, value]) => `${name}=${value}`).sort();
  const key = createHmac('sha256', 'WebAppData').update(botToken).digest();
  return createHmac('sha256', key).update(lines.join('\n')).digest('hex');
}

/** Telegram's data for the Mini App, signed without the library. */
function initData(
  fields: Record<string, string> | [name: string, value: string][],
  botToken = BOT_TOKEN,
): string {
  const signed = new URLSearchParams(fields);
  signed.append('hash', hashOf(signed, botToken));
  return signed.toString();
}

const signed = (user: string, botToken?: string): string =>
  initData({ user, auth_date: String(nowSeconds()) }, botToken);

const bodyOf = (fieldCount: number): string =>
  JSON.stringify(Object.fromEntries(Array.from({ length: fieldCount }, (_, n) => [n.toString(36), 1])));

const validFor = (person: Person, atSeconds = nowSeconds()) =>
  initData({ query_id: 'AAHdF6IQ', user: userField(person), auth_date: String(atSeconds) });

/** Different addresses, so that no test reaches another one's limit. */
let addresses = 0;
const anyAddress = () => `198.51.100.${(addresses += 1) % 250}`;

const post = (body: string | Buffer, from: string): Promise<RawResponse> =>
  sendRaw(service.baseUrl, {
    method: 'POST',
    path: '/auth/telegram',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': from },
    body,
  });
const signIn = (text: unknown, from = anyAddress()): Promise<RawResponse> =>
  post(JSON.stringify({ initData: text }), from);

async function createPerson(username?: string): Promise<Person & { id: number }> {
  lastTgId += 1;
  const { id } = await service.app.get(UsersService).create({ username: 'by staff', tgId: lastTgId });
  return { id, tgId: lastTgId, ...(username !== undefined && { username }) };
}

async function tokenOf(response: Promise<RawResponse>): Promise<{ id: number; token: string }> {
  const given = await response;
  expect([given.status, given.text]).toEqual([201, expect.any(String)]);
  return given.json() as { id: number; token: string };
}

const me = async (token: string) => (await createApiClient(service.baseUrl, token).GET('/me')).data;

const rowsOf = (userId: number) =>
  service.dataSource.query<Pick<ApiToken, 'id' | 'origin' | 'revokedAt'>[]>(
    'SELECT id, origin, revoked_at AS "revokedAt" FROM api_tokens WHERE user_id = $1 ORDER BY id',
    [userId],
  );

async function expectNothing(userId: number): Promise<void> {
  expect(await rowsOf(userId)).toEqual([]);
  const [user] = await service.dataSource.query<object[]>(
    'SELECT has_app, username FROM users WHERE id = $1',
    [userId],
  );
  expect(user).toEqual({ has_app: false, username: 'by staff' });
}

describe('A customer who opens the Mini App', () => {
  it('gets a token for some time with the scopes of the operator, and has the app from then on', async () => {
    const person = await createPerson('anna_new');
    const response = await signIn(validFor(person));
    expect(response.status).toBe(201);
    const { token, ...shown } = response.json() as { token: string; expires_at: string };
    expect(shown).toEqual({
      id: expect.any(Number),
      name: 'Telegram',
      scopes: SCOPES,
      state: 'active',
      is_current: false,
      created_at: expect.any(String),
      expires_at: expect.any(String),
      revoked_at: null,
      last_used_at: null,
      allowed_ips: null,
      daily_limit: null,
      issued_by: null,
    });
    expect(await me(token)).toMatchObject({ tg_id: person.tgId, username: 'anna_new', has_app: true });
    const api = createApiClient(service.baseUrl, token);
    expect((await api.GET('/countries', { params: { query: {} } })).response.status).toBe(403);
    const lastsMs = new Date(shown.expires_at).getTime() - service.clock.now().getTime();
    expect(Math.abs(lastsMs - TOKEN_MINUTES * 60_000)).toBeLessThan(10_000);
    service.clock.advanceSeconds(TOKEN_MINUTES * 60 + 1);
    expect((await api.GET('/me')).response.status).toBe(401);
  });

  it('is signed in by what the library signs, too', async () => {
    const user = { id: (await createPerson('anna')).tgId, first_name: 'Anna', username: 'anna' };
    const { token } = await tokenOf(
      signIn(sign({ user, query_id: 'AA', start_param: 'x' }, BOT_TOKEN, service.clock.now())),
    );
    expect(await me(token)).toMatchObject({ username: 'anna', has_app: true });
  });

  it('keeps their name when Telegram sends none, or an invalid one', async () => {
    const person = await createPerson();
    const { token } = await tokenOf(signIn(validFor(person)));
    expect(await me(token)).toMatchObject({ username: 'by staff', has_app: true });
    await tokenOf(signIn(signed(`{"id":${person.tgId},"username":"\\u0000"}`)));
    expect(await me(token)).toMatchObject({ username: 'by staff' });
    await tokenOf(signIn(validFor({ ...person, username: 'anna' })));
    await tokenOf(signIn(validFor(person)));
    expect(await me(token)).toMatchObject({ username: 'anna' });
  });

  it('has its own name next to the one that staff gave it, and staff are warned of equal names', async () => {
    const staff = await createStaff(service, ['staff:users']);
    const read = async (id: number) => (await staff.get<users.UserProfile>(`/staff/users/${id}`)).body;
    const known = await service.app
      .get(UsersService)
      .create({ username: 'Known_one', webUsername: 'k@e.net' });
    const wild = await service.app.get(UsersService).create({ username: 'Known%one' });
    const person = await createPerson('known_ONE');
    expect(await read(person.id)).toMatchObject({ telegram_username: null, same_name_as: [] });

    const { token } = await tokenOf(signIn(validFor(person)));
    expect(await me(token)).toMatchObject({ username: 'known_ONE', has_app: true });
    expect(await read(person.id)).toMatchObject({
      username: 'by staff',
      telegram_username: 'known_ONE',
      same_name_as: [`/staff/users/${known.id}`],
    });
    expect(await read(known.id)).toMatchObject({
      username: 'Known_one',
      telegram_username: null,
      same_name_as: [`/staff/users/${person.id}`],
    });
    expect(await read(wild.id)).toMatchObject({ same_name_as: [] });
    const { items } = (await staff.get<users.UsersPage>('/staff/users?query=nown_o')).body;
    expect(items.map((user) => [user.id, user.username, user.same_name_as.length])).toEqual([
      [person.id, 'by staff', 1],
      [known.id, 'Known_one', 1],
    ]);
    // No warning for a name that staff gave twice, as in all of these.
    await tokenOf(signIn(validFor(await createPerson('k'))));
    expect(await read(known.id)).toMatchObject({ same_name_as: [`/staff/users/${person.id}`] });
  });

  it('gets another token for the same data, until that is too old', async () => {
    const data = validFor(await createPerson());
    const first = await tokenOf(signIn(data));
    service.clock.advanceSeconds(MAX_AGE_SECONDS - 5);
    expect((await tokenOf(signIn(data))).token).not.toBe(first.token);
    expect(await me(first.token)).toBeDefined();
    service.clock.advanceSeconds(10);
    const late = await signIn(data);
    expect(late.status).toBe(401);
    expect(late.json()).toMatchObject({ detail: 'initData is too old: open the app again' });
  });

  it('has ten tokens at most, of which a new one ends the oldest, and ended ones do not gather', async () => {
    const person = await createPerson();
    const tokens = [];
    for (let n = 0; n < 12; n += 1) tokens.push(await tokenOf(signIn(validFor(person))));
    const responses = await Promise.all(tokens.map(({ token }) => me(token)));
    expect(responses.map((response) => response !== undefined)).toEqual([
      ...Array.from({ length: 2 }, () => false),
      ...Array.from({ length: 10 }, () => true),
    ]);
    service.clock.advanceSeconds(TOKEN_MINUTES * 60 + 1);
    const last = await tokenOf(signIn(validFor(person)));
    expect(await rowsOf(person.id)).toEqual([{ id: last.id, origin: 'sign-in', revokedAt: null }]);
    await service.audit();
  });

  it('has ten tokens at most also when many sign-ins come at once', async () => {
    const person = await createPerson();
    const tokens = await Promise.all(Array.from({ length: 15 }, () => tokenOf(signIn(validFor(person)))));
    const working = await Promise.all(tokens.map(({ token }) => me(token)));
    expect(working.filter((response) => response !== undefined)).toHaveLength(10);
  });

  it('keeps the tokens by which orders were placed', async () => {
    const person = await createPerson();
    const { id } = await tokenOf(signIn(validFor(person)));
    const buyer = await service.createUser();
    await buyer.buy();
    await service.owner.query('UPDATE orders SET token_id = $1 WHERE user_id = $2', [id, buyer.id]);
    service.clock.advanceSeconds(TOKEN_MINUTES * 60 + 1);
    await tokenOf(signIn(validFor(person)));
    expect((await rowsOf(person.id)).map((row) => row.id)).toContain(id);
  });
});

describe('A person who is no customer, or has no valid data,', () => {
  const refusals: [what: string, make: (person: Person) => string][] = [
    ['of another bot', (person) => signed(userField(person), OTHER_BOT)],
    ['with a wrong hash', (person) => validFor(person).replace(/hash=\w/, 'hash=g')],
    ['without a hash', (person) => validFor(person).replace(/&hash=.*/, '')],
    [
      'with another user',
      (person) => validFor({ ...person, tgId: 1 }).replace(/%22id%22%3A1/, `%22id%22%3A${person.tgId}`),
    ],
    ['from the future', (person) => validFor(person, nowSeconds() + 120)],
    ['without a time', (person) => initData({ user: userField(person) })],
    [
      'with a time that is none',
      (person) => initData({ user: userField(person), auth_date: `${nowSeconds()}x` }),
    ],
    ['without a user', () => initData({ query_id: 'AA', auth_date: `${nowSeconds()}` })],
    ['with a user that is no JSON', () => signed('anna')],
    ['with a user that is a list', () => signed('[1]')],
    ['with an id as text', (person) => signed(`{"id":"${person.tgId}"}`)],
    ['with an id beyond all numbers', () => signed('{"id":1e300}')],
    [
      'with two users, both signed',
      (person) =>
        initData([
          ['user', userField({ tgId: 1 })],
          ['user', userField(person)],
          ['auth_date', `${nowSeconds()}`],
        ]),
    ],
    ['with two hashes', (person) => `${validFor(person)}&hash=${'0'.repeat(64)}`],
    ['with two hashes, the valid one last', (person) => `hash=${'0'.repeat(64)}&${validFor(person)}`],
    [
      'with a field that hides another in a second line',
      (person) => initData({ chat: `x\nuser=${userField(person)}`, auth_date: `${nowSeconds()}` }),
    ],
    [
      'with a name that hides a value',
      (person) => {
        const { user = '', ...others } = Object.fromEntries(new URLSearchParams(validFor(person)));
        return new URLSearchParams({
          ...others,
          user: userField({ tgId: 1 }),
          [`user=${user}`]: '',
        }).toString();
      },
    ],
    ['that is not URL-encoded', (person) => JSON.stringify({ user: person })],
    ['that is no text of fields', () => '%zz&&&==='],
  ];

  it.each(refusals)('gets no token by data %s', async (_, make) => {
    const person = await createPerson();
    const response = await signIn(make(person));
    expect([response.status, response.json()]).toMatchObject([401, { detail: 'initData is not valid' }]);
    expect(response.headers['www-authenticate']).toBe('Bearer');
    await expectNothing(person.id);
  });

  it('gets no token by data that is too long, empty or no text', async () => {
    for (const text of ['x'.repeat(8193), '', 7, null, ['a'], undefined]) {
      expect((await signIn(text)).status).toBe(422);
    }
    expect((await signIn('x'.repeat(200_000))).status).toBe(413);
  });

  it('learns that there is no account, and gets none', async () => {
    const response = await signIn(validFor({ tgId: 77, username: 'stranger' }));
    expect([response.status, response.json()]).toMatchObject([
      403,
      { detail: 'This Telegram user has no account' },
    ]);
    expect(await service.dataSource.query<object[]>('SELECT FROM users WHERE tg_id = 77')).toEqual([]);
  });

  it('learns that they are blocked, and nothing of them changes', async () => {
    const person = await createPerson('anna');
    await service.dataSource.transaction((manager) =>
      service.app.get(UsersService).setBlocked(person.id, 'Ticket 1', manager),
    );
    const response = await signIn(validFor(person));
    expect([response.status, response.json()]).toMatchObject([403, { detail: 'User is blocked' }]);
    await expectNothing(person.id);
  });

  it('is refused with 429 after 20 sign-ins of a Telegram user in a minute', async () => {
    const person = await createPerson();
    for (let n = 0; n < 20; n += 1) await tokenOf(signIn(validFor(person)));
    const refused = await signIn(validFor(person));
    expect([refused.status, refused.headers['ratelimit-policy']]).toEqual([429, '"sign-in";q=20;w=60']);
    expect((await signIn(validFor(await createPerson()))).status).toBe(201);
    service.clock.advanceSeconds(60);
    expect((await signIn(validFor(person))).status).toBe(201);
  });

  it('is refused with 429 by address once too many sign-ins failed, without a look at the data', async () => {
    const person = await createPerson();
    const address = '203.0.113.99';
    for (let n = 0; n < FAILURE_LIMIT; n += 1) {
      expect((await signIn('hash=1', address)).status).toBe(401);
    }
    const refused = await signIn(validFor(person), address);
    expect(refused.status).toBe(429);
    expect(refused.headers['ratelimit-policy']).toBe(`"address";q=${FAILURE_LIMIT};w=60`);
    expect((await signIn(validFor(person), '203.0.113.100')).status).toBe(201);
  });

  it.each([
    ['a body that is no JSON', 422, '{'],
    ['a body that is not UTF-8', 400, Buffer.from([0x22, 0xff, 0x22])],
    ['a body of unknown fields', 422, bodyOf(1000)],
    ['a body that is larger than any initData', 413, bodyOf(11_000)],
  ])(
    'is refused with 429 by address after %s was sent too often, before it is read',
    async (_, status, body) => {
      const from = anyAddress();
      for (let n = 0; n < FAILURE_LIMIT; n += 1) {
        const refused = await post(body, from);
        expect(refused.status).toBe(status);
        expect(refused.text.length).toBeLessThan(10_000);
      }
      // The body never arrives.
      const head = `POST /auth/telegram HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${from}\r\n`;
      const response = await exchangeRaw(
        service.baseUrl,
        `${head}Connection: close\r\nContent-Length: 500\r\n\r\n{`,
      );
      expect(response).toMatch(/^HTTP\/1.1 429 /);
      expect((await signIn(validFor(await createPerson()), anyAddress())).status).toBe(201);
    },
  );

  it('has requests counted that they aborted, too', async () => {
    const from = anyAddress();
    const { hostname, port } = new URL(service.baseUrl);
    const head = `POST /auth/telegram HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${from}\r\n`;
    for (let n = 0; n < FAILURE_LIMIT; n += 1) {
      const socket = connect(Number(port), hostname);
      await new Promise((resolve) => socket.write(`${head}Content-Length: 500\r\n\r\n{`, resolve));
      socket.destroy();
    }
    await eventually(() => service.app.get(RequestLimits).refusalOf(from));
  });
});

describe('Signing in', () => {
  it('does not let a service start with scopes that no customer has', async () => {
    const words = "TELEGRAM_SCOPES must be customers' scopes, e.g. profile:read";
    const others = Array.from({ length: SignInService.length - 1 }, () => undefined);
    const withoutPayments =
      'TELEGRAM_SCOPES must not contain deposits:read: the service does not accept payments';
    for (const [scope, refusal] of [
      ['profile:write', words],
      ['deposits:read', withoutPayments],
    ] as const) {
      const telegram = { scopes: ['profile:read', scope] };
      const config: unknown = Object.assign({}, service.app.get(AppConfig), { telegram });
      expect(() => Reflect.construct(SignInService, [...others, config])).toThrow(refusal);
    }
    await expect(startReplica(service, { telegram: { scopes: ['staff:users'] } })).rejects.toThrow(words);
  });

  it('is in the log by the ids of token and user alone', async () => {
    const person = await createPerson();
    const data = validFor(person);
    const { id, token } = await tokenOf(signIn(data));
    await signIn(`${data}&x=1`);
    const text = log.lines.join('');
    const line = log.lines.findLast((one) => one.includes(`"userId":"${person.id}"`));
    expect(line).toContain(`"path":"/auth/telegram"`);
    expect(line).toContain(`"tokenId":${id}`);
    for (const secret of [/hash=(\w+)/.exec(data)?.[1] ?? '', token, token.slice(4), BOT_TOKEN, 'AAHdF6IQ']) {
      expect(text).not.toContain(secret);
    }
  });

  it('has an example in the description that its bot signed', async () => {
    const description = await readDescription(`${service.baseUrl}/openapi.json`);
    const operation = description.paths['/auth/telegram']?.['post'];
    expect(operation?.security).toEqual([]);
    const example = /"initData":"([^"]*)"/.exec(JSON.stringify(operation?.requestBody))?.[1] ?? '';
    const person = { id: 0, tgId: 123456789 };
    await service.app.get(UsersService).create({ username: 'x', tgId: person.tgId });
    const response = await signIn(example);
    // The signature is valid, but the time is past or future.
    const { clock } = service;
    const agoSeconds = nowSeconds() - 1795348800;
    clock.advanceSeconds(-agoSeconds);
    expect((await signIn(example)).status).toBe(201);
    clock.advanceSeconds(agoSeconds);
    expect(response.status).toBe(401);
  });
});
