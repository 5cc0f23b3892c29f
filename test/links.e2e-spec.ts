import { ALL_SCOPES, TokensService } from '../src/auth';
import { generateSecret } from '../src/auth/token-text';
import { FORMAT_NAMES } from '../src/proxies';
import { eventually } from './support/built-service';
import { forAllTests, forEachTest } from './support/fixtures';
import { readPages } from './support/pages';
import { insertProxies, type ProxyRow } from './support/proxy-rows';
import { type RawRequest, type RawResponse, sendRaw } from './support/raw-http';
import { startReplica, withReplica } from './support/replica';
import { statementsDuring } from './support/statement-plans';
import { startTestService, type TestUser } from './support/test-service';

const MOST_LINKS = 10;
const LINK_LIMIT = 8;
const FAILURE_LIMIT = 6;
const HOME = '203.0.113.7';

// The limits are small, and the clock advances.
const service = forAllTests(() =>
  startTestService({
    environment: {
      TRUSTED_PROXIES: '127.0.0.1',
      MAX_LINKS_PER_USER: String(MOST_LINKS),
      ADDRESS_FAILURES_PER_MINUTE: String(FAILURE_LIMIT),
    },
    tuning: { linkRequestsPerMinute: LINK_LIMIT },
    jobIntervalsMs: { 'request-counts': 20, 'link-uses': 20 },
  }),
);
const replica = forAllTests(() =>
  startReplica(service, { server: { publicUrl: 'https://proxies.example.com' } }),
);
const user = forEachTest(() => service.createUser());
beforeEach(() => {
  // Each test begins at the start of its own minute.
  const intoMinute = (service.clock.now().getTime() / 1000) % 60;
  service.clock.advanceSeconds(121 - intoMinute);
});

interface Link {
  readonly id: number;
  readonly url: string;
  readonly [field: string]: unknown;
}

const send = (
  token: string,
  method: string,
  path: string,
  body?: object,
  { baseUrl = service.baseUrl, headers = {} }: { baseUrl?: string; headers?: object } = {},
): Promise<RawResponse> =>
  sendRaw(baseUrl, {
    method,
    path,
    token,
    headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });

async function createLink(settings: object = {}, token = user.token): Promise<Link> {
  const response = await send(token, 'POST', '/links', settings);
  expect([response.status, response.text]).toEqual([201, expect.any(String)]);
  return response.json() as Link;
}

const fetchLink = (
  { url }: Pick<Link, 'url'>,
  { from, headers, ...request }: Partial<RawRequest> & { from?: string; baseUrl?: string } = {},
): Promise<RawResponse> =>
  sendRaw(request.baseUrl ?? service.baseUrl, {
    path: url,
    ...request,
    headers: { ...(from !== undefined && { 'X-Forwarded-For': from }), ...headers },
  });

const insert = (count: number, row?: ProxyRow, of: TestUser = user) =>
  insertProxies(service.dataSource, of.id, count, row);

const issue = (token: { expiresAt?: Date; allowedIps?: string[] } = {}) =>
  service.app.get(TokensService).issue({ userId: user.id, scopes: ALL_SCOPES, ...token });

async function expectNothing(response: RawResponse): Promise<void> {
  const unknown = await fetchLink({ url: `/l/${generateSecret('link')}` }, { from: '198.51.100.1' });
  const withoutIds = ({ status, text, headers }: RawResponse) => {
    const { 'x-request-id': _, date: __, ...others } = headers;
    return { status, text, headers: others };
  };
  expect(response.status).toBe(404);
  expect(response.json()).toMatchObject({ detail: 'Link not found' });
  expect(response.headers['cache-control']).toBe('no-store');
  expect(withoutIds(response)).toEqual(withoutIds(unknown));
}

