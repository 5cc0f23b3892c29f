import { parse as parseCsv } from 'csv-parse/sync';
import type { ProxyType } from '../src/common';
import { forAllTests, forEachTest } from './support/fixtures';
import { insertProxies } from './support/proxy-rows';
import { type RawResponse, sendRaw } from './support/raw-http';
import { unauditedTestService } from './support/test-service';

const service = forAllTests(unauditedTestService);
const user = forEachTest(() => service.createUser());

const download = (path: string, headers = {}): Promise<RawResponse> =>
  sendRaw(service.baseUrl, { path: `/proxies/${path}`, token: user.token, headers });

async function buy(type: ProxyType): Promise<void> {
  expect((await user.buy({ count: 1, proxy_type: type })).data?.proxies).toHaveLength(1);
}

const JSON_TYPE = 'application/json';
const TEXT = 'text/plain; charset=utf-8';
const FORMATS: readonly [path: string, contentType: string, fileName: string][] = [
  ['export', JSON_TYPE, 'proxies.json'],
  ['export?format=json', JSON_TYPE, 'proxies.json'],
  ['export?format=txt', TEXT, 'proxies.txt'],
  ['lists/json', JSON_TYPE, 'proxies.json'],
  ['lists/txt', TEXT, 'proxies.txt'],
  ['lists/url', TEXT, 'proxies.txt'],
  ['lists/csv', 'text/csv; charset=utf-8', 'proxies.csv'],
  ['lists/curl', TEXT, 'curl.conf'],
  ['lists/proxychains', TEXT, 'proxychains.conf'],
  ['lists/playwright', JSON_TYPE, 'playwright.json'],
  ['lists/clash', 'application/yaml', 'clash.yaml'],
  ['lists/sing-box', JSON_TYPE, 'sing-box.json'],
  ['lists/template?template=%7Bid%7D%20%7Bhost%7D%20%7Blogin%7D', TEXT, 'proxies.txt'],
];
const PATHS = FORMATS.map(([path]) => path);

