import type { ProxyType } from '../src/common';
import { WireClient } from '../src/sandbox';
import { insertProxies } from './support/proxy-rows';
import { type RawAnswer, sendRaw } from './support/raw-http';
import { startTestService, type TestService, type TestUser } from './support/test-service';

let service: TestService;
let user: TestUser;

// Proxies are inserted that nobody bought, which an audit of a shared service would find.
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());
beforeEach(async () => {
  user = await service.createUser();
});

const download = (query: string): Promise<RawAnswer> =>
  sendRaw(service.baseUrl, { path: `/proxies/export?${query}`, token: user.token });

async function buy(type: ProxyType): Promise<void> {
  const { data } = await user.api.POST('/proxies/buy', {
    body: { country: 'ru', period: 30, count: 1, proxy_type: type } as never,
  });
  expect(data?.proxies).toHaveLength(1);
}

const JSON_TYPE = 'application/json';
const TEXT = 'text/plain; charset=utf-8';
const FORMATS: readonly [query: string, contentType: string, fileName: string][] = [
  ['', JSON_TYPE, 'proxies.json'],
  ['format=json', JSON_TYPE, 'proxies.json'],
  ['format=txt', TEXT, 'proxies.txt'],
  ['format=url', TEXT, 'proxies.txt'],
  ['format=csv', 'text/csv; charset=utf-8', 'proxies.csv'],
  ['format=curl', TEXT, 'curl.conf'],
  ['format=proxychains', TEXT, 'proxychains.conf'],
  ['format=playwright', JSON_TYPE, 'playwright.json'],
  ['format=clash', 'application/yaml', 'clash.yaml'],
  ['format=sing-box', JSON_TYPE, 'sing-box.json'],
  ['template=%7Bid%7D%20%7Bhost%7D%20%7Blogin%7D', TEXT, 'proxies.txt'],
];
const QUERIES = FORMATS.map(([query]) => query);

describe('An export', () => {
  it.each(FORMATS)('has the type and the file name of its format: ?%s', async (query, type, name) => {
    await insertProxies(service.dataSource, user.id, 2);
    const answer = await download(query);
    expect(answer).toMatchObject({
      status: 200,
      headers: {
        'content-type': type,
        'content-disposition': `attachment; filename="${name}"`,
        'content-length': String(Buffer.byteLength(answer.text)),
        'x-content-type-options': 'nosniff',
      },
    });
  });

  it('has a tag for each format and template, with which it is not sent again', async () => {
    await insertProxies(service.dataSource, user.id, 2);
    const queries = [
      ...QUERIES,
      'template=json',
      'template=a',
      'template=%20a',
      'format=url&proxy_type=http',
    ];
    const answers = await Promise.all(queries.map((query) => download(query)));
    const tags = answers.map(({ headers }) => String(headers.etag));
    // JSON is the default.
    expect(new Set(tags).size).toBe(queries.length - 1);
    for (const [n, tag] of tags.entries()) {
      const again = await sendRaw(service.baseUrl, {
        path: `/proxies/export?${queries[n]}`,
        token: user.token,
        headers: { 'If-None-Match': tag },
      });
      expect([queries[n], again.status, again.text]).toEqual([queries[n], 304, '']);
    }
  });

  it('has all proxies by id, those of one type, or those that are active', async () => {
    const http = await insertProxies(service.dataSource, user.id, 12);
    const socks = await insertProxies(service.dataSource, user.id, 3, { proxyType: 'socks' });
    await insertProxies(service.dataSource, user.id, 1, { endsInSeconds: -60 });
    const lines = async (query: string): Promise<string[]> =>
      (await download(`template=%7Bid%7D&${query}`)).text.trimEnd().split('\n');
    const all = ((await user.api.GET('/proxies')).data ?? []).map(({ id }) => id);
    expect(await lines('')).toEqual(all);
    expect(await lines('proxy_type=socks')).toEqual(socks.map(String));
    expect(await lines('active_only=true')).toEqual([...http, ...socks].map(String));
    expect((await download('format=url&proxy_type=socks')).text).toMatch(/^(socks5h:\S+\n){3}$/);
  });

  it("tells the host of a proxy, never the provider's own address of its exit", async () => {
    await buy('http');
    await buy('socks');
    const provider = new WireClient(service.sandbox.baseUrl, service.sandbox.apiKey);
    const { list } = await provider.ask<{ list: { ip: string }[] }>('getproxy?nokey');
    const exits = list.map(({ ip }) => ip);
    expect(exits.length).toBeGreaterThan(1);
    for (const query of QUERIES) {
      const { text } = await download(query);
      expect([query, text]).toEqual([query, expect.stringContaining('127.0.0.1')]);
      expect([query, exits.filter((exit) => text.includes(exit))]).toEqual([query, []]);
    }
  });

  it('has the same text when it is kept as when it comes in pieces', async () => {
    await insertProxies(service.dataSource, user.id, 1001, { login: 'ü#', descr: 'a, "b"' });
    const kept = new Map<string, string>();
    for (const query of QUERIES) {
      const { text } = await download(query);
      expect((await download(query)).text).toBe(text);
      kept.set(query, text);
    }
    await insertProxies(service.dataSource, user.id, 7100);
    for (const [query, text] of kept) {
      const long = await download(query);
      expect(long.headers).not.toHaveProperty('content-length');
      if (long.headers['content-type'] === JSON_TYPE) expect(() => long.json()).not.toThrow();
      const withoutEnd = text.replace(/\s*\]?\}?\s*$/, '');
      expect(long.text.slice(0, withoutEnd.length)).toBe(withoutEnd);
      expect([query, long.text.split('login7100').length]).toEqual([query, 2]);
    }
  });
});