describe('A link', () => {
  it('gives the export as it is at each fetch, to anyone who has its secret', async () => {
    await insert(2, { proxyType: 'socks' });
    await insert(1);
    const link = await createLink({ format: 'txt', filter: { proxy_type: 'socks' } });
    expect(link.url).toMatch(/^\/l\/prl_[0-9A-Za-z]{49}$/);
    const response = await fetchLink(link);
    expect(response.status).toBe(200);
    expect(response.text).toBe('127.0.0.1:8080:login1:password1\n127.0.0.1:8080:login2:password2\n');
    expect(response.headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'content-disposition': 'attachment; filename="proxies.txt"',
      'cache-control': 'private, no-cache',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex, nofollow',
      'x-content-type-options': 'nosniff',
    });
    await insert(1, { proxyType: 'socks', login: 'new' });
    expect((await fetchLink(link)).text).toBe(`${response.text}127.0.0.1:8080:new:password1\n`);
  });

  it('gives what the export gives, in every format', async () => {
    await insert(3);
    for (const format of FORMAT_NAMES) {
      const link = await createLink({ format });
      const exported = await send(user.token, 'GET', `/proxies/lists/${format}`);
      const response = await fetchLink(link);
      expect([format, response]).toMatchObject([format, { status: 200, text: exported.text }]);
      for (const header of ['content-type', 'content-disposition', 'content-length']) {
        expect([format, header, response.headers[header]]).toEqual([
          format,
          header,
          exported.headers[header],
        ]);
      }
      await send(user.token, 'DELETE', `/links/${link.id}`);
    }
  });

  it('gives what a template makes, and the proxies that its filter names', async () => {
    // Other tests may have advanced the clock.
    const ahead = Math.round((service.clock.now().getTime() - Date.now()) / 1000);
    const [first] = await insert(2, { endsInSeconds: ahead + 3600 });
    await insert(1, { login: 'later', endsInSeconds: ahead + 7200 });
    const template = '{login}@{host}';
    expect((await fetchLink(await createLink({ template }))).text).toBe(
      'login1@127.0.0.1\nlogin2@127.0.0.1\nlater@127.0.0.1\n',
    );
    const link = await createLink({ template: '{scheme}' });
    await service.dataSource.query(`UPDATE proxies SET proxy_type = 'socks' WHERE id = $1`, [first]);
    for (const [socks, scheme] of [
      ['', 'socks5h'],
      ['?socks=socks5', 'socks5'],
    ]) {
      expect((await fetchLink({ ...link, url: `${link.url}${socks}` })).text).toBe(`${scheme}\nhttp\nhttp\n`);
    }
    await service.dataSource.query(`UPDATE proxies SET proxy_type = 'http' WHERE id = $1`, [first]);
    const before = new Date(service.clock.now().getTime() + 5000 * 1000).toISOString();
    const [{ orderId } = { orderId: 0 }] = await service.dataSource.query<{ orderId: number }[]>(
      'SELECT order_id AS "orderId" FROM proxies WHERE id = $1',
      [first],
    );
    await service.dataSource.query(`UPDATE proxies SET tags = '{team-a}' WHERE id = $1`, [first]);
    for (const [filter, logins] of [
      [{ country: 'RU', version: '6', active: true }, ['login1', 'login2', 'later']],
      [{ country: 'us' }, []],
      [{ active: false }, []],
      [{ order_id: orderId }, ['login1', 'login2']],
      [{ order_id: orderId, tag: 'Team-A' }, ['login1']],
      [{ ends_before: before }, ['login1', 'login2']],
    ] as const) {
      const { text } = await fetchLink(await createLink({ template: '{login}', filter }));
      expect([filter, text.split('\n').slice(0, -1)]).toEqual([filter, logins]);
    }
  });

  it('is shown with all that it was made with, and never again with its secret', async () => {
    const [token] = await service.dataSource.query<{ id: number }[]>(
      'SELECT id FROM api_tokens WHERE user_id = $1',
      [user.id],
    );
    const settings = {
      format: 'clash',
      filter: { country: 'ru', active: true, ends_before: '2100-01-01T03:00:00+03:00' },
      networks: ['203.0.113.9/24', '2001:db8::1'],
      expires_at: '2100-01-01T03:00:00+03:00',
      name: 'Clash on the laptop',
    };
    const { url, ...shown } = await createLink(settings);
    expect(shown).toEqual({
      id: expect.any(Number),
      name: 'Clash on the laptop',
      format: 'clash',
      template: null,
      filter: { country: 'ru', active: true, ends_before: '2100-01-01T00:00:00.000Z' },
      networks: ['203.0.113.0/24', '2001:db8::1/128'],
      state: 'active',
      token_id: token?.id,
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      expires_at: '2100-01-01T00:00:00.000Z',
      last_used_at: null,
      uses: 0,
    });
    expect((await send(user.token, 'GET', '/links')).json()).toEqual({ items: [shown], next_cursor: null });
    expect((await send(user.token, 'GET', `/links/${shown.id}`)).json()).toEqual(shown);
    const [row] = await service.dataSource.query<{ text: string }[]>(
      'SELECT link::text AS text FROM export_links link WHERE id = $1',
      [shown.id],
    );
    expect(row?.text).toContain('clash');
    expect(row?.text).not.toContain(url.slice('/l/prl_'.length));
    expect(row?.text).not.toContain(Buffer.from(url.slice('/l/'.length)).toString('hex'));
  });

  it('is shown with PUBLIC_URL if that is set, and never with the Host of a request', async () => {
    const { url } = (await send(user.token, 'POST', '/links', {}, replica)).json() as Link;
    expect(url).toMatch(/^https:\/\/proxies\.example\.com\/l\/prl_/);
    expect((await fetchLink({ url: new URL(url).pathname })).status).toBe(200);
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example' };
    const elsewhere = await send(user.token, 'POST', '/links', {}, { headers });
    expect((elsewhere.json() as Link).url).toMatch(/^\/l\/prl_/);
  });

  it('is listed page by page, oldest first, to its user alone', async () => {
    const other = await service.createUser();
    const links: number[] = [];
    for (let n = 0; n < 5; n += 1) links.push((await createLink()).id);
    const foreign = await createLink({}, other.token);
    const read = await readPages<Link>(
      async (cursor) =>
        (await send(user.token, 'GET', `/links?limit=2${cursor}`)).json() as {
          items: Link[];
          next_cursor: number | null;
        },
    );
    expect(read.map(({ id }) => id)).toEqual(links);
    for (const method of ['GET', 'DELETE']) {
      for (const id of [foreign.id, 999_999_999, '9'.repeat(30)]) {
        const response = await send(user.token, method, `/links/${id}`);
        expect([method, id, response.status, response.json()]).toMatchObject([
          method,
          id,
          404,
          { detail: 'Link not found' },
        ]);
      }
    }
    expect((await fetchLink(foreign)).status).toBe(200);
  });

  it('is made of a template even if the client sends every default', async () => {
    await insert(1);
    const defaults = { filter: null, expires_at: null, networks: null, name: null };
    const link = await createLink({ format: 'json', template: '{login}', ...defaults });
    expect(link).toMatchObject({ format: null, template: '{login}', filter: {} });
    expect((await fetchLink(link)).text).toBe('login1\n');
    const formatted = await createLink({ format: 'txt', template: null, ...defaults });
    expect(formatted).toMatchObject({ format: 'txt', template: null });
  });

  it('is not made of a template and another format: the error names the template', async () => {
    const response = await send(user.token, 'POST', '/links', { format: 'txt', template: '{host}' });
    expect([response.status, response.json()]).toEqual([
      422,
      {
        detail: [
          {
            type: 'value_error',
            loc: ['body', 'template'],
            msg: 'Value error, send either format or template, not both',
            input: '{host}',
            ctx: { error: 'send either format or template, not both' },
          },
        ],
      },
    ]);
  });

  it('is not made with settings that are none', async () => {
    for (const [what, body, status] of [
      ['an unknown format', { format: 'exe' }, 422],
      ['a template that is none', { template: '{secret}' }, 422],
      ['an unknown field', { formats: 'txt' }, 422],
      ['an unknown field of the filter', { filter: { countries: 'ru' } }, 422],
      ['a network that is none', { networks: ['10.0.0.0/33'] }, 422],
      ['no networks at all', { networks: [] }, 422],
      ['a moment without an offset', { expires_at: '2100-01-01T00:00:00' }, 422],
      ['an end that has passed', { expires_at: '2020-01-01T00:00:00Z' }, 400],
    ] as const) {
      const response = await send(user.token, 'POST', '/links', body);
      expect([what, response.status, response.text]).toEqual([
        what,
        status,
        expect.stringContaining('"detail"'),
      ]);
    }
    expect((await send(user.token, 'GET', '/links')).json()).toEqual({ items: [], next_cursor: null });
  });
});