describe('An export', () => {
  it.each(FORMATS)('has the type and the file name of its format: %s', async (path, type, name) => {
    await insertProxies(service.dataSource, user.id, 2);
    const response = await download(path);
    expect(response).toMatchObject({
      status: 200,
      headers: {
        'content-type': type,
        'content-disposition': `attachment; filename="${name}"`,
        'content-length': String(Buffer.byteLength(response.text)),
        'x-content-type-options': 'nosniff',
      },
    });
  });

  it('has text for Excel that Excel does not change', async () => {
    const texts = ['0123', '1e10', '1:30', '3/4', '1.05', '12345678901234567890', 'a;"=1', 'ключ', ''];
    for (const descr of texts) await insertProxies(service.dataSource, user.id, 1, { descr });
    const { text, headers } = await download('lists/csv?excel=true');
    expect(headers['content-type']).toBe('text/csv; charset=utf-8');
    expect(headers.etag).not.toBe((await download('lists/csv')).headers.etag);
    expect(text).toMatch(/^id;host;port;.*descr\r\n/);
    const [, ...rows] = parseCsv(text, { delimiter: ';' });
    expect(rows.map((row) => row.at(-1))).toEqual([
      '="0123"',
      '="1e10"',
      '="1:30"',
      '="3/4"',
      '="1.05"',
      '="12345678901234567890"',
      `="a;""'=1"`,
      '="ключ"',
      '',
    ]);
    expect(rows[0]?.slice(1, 3)).toEqual(['="127.0.0.1"', expect.stringMatching(/^\d+$/)]);
    expect((await download('lists/url?excel=true')).status).toBe(422);
  });

  it('names the first active proxy for curl, and never none', async () => {
    const used = async () => (await download('lists/curl')).text.match(/^proxy = .*$/gm);
    const dead = 'proxy = "http://none:none@no-active-proxy.invalid:1"';
    expect(await used()).toEqual([dead]);
    await insertProxies(service.dataSource, user.id, 1, { endsInSeconds: -60 });
    expect(await used()).toEqual([dead]);
    await insertProxies(service.dataSource, user.id, 2, { port: '8081' });
    expect(await used()).toEqual(['proxy = "http://login1:password1@127.0.0.1:8081"']);
  });

  it('has a tag for each format and template, with which it is not sent again', async () => {
    await insertProxies(service.dataSource, user.id, 2);
    const paths = [
      ...PATHS,
      'lists/template?template=json',
      'lists/template?template=a',
      'lists/template?template=%20a',
      'lists/url?proxy_type=http',
    ];
    const responses = await Promise.all(paths.map((path) => download(path)));
    const tags = responses.map(({ headers }) => String(headers.etag));
    // Two addresses share the JSON text, and three share the lines. Equal texts have equal tags.
    expect(new Set(tags).size).toBe(paths.length - 3);
    for (const [n, tag] of tags.entries()) {
      const again = await download(String(paths[n]), { 'If-None-Match': tag });
      expect([paths[n], again.status, again.text]).toEqual([paths[n], 304, '']);
    }
  });

  it('has all proxies by id, those of one type, or those that are active', async () => {
    const http = await insertProxies(service.dataSource, user.id, 12);
    const socks = await insertProxies(service.dataSource, user.id, 3, { proxyType: 'socks' });
    await insertProxies(service.dataSource, user.id, 1, { endsInSeconds: -60 });
    const lines = async (query: string): Promise<string[]> =>
      (await download(`lists/template?template=%7Bid%7D&${query}`)).text.trimEnd().split('\n');
    const all = ((await user.api.GET('/proxies')).data ?? []).map(({ id }) => id);
    expect([await lines(''), await lines('proxy_type=socks')]).toEqual([all, socks.map(String)]);
    expect(await lines('active_only=true')).toEqual([...http, ...socks].map(String));
    expect((await download('lists/url?proxy_type=socks')).text).toMatch(/^(socks5h:\S+\n){3}$/);
    const byScheme = await download('lists/url?proxy_type=socks&socks=socks5');
    expect(byScheme.text).toMatch(/^(socks5:\S+\n){3}$/);
    expect((await download('lists/template?template=%7Burl%7D&proxy_type=socks&socks=socks5')).text).toBe(
      byScheme.text,
    );
    expect((await download('lists/curl?socks=socks5')).status).toBe(422);
  });

  it("shows the host of a proxy, never the provider's own address of its exit", async () => {
    await buy('http');
    await buy('socks');
    const { list } = await service.wire.call<{ list: { ip: string }[] }>('getproxy?nokey');
    const exits = list.map(({ ip }) => ip);
    expect(exits.length).toBeGreaterThan(1);
    for (const path of PATHS) {
      const { text } = await download(path);
      expect([path, text]).toEqual([path, expect.stringContaining('127.0.0.1')]);
      expect([path, exits.filter((exit) => text.includes(exit))]).toEqual([path, []]);
    }
  });

  it('has the same text when it is kept as when it comes in pieces', async () => {
    await insertProxies(service.dataSource, user.id, 1001, { login: 'ü#', descr: 'a, "b"' });
    const stored = new Map<string, string>();
    for (const path of PATHS) {
      const { text } = await download(path);
      expect((await download(path)).text).toBe(text);
      stored.set(path, text);
    }
    await insertProxies(service.dataSource, user.id, 7100);
    for (const [path, text] of stored) {
      const long = await download(path);
      expect(long.headers).not.toHaveProperty('content-length');
      if (long.headers['content-type'] === JSON_TYPE) expect(() => long.json()).not.toThrow();
      const withoutEnd = text.replace(/,\n\{"type":"selector.*|proxy-groups:.*|\s*\]?\s*$/s, '');
      expect(long.text.slice(0, withoutEnd.length)).toBe(withoutEnd);
      expect([path, long.text.split('login7100').length]).toEqual([path, 2]);
    }
  });
});

describe('A request for an export that is none', () => {
  const refused = async (path: string): Promise<unknown> => {
    const response = await download(path);
    expect(response.status).toBe(422);
    return (response.json() as { detail: unknown }).detail;
  };

  it.each(['xml', 'JSON', 'singbox', 'constructor', 'txt%20', 'json,txt'])(
    'is not found when no format has this name: %j',
    async (name) => {
      const response = await download(`lists/${name}`);
      expect([response.status, response.json()]).toEqual([404, { detail: 'Not Found' }]);
    },
  );

  it('is refused with a parameter that means nothing to it', async () => {
    expect(await refused('lists/clash?format=clash')).toMatchObject([
      { type: 'extra_forbidden', loc: ['query', 'format'] },
    ]);
    expect(await refused('lists/clash?template=a&contry=ru')).toMatchObject([
      { loc: ['query', 'template'] },
      { loc: ['query', 'contry'] },
    ]);
    expect(await refused('lists/csv?proxy_type=socks5&active_only=maybe')).toMatchObject([
      { loc: ['query', 'proxy_type'] },
      { loc: ['query', 'active_only'] },
    ]);
  });

  it.each([
    ['{hots}', 'unknown placeholder {hots}; use one of '],
    ['{host', 'unbalanced brace; '],
    ['\\x', 'a backslash must be followed by n, t or another backslash'],
    ['a\0', 'control characters are not allowed'],
    ['{id}'.repeat(21), 'at most 20 placeholders are allowed'],
  ])('is refused with the reason when the template is wrong: %j', async (template, reason) => {
    expect(await refused(`lists/template?template=${encodeURIComponent(template)}`)).toEqual([
      {
        type: 'value_error',
        loc: ['query', 'template'],
        msg: expect.stringContaining(`Value error, ${reason}`),
        input: template,
        ctx: { error: expect.stringContaining(reason) },
      },
    ]);
  });

  it('is refused when the template is missing, empty or too long', async () => {
    const of = (template: string) => `lists/template?template=${template}`;
    expect(await refused('lists/template')).toMatchObject([{ type: 'missing', loc: ['query', 'template'] }]);
    expect(await refused(of(''))).toMatchObject([{ type: 'string_too_short' }]);
    expect(await refused(of('a'.repeat(501)))).toMatchObject([{ type: 'string_too_long' }]);
    expect((await download(of('a'.repeat(500)))).status).toBe(200);
  });
});

describe('The specified export', () => {
  it('has its two formats with any other parameters', async () => {
    await insertProxies(service.dataSource, user.id, 2);
    for (const [specified, name] of [
      ['', 'json'],
      ['format=json&', 'json'],
      ['format=txt&', 'txt'],
    ]) {
      const { text, headers } = await download(`lists/${name}`);
      for (const more of ['template=%7Bid%7D', 'template=', 'active_only=false', 'proxy_type=all']) {
        const response = await download(`export?${specified}${more}`, { Accept: 'text/csv' });
        expect([response.status, response.text]).toEqual([200, text]);
        expect(response.headers['content-type']).toBe(headers['content-type']);
        expect(response.headers['content-disposition']).toBe(`attachment; filename="proxies.${name}"`);
      }
    }
  });
});