describe('A request for an export that is none', () => {
  const refused = async (query: string): Promise<unknown> => {
    const answer = await download(query);
    expect(answer.status).toBe(422);
    return (answer.json() as { detail: unknown }).detail;
  };
  const refusedFormat = (input: string) => ({
    type: 'string_pattern_mismatch',
    loc: ['query', 'format'],
    msg: "String should match pattern '^(json|txt)$'",
    input,
    ctx: { pattern: '^(json|txt)$' },
  });

  it('is refused as the specification has it when the format is unknown', async () => {
    for (const name of ['xml', 'JSON', 'singbox', 'constructor', '', 'json,txt']) {
      expect(await refused(`format=${name}`)).toEqual([refusedFormat(name)]);
    }
  });

  it('is refused when csv stands beside active_only, as it has always been', async () => {
    expect(await refused('format=csv&active_only=true')).toEqual([refusedFormat('csv')]);
    expect((await download('format=csv&active=true')).status).toBe(200);
  });

  it.each([
    ['{hots}', 'unknown placeholder {hots}; there are '],
    ['{host', 'unbalanced brace; '],
    ['\\x', 'a backslash stands before n, t or another backslash'],
    ['a\0', 'control characters are not allowed'],
    ['{id}'.repeat(21), 'at most 20 placeholders are allowed'],
  ])('is refused with the reason when the template is wrong: %j', async (template, reason) => {
    expect(await refused(`template=${encodeURIComponent(template)}`)).toEqual([
      {
        type: 'value_error',
        loc: ['query', 'template'],
        msg: expect.stringContaining(`Value error, ${reason}`),
        input: template,
        ctx: { error: expect.stringContaining(reason) },
      },
    ]);
  });

  it('is refused when the template is empty, too long, or stands beside a format', async () => {
    expect(await refused('template=')).toMatchObject([{ type: 'string_too_short' }]);
    expect(await refused(`template=${'a'.repeat(501)}`)).toMatchObject([{ type: 'string_too_long' }]);
    expect((await download(`template=${'a'.repeat(500)}`)).status).toBe(200);
    expect(await refused('template=a&format=txt')).toMatchObject([
      { loc: ['query', 'template'], msg: 'Value error, format and template exclude each other' },
    ]);
  });
});