describe('An earlier response of a link', () => {
  it('is not sent again to clients that have it, by GET and by HEAD', async () => {
    await insert(3);
    const link = await createLink({ format: 'csv' });
    const response = await fetchLink(link);
    const tag = String(response.headers.etag);
    expect(tag).toMatch(/^W\/"[\w-]{22}"$/);
    for (const baseUrl of [service.baseUrl, replica.baseUrl]) {
      const again = await fetchLink(link, { baseUrl, headers: { 'If-None-Match': tag } });
      expect(again).toMatchObject({ status: 304, text: '', headers: { etag: tag } });
    }
    const head = await fetchLink(link, { method: 'HEAD' });
    expect(head).toMatchObject({ status: 200, text: '' });
    const { date: _, 'x-request-id': __, ...headers } = response.headers;
    expect(head.headers).toMatchObject(headers);
    const requested = { method: 'HEAD', headers: { 'If-None-Match': tag } };
    expect(await fetchLink(link, requested)).toMatchObject({ status: 304 });
    for (const method of ['GET', 'HEAD']) {
      // fetch adds `Cache-Control: no-cache`.
      expect((await fetch(`${service.baseUrl}${link.url}`, { ...requested, method })).status).toBe(304);
    }
    service.clock.advanceSeconds(60);
    await insert(1);
    expect((await fetchLink(link, { headers: { 'If-None-Match': tag } })).status).toBe(200);
  });

  it('is that of this link alone', async () => {
    await insert(3);
    const links = [await createLink({ format: 'txt' }), await createLink({ format: 'txt' })];
    const exported = await send(user.token, 'GET', '/proxies/export?format=txt');
    const responses = [exported, ...(await Promise.all(links.map((link) => fetchLink(link))))];
    expect(new Set(responses.map(({ text }) => text)).size).toBe(1);
    const tags = responses.map(({ headers }) => String(headers.etag));
    expect(new Set(tags).size).toBe(3);
    const [one] = links as [Link, Link];
    const others = tags.filter((_, n) => n !== 1).join(', ');
    expect((await fetchLink(one, { headers: { 'If-None-Match': others } })).status).toBe(200);
  });
});

