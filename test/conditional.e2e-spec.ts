import { fetchAs } from './support/api-client';
import { forAllTests, forEachTest } from './support/fixtures';
import { insertProxies, type ProxyRow } from './support/proxy-rows';
import { type RawResponse, sendRaw } from './support/raw-http';
import { withReplica } from './support/replica';
import { statementsDuring } from './support/statement-plans';
import { startTestService, testUser, type TestUser } from './support/test-service';

const PATHS = [
  '/proxies',
  '/proxies/export',
  '/proxies/export?format=txt',
  '/proxies/export?format=txt&active_only=true',
  '/proxies/export?proxy_type=http',
] as const;
/** The last three are not written by PostgreSQL. */
const EVERY_PATH = [
  ...PATHS,
  '/proxies?limit=2',
  '/proxies/lists/url?proxy_type=http',
  '/proxies/lists/template?template=%7Bid%7D',
];

describe('An earlier response about proxies', () => {
  // The clock advances.
  const service = forAllTests(startTestService);
  const user = forEachTest(() => service.createUser());

  const insert = (count: number, row?: ProxyRow, of: TestUser = user) =>
    insertProxies(service.dataSource, of.id, count, row);
  const request = (path: string, tag?: string, method = 'GET', of: TestUser = user): Promise<RawResponse> =>
    sendRaw(service.baseUrl, {
      method,
      path,
      token: of.token,
      headers: tag === undefined ? {} : { 'If-None-Match': tag },
    });
  const tagOf = async (path: string, of?: TestUser): Promise<string> =>
    String((await request(path, undefined, 'GET', of)).headers.etag);
  const tagsOf = (of?: TestUser): Promise<string[]> => Promise.all(PATHS.map((path) => tagOf(path, of)));

  it.each(EVERY_PATH)('is not sent again to a caller who has it: %s', async (path) => {
    await insert(3);
    const response = await request(path);
    expect(response.status).toBe(200);
    expect(response.headers).toMatchObject({
      etag: expect.stringMatching(/^W\/"[\w-]{22}"$/),
      'cache-control': 'private, no-cache',
      vary: 'Authorization',
    });
    const tag = String(response.headers.etag);
    const zipped = tag.replace(/"$/, '-gzip"');
    for (const known of [tag, `"other", ${tag}`, tag.replace('W/', ''), '*', zipped, `"o-gzip",${zipped}`]) {
      const again = await request(path, known);
      expect(again).toMatchObject({ status: 304, text: '', headers: { etag: tag } });
      expect(again.headers).not.toHaveProperty('content-disposition');
    }
    expect(await request(path, tag, 'HEAD')).toMatchObject({ status: 304 });
    expect(await request(path, '"other"')).toMatchObject({ status: 200, text: response.text });
    // fetch adds `Cache-Control: no-cache` and `Pragma: no-cache` to a caller's own condition.
    const fetched = async (method: string, known: string) => {
      const headers = { 'If-None-Match': known };
      const again = await fetchAs(user, method, `${service.baseUrl}${path}`, undefined, headers);
      return [again.status, again.headers.get('ETag'), await again.text()];
    };
    expect(await fetched('GET', tag)).toEqual([304, tag, '']);
    expect(await fetched('HEAD', tag)).toEqual([304, tag, '']);
    expect(await fetched('GET', '"other"')).toEqual([200, tag, response.text]);
  });

  it('has a different tag for each path, filter and user', async () => {
    const users = [user, await service.createUser()];
    for (const one of users) await insert(2, {}, one);
    expect(new Set((await Promise.all(users.map(tagsOf))).flat()).size).toBe(PATHS.length * users.length);
  });

  it('is confirmed by the look-up of the token alone', async () => {
    await insert(3);
    const tag = await tagOf('/proxies');
    const exported = await tagOf('/proxies/export');
    await service.dataSource.query('UPDATE api_tokens SET last_used_at = $1', [service.clock.now()]);
    const sent = await statementsDuring(service.dataSource, async () => {
      expect((await request('/proxies')).status).toBe(200);
      expect((await request('/proxies', tag)).status).toBe(304);
      expect((await request('/proxies/export', exported)).status).toBe(304);
    });
    // Jobs read all users' proxies at the same time.
    const ofUser = sent.filter(({ parameters }) => parameters.flat().includes(user.id));
    expect(ofUser.filter(({ text }) => text.includes('proxies '))).toEqual([]);
    expect(sent.some(({ text }) => text.includes('FROM api_tokens'))).toBe(true);
  });

  type Change = (ids: number[]) => Promise<unknown>;
  const update =
    (set: string): Change =>
    ([id]) =>
      service.dataSource.query(`UPDATE proxies SET ${set} WHERE id = $1`, [id]);
  const CHANGES: readonly [what: string, change: Change][] = [
    ['a purchase', () => user.buy()],
    ['a prolongation', update(`date_end = date_end + interval '30 days'`)],
    ['a new address', update(`host = '10.0.0.1'`)],
    ['a withdrawal', update('withdrawn_at = now()')],
    ['a departure', ([id]) => service.dataSource.query('DELETE FROM proxies WHERE id = $1', [id])],
  ];

  it.each(CHANGES)('is invalid after %s', async (_, change) => {
    const ids = await insert(2);
    const before = await Promise.all(PATHS.map((path) => request(path)));
    await change(ids);
    for (const [at, path] of PATHS.entries()) {
      const { headers, text } = before[at] as RawResponse;
      const after = await request(path, headers.etag);
      expect(after.status).toBe(200);
      if (path === '/proxies') expect(after.text).not.toBe(text);
    }
  });

  it('is invalid from the moment a rental ends', async () => {
    await insert(1, { endsInSeconds: 3600 });
    await insert(1, { endsInSeconds: 7200 });
    const tag = await tagOf('/proxies');
    service.clock.advanceSeconds(3590);
    expect((await request('/proxies', tag)).status).toBe(304);
    service.clock.advanceSeconds(10);
    const response = await request('/proxies', tag);
    expect(response).toMatchObject({ status: 200 });
    expect(response.json()).toMatchObject([{ active: false }, { active: true }]);
    expect((await request('/proxies', String(response.headers.etag))).status).toBe(304);
  });

  it('stays valid when only the stored flag changes, and when others buy', async () => {
    const other = await service.createUser();
    await insert(2, { active: false });
    const tags = await tagsOf();
    await service.runJob('active-flags');
    const flags = await service.dataSource.query('SELECT active FROM proxies WHERE user_id = $1', [user.id]);
    expect(flags).toEqual([{ active: true }, { active: true }]);
    await insert(1, {}, other);
    expect(await tagsOf()).toEqual(tags);
  });

  it('is not confirmed without a token or with one that lacks the scope', async () => {
    await insert(1);
    const tag = await tagOf('/proxies');
    const path = '/proxies';
    const headers = { 'If-None-Match': tag };
    expect((await sendRaw(service.baseUrl, { path, headers })).status).toBe(401);
    await service.dataSource.query(`UPDATE api_tokens SET scopes = '{profile:read}' WHERE user_id = $1`, [
      user.id,
    ]);
    expect(await request(path, tag)).toMatchObject({ status: 403 });
  });

  it('has the same bytes as list and export, cached or not, long or short, plain or not', async () => {
    await insert(5);
    await insert(2, { password: '"q\\u', login: 'ü,(', descr: 'line\nbreak' });
    const short = await request('/proxies');
    expect((await request('/proxies')).text).toBe(short.text);
    expect((await request('/proxies/export')).text).toBe(short.text);
    expect(short.text).toBe(JSON.stringify(short.json()));
    expect(short.json()).toMatchObject([{}, {}, {}, {}, {}, { descr: 'line\nbreak' }, { password: '"q\\u' }]);
    await insert(1, { login: '\x1e(7,a\x1e' });
    expect((await request('/proxies')).json()).toEqual([
      ...(short.json() as object[]),
      expect.objectContaining({ login: '\x1e(7,a\x1e' }),
    ]);
    expect((await request('/proxies/export?format=txt')).text).toContain(':\x1e(7,a\x1e:');
    // Too long for the cache.
    await insert(8000, { password: 'p'.repeat(200) });
    const long = await request('/proxies');
    expect(long.json()).toHaveLength(8008);
    expect((await request('/proxies')).text).toBe(long.text);
    expect((await request('/proxies/export')).text).toBe(long.text);
  });

  it.each(PATHS)('is written by one statement, once for concurrent and later requests: %s', async (path) => {
    await insert(50);
    const responses: RawResponse[] = [];
    const sent = await statementsDuring(service.dataSource, async () => {
      responses.push(...(await Promise.all(Array.from({ length: 20 }, () => request(path)))));
      responses.push(await request(path));
    });
    expect(new Set(responses.map(({ text }) => text)).size).toBe(1);
    expect(sent.filter(({ text }) => text.includes('string_agg'))).toHaveLength(1);
    const [response] = responses;
    expect(response?.headers['content-length']).toBe(String(Buffer.byteLength(response?.text ?? '')));
    const head = await request(path, undefined, 'HEAD');
    expect(head).toMatchObject({ status: 200, text: '' });
    expect(head.headers['content-length']).toBe(response?.headers['content-length']);
  });

  it('escapes what JSON demands, and keeps nulls, whether it is kept or comes in pieces', async () => {
    const strange = 'quote " slash \\ / \b\f\n\r\t\x01\x1f\x7f ü пароль 😀 \u2028 </script>';
    await insert(2, { host: strange, port: strange, login: strange, password: strange, descr: strange });
    await service.dataSource.query(
      `UPDATE proxies SET date_start = NULL, date_end = NULL, label = NULL
        WHERE id = (SELECT max(id) FROM proxies WHERE user_id = $1)`,
      [user.id],
    );
    const fields = { host: strange, port: strange, login: strange, password: strange };
    const shown = [
      { ...fields, active: true, descr: strange },
      { ...fields, active: false, descr: null, date_start: null, date_end: null },
    ];
    const stored = await request('/proxies');
    expect(stored.text).toBe(JSON.stringify(stored.json()));
    expect(stored.json()).toMatchObject(shown);
    const lines = (await request('/proxies/export?format=txt')).text;
    expect(lines).toBe(`${strange}:${strange}:${strange}:${strange}\n`.repeat(2));
    // Too many for the cache.
    await insert(8000);
    const inPieces = await request('/proxies/export');
    expect(inPieces.headers).not.toHaveProperty('content-length');
    expect(inPieces.text.slice(0, stored.text.length - 1)).toBe(stored.text.slice(0, -1));
    expect(inPieces.text).toBe(JSON.stringify(inPieces.json()));
    expect((await request('/proxies')).text).toBe(inPieces.text);
    expect((await request('/proxies/export?format=txt')).text.slice(0, lines.length)).toBe(lines);
    expect((await request('/proxies/export?proxy_type=socks')).text).toBe('[]');
    expect((await request('/proxies/export?proxy_type=socks&format=txt')).text).toBe('');
    expect((await request('/proxies/export?active_only=true')).json()).toHaveLength(8001);
  });

  it('has what was bought on another replica', async () => {
    await withReplica(service, {}, async (replica) => {
      const exported = (baseUrl: string): Promise<RawResponse> =>
        sendRaw(baseUrl, { path: '/proxies/export?format=txt', token: user.token });
      for (const [here, there] of [
        [service.baseUrl, replica.baseUrl],
        [replica.baseUrl, service.baseUrl],
      ] as const) {
        const { text: before } = await exported(there);
        const [proxy] = (await testUser(here, user.id, user.token).buy()).data?.proxies ?? [];
        const after = `${before}${proxy?.host}:${proxy?.port}:${proxy?.login}:${proxy?.password}\n`;
        expect((await exported(there)).text).toBe(after);
        expect((await exported(here)).text).toBe(after);
      }
    });
  });
});