describe('A link ends', () => {
  const both = () => [service.baseUrl, replica.baseUrl];

  async function expectOver(link: Link): Promise<void> {
    for (const baseUrl of both()) await expectNothing(await fetchLink(link, { baseUrl, from: HOME }));
  }

  async function startLink(settings: object = {}, token?: string): Promise<Link> {
    const link = await createLink(settings, token);
    for (const baseUrl of both()) {
      expect((await fetchLink(link, { baseUrl, from: '198.51.100.9' })).status).toBe(200);
    }
    return link;
  }

  it('when it is deleted, at once on every replica', async () => {
    const link = await startLink();
    const tag = String((await fetchLink(link)).headers.etag);
    expect(await send(user.token, 'DELETE', `/links/${link.id}`)).toMatchObject({ status: 204, text: '' });
    await expectOver(link);
    const requested = { baseUrl: replica.baseUrl, headers: { 'If-None-Match': tag } };
    await expectNothing(await fetchLink(link, requested));
    expect((await send(user.token, 'DELETE', `/links/${link.id}`)).status).toBe(404);
    expect((await send(user.token, 'GET', `/links/${link.id}`)).status).toBe(404);
  });

  it('at its own end', async () => {
    const end = new Date(service.clock.now().getTime() + 3_600_000);
    const link = await startLink({ expires_at: end.toISOString() });
    service.clock.advanceSeconds(3599);
    expect((await fetchLink(link)).status).toBe(200);
    service.clock.advanceSeconds(2);
    await expectOver(link);
    expect((await send(user.token, 'GET', `/links/${link.id}`)).json()).toMatchObject({ state: 'expired' });
  });

  it('with the token that made it, and not with another one of the user', async () => {
    const { text, token } = await issue();
    const link = await startLink({}, text);
    const other = await startLink();
    await service.app.get(TokensService).revoke(token.id);
    await expectOver(link);
    expect((await fetchLink(other)).status).toBe(200);
    expect((await send(user.token, 'GET', `/links/${link.id}`)).json()).toMatchObject({ state: 'revoked' });
  });

  it('while its user is blocked', async () => {
    const link = await startLink();
    const block = (at: string, reason: string) =>
      service.dataSource.query(
        `UPDATE users SET blocked_at = ${at}, blocked_reason = ${reason} WHERE id = $1`,
        [user.id],
      );
    await block('now()', "'test'");
    await expectOver(link);
    await block('NULL', 'NULL');
    expect((await fetchLink(link)).status).toBe(200);
  });

  it('and is removed 30 days later, with any reason for its end', async () => {
    const { text, token } = await issue();
    await createLink({ expires_at: new Date(service.clock.now().getTime() + 60_000).toISOString() });
    await createLink({}, text);
    const lasting = await createLink();
    await service.app.get(TokensService).revoke(token.id);
    const states = async () => {
      const { items } = (await send(user.token, 'GET', '/links')).json() as { items: Link[] };
      return items.map(({ state }) => state);
    };
    service.clock.advanceDays(29);
    await service.runJob('retention');
    expect(await states()).toEqual(['expired', 'revoked', 'active']);
    service.clock.advanceDays(2);
    expect((await service.runJob('retention'))?.['links']).toBeGreaterThanOrEqual(2);
    expect([await states(), (await fetchLink(lasting)).status]).toEqual([['active'], 200]);
  });
});

describe('A link is never wider than the token that makes it', () => {
  const networks = ['203.0.113.0/24'];

  it('and works from its own networks alone', async () => {
    const link = await createLink({ networks });
    expect((await fetchLink(link, { from: HOME })).status).toBe(200);
    for (const from of ['203.0.114.7', '2001:db8::1']) await expectNothing(await fetchLink(link, { from }));
  });

  it('and has its networks and its end where it was given none', async () => {
    const expiresAt = new Date(service.clock.now().getTime() + 3_600_000);
    const { text } = await issue({ expiresAt, allowedIps: networks });
    const headers = { 'X-Forwarded-For': HOME };
    const post = (body: object) => send(text, 'POST', '/links', body, { headers });
    const inherited = (await post({})).json() as Link;
    expect(inherited).toMatchObject({ networks, expires_at: expiresAt.toISOString() });
    await expectNothing(await fetchLink(inherited, { from: '192.0.2.1' }));
    const narrower = {
      networks: ['203.0.113.7'],
      expires_at: new Date(expiresAt.getTime() - 1).toISOString(),
    };
    expect((await post(narrower)).json()).toMatchObject({ ...narrower, networks: ['203.0.113.7/32'] });
    const wider = {
      networks: ['203.0.0.0/16'],
      expires_at: new Date(expiresAt.getTime() + 1000).toISOString(),
    };
    const refused = await post(wider);
    expect(refused.status).toBe(403);
    expect(refused.json()).toMatchObject({
      detail: 'A link cannot be less restricted than the token that creates it: expires_at, networks',
    });
    service.clock.advanceSeconds(3601);
    await expectNothing(await fetchLink(inherited, { from: HOME }));
  });
});

describe('The secret of a link', () => {
  it('opens nothing else', async () => {
    const secret = (await createLink()).url.slice('/l/'.length);
    for (const [method, path] of [
      ['GET', '/me'],
      ['GET', '/proxies'],
      ['GET', '/proxies/export'],
      ['POST', '/proxies/buy'],
      ['GET', '/links'],
      ['POST', '/links'],
    ] as const) {
      for (const text of [secret, secret.replace('prl_', 'prx_')]) {
        const headers = { 'X-Forwarded-For': text.slice(0, 3) === 'prl' ? '192.0.2.2' : '192.0.2.3' };
        expect([path, (await send(text, method, path, undefined, { headers })).status]).toEqual([path, 401]);
      }
    }
    for (const path of [
      `/l/${secret}/links`,
      `/links/${secret}`,
      `/me?access_token=${secret}`,
      `/l/${secret}x`,
    ]) {
      const headers = { 'X-Forwarded-For': '192.0.2.4' };
      const { status } = await sendRaw(service.baseUrl, { path, headers });
      expect([path, [401, 404].includes(status)]).toEqual([path, true]);
    }
    for (const method of ['POST', 'DELETE', 'PUT', 'PATCH']) {
      const response = await sendRaw(service.baseUrl, { method, path: `/l/${secret}` });
      expect([method, response.status, response.headers.allow]).toEqual([method, 405, 'GET, HEAD']);
    }
  });

  it('is no token, and a token is no secret of a link', async () => {
    const link = await createLink();
    for (const text of [user.token, user.token.replace('prx_', 'prl_'), link.url.slice('/l/prl_'.length)]) {
      await expectNothing(await fetchLink({ url: `/l/${text}` }, { token: user.token, from: '192.0.2.5' }));
    }
  });

  it('needs no token, and ignores one', async () => {
    const link = await createLink();
    for (const token of ['wrong', generateSecret('token')]) {
      expect((await fetchLink(link, { token })).status).toBe(200);
    }
    expect((await fetchLink({ url: `${link.url}?format=txt&x=%00` })).headers['content-type']).toBe(
      'application/json',
    );
  });
});

describe('The number of links', () => {
  it('is limited for each user, also when they are made at once on two replicas', async () => {
    const end = new Date(service.clock.now().getTime() + 60_000).toISOString();
    const make = (baseUrl: string) => send(user.token, 'POST', '/links', { expires_at: end }, { baseUrl });
    const made = await Promise.all(
      Array.from({ length: 2 * MOST_LINKS }, (_, n) => make(n % 2 === 0 ? service.baseUrl : replica.baseUrl)),
    );
    expect(made.filter(({ status }) => status === 201)).toHaveLength(MOST_LINKS);
    for (const response of made.filter(({ status }) => status !== 201)) {
      expect(response.status).toBe(409);
      expect(response.json()).toMatchObject({
        detail: `The user already has ${MOST_LINKS} links: delete some first`,
      });
    }
    const [{ id }] = made.flatMap((response) => (response.status === 201 ? [response.json()] : [])) as [Link];
    expect((await send(user.token, 'DELETE', `/links/${id}`)).status).toBe(204);
    expect([(await make(service.baseUrl)).status, (await make(replica.baseUrl)).status]).toEqual([201, 409]);
    service.clock.advanceSeconds(61);
    await createLink();
    const { items } = (await send(user.token, 'GET', '/links')).json() as { items: Link[] };
    expect(items).toHaveLength(MOST_LINKS);
  });

  it('of 0 disables them, those that exist as well', async () => {
    const link = await createLink();
    await withReplica(service, { links: { maxPerUser: 0 } }, async (without) => {
      expect(await send(user.token, 'POST', '/links', {}, without)).toMatchObject({
        status: 403,
        text: '{"detail":"Links are disabled","code":"links-disabled"}',
      });
      await expectNothing(await fetchLink(link, { baseUrl: without.baseUrl }));
      expect((await send(user.token, 'DELETE', `/links/${link.id}`, undefined, without)).status).toBe(204);
    });
  });
});

describe('Fetching', () => {
  const times = async (count: number, fetch: () => Promise<RawResponse>): Promise<number[]> => {
    const statuses: number[] = [];
    for (let n = 0; n < count; n += 1) statuses.push((await fetch()).status);
    return statuses;
  };
  const repeated = (count: number, status: number) => Array<number>(count).fill(status);

  it('is limited for each link, and leaves other links and the tokens of the user alone', async () => {
    const [link, other] = [await createLink(), await createLink()];
    expect(await times(LINK_LIMIT, () => fetchLink(link))).toEqual(repeated(LINK_LIMIT, 200));
    const refused = await fetchLink(link);
    expect(refused.status).toBe(429);
    expect(refused.json()).toMatchObject({ detail: 'Too many requests' });
    const seconds = Number(refused.headers['retry-after']);
    expect(seconds).toBeGreaterThan(0);
    expect(refused.headers).toMatchObject({
      'ratelimit-policy': `"link";q=${LINK_LIMIT};w=60`,
      ratelimit: `"link";r=0;t=${seconds}`,
    });
    expect((await fetchLink(other)).status).toBe(200);
    expect((await send(user.token, 'GET', '/me')).headers).not.toHaveProperty('ratelimit');
    service.clock.advanceSeconds(seconds);
    expect((await fetchLink(link)).status).toBe(200);
  });

  it('has one limit on all replicas', async () => {
    const link = await createLink();
    await times(LINK_LIMIT - 1, () => fetchLink(link));
    await eventually(async () => {
      const [row] = await service.dataSource.query<{ total: number }[]>(
        `SELECT total FROM request_counts WHERE name = 'link' AND key = $1`,
        [String(link.id)],
      );
      return row?.total === LINK_LIMIT - 1;
    });
    expect((await fetchLink(link, { baseUrl: replica.baseUrl })).status).toBe(200);
    await eventually(async () => (await fetchLink(link, { baseUrl: replica.baseUrl })).status === 429);
  });

  it('of missing links is limited by address, and blocks no link that was fetched', async () => {
    const [link, fresh] = [await createLink(), await createLink()];
    const from = '192.0.2.77';
    expect((await fetchLink(link, { from })).status).toBe(200);
    const guess = () => fetchLink({ url: `/l/${generateSecret('link')}` }, { from });
    expect(await times(FAILURE_LIMIT, guess)).toEqual(repeated(FAILURE_LIMIT, 404));
    const refused = await guess();
    expect(refused.status).toBe(429);
    expect(refused.headers).toMatchObject({
      'retry-after': expect.stringMatching(/^\d+$/),
      'ratelimit-policy': `"address";q=${FAILURE_LIMIT};w=60`,
    });
    expect((await fetchLink({ url: '/l/wrong' }, { from })).status).toBe(429);
    expect((await fetchLink(fresh, { from })).status).toBe(429);
    expect((await fetchLink(link, { from })).status).toBe(200);
    expect((await fetchLink(fresh, { from: '192.0.2.78' })).status).toBe(200);
  });

  it('is counted for the customer, on all replicas together', async () => {
    const [link, unused] = [await createLink(), await createLink()];
    const tag = String((await fetchLink(link)).headers.etag);
    await Promise.all([
      fetchLink(link, { headers: { 'If-None-Match': tag } }),
      fetchLink(link, { method: 'HEAD' }),
      fetchLink(link, { baseUrl: replica.baseUrl }),
      fetchLink(link, { baseUrl: replica.baseUrl }),
    ]);
    const show = async ({ id }: Link) => (await send(user.token, 'GET', `/links/${id}`)).json() as Link;
    const shown = await eventually(async () => {
      const now = await show(link);
      return now['uses'] === 5 && now;
    });
    const ageMs = service.clock.now().getTime() - Date.parse(String(shown['last_used_at']));
    expect(ageMs).toBeGreaterThanOrEqual(0);
    expect(ageMs).toBeLessThan(30_000);
    expect(await show(unused)).toMatchObject({ uses: 0, last_used_at: null });
    const leaving = await startReplica({ ...service, jobIntervalsMs: { 'link-uses': 3_600_000 } });
    expect((await fetchLink(link, { baseUrl: leaving.baseUrl })).status).toBe(200);
    await leaving.close();
    expect(await show(link)).toMatchObject({ uses: 6 });
  });

  it('of 20 links at once shares statements', async () => {
    const users = await Promise.all([service.createUser(), service.createUser()]);
    const links: { readonly link: Link; readonly login: string }[] = [];
    for (const [n, one] of users.entries()) {
      await insert(10, { login: `user${n}-#` }, one);
      const making = Array.from({ length: 10 }, () => createLink({ format: 'txt' }, one.token));
      links.push(...(await Promise.all(making)).map((link) => ({ link, login: `user${n}-1:` })));
    }
    const sent = await statementsDuring(service.dataSource, async () => {
      const responses = await Promise.all(links.map(({ link }) => fetchLink(link)));
      for (const [n, { status, text }] of responses.entries()) {
        expect(status).toBe(200);
        expect(text.split('\n')).toHaveLength(11);
        expect(text).toContain(links[n]?.login);
      }
    });
    // Read one by one, the links would need three statements each.
    expect(sent.filter(({ text }) => /FROM (export_links link|proxies)/.test(text)).length).toBeLessThan(30);
  });
});
