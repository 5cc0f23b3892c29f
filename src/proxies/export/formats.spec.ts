import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv from 'ajv';
import Ajv2020 from 'ajv/dist/2020';
import { parse as parseCsv } from 'csv-parse/sync';
import { parse as parseYaml } from 'yaml';
import { SeededRandom } from '../../../test/support/seeded-random';
import type { ProxyOut } from '../dto/proxy-out.dto';
import { type FormatName, formatOf } from './formats';
import { urlOf } from './proxy-url';
import { compileTemplate } from './template';

const SCHEMAS = join(__dirname, '../../../test/fixtures/tool-schemas');
const readSchema = (tool: string): object =>
  JSON.parse(readFileSync(join(SCHEMAS, `${tool}.schema.json`), 'utf8')) as object;

/** Not an instance of the class, so that it can be copied. */
type PlainProxy = Pick<ProxyOut, keyof ProxyOut>;

const PROXY: PlainProxy = {
  id: '17',
  host: '185.22.134.250',
  port: '7330',
  login: '5svBNZ',
  password: 'iagn2d',
  proxy_type: 'http',
  country: 'ru',
  version: '6',
  date_start: '2026-11-01T12:00:00Z',
  date_end: '2026-12-01T12:00:00Z',
  active: true,
  descr: null,
};

const STRANGE: [string, ...string[]] = [
  ' ',
  ...Array.from(':@#%/?&=+-\'"`\\ ,;|<>{}[]()*!$^~'),
  ...Array.from('\t\r\n\0\x1b\x7f\x85\u00a0\u2028\u2029\ufeff\uffff'),
  ...Array.from('aZ09_.üяش漢😀'),
  '\\n',
  '%41',
  '# ',
  '- ',
  ': ',
  '=cmd|',
  '@SUM(1)',
  '${x}',
  '{{login}}',
  'null',
  'true',
  '0x1F',
  '1e3',
];

const random = new SeededRandom(20_261_122);
const strange = (atLeast = 0): string =>
  Array.from({ length: random.integer(atLeast, 8) }, () => random.pick(STRANGE)).join('');

const proxies: readonly PlainProxy[] = Array.from({ length: 500 }, (_, n) => ({
  ...PROXY,
  id: String(n + 1),
  host: random.pick(['185.22.134.250', '2001:db8::7', '::1', 'proxy-7.example.net']),
  port: String(random.integer(1, 65_535)),
  login: strange(1),
  password: strange(1),
  proxy_type: random.pick(['http', 'socks']),
  country: random.pick(['ru', 'nl']),
  descr: random.chance(0.3) ? null : strange(),
}));

function write(name: FormatName, list: readonly ProxyOut[]): string {
  const format = formatOf({ format: name, template: null });
  const { start, separator, empty, write: one } = format;
  if (typeof one === 'string') throw new Error(`PostgreSQL writes ${name}`);
  const text = list.map(one).join(separator);
  return list.length === 0 && empty !== undefined ? empty : start + text + format.end;
}

function readUrl(text: string): Pick<ProxyOut, 'host' | 'port' | 'login' | 'password' | 'proxy_type'> {
  const { protocol, hostname, username, password, port, pathname, search, hash } = new URL(text);
  expect([pathname, search, hash]).toEqual([protocol === 'http:' ? '/' : '', '', '']);
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    // URL omits the default port.
    port: port || '80',
    login: decodeURIComponent(username),
    password: decodeURIComponent(password),
    proxy_type: { 'http:': 'http', 'socks5h:': 'socks', 'socks5:': 'socks' }[protocol] ?? protocol,
  };
}

const addressed = ({ host, port, login, password, proxy_type }: ProxyOut) => ({
  host,
  port,
  login,
  password,
  proxy_type,
});

const namedAsOurs = ({ server, username, password, type }: Record<string, unknown>, port: unknown) => ({
  host: server,
  port: String(port),
  login: username,
  password,
  proxy_type: type === 'socks5' ? 'socks' : type,
});

describe('Exports are read back unchanged, with any login and password', () => {
  it('url: one a line, percent-encoded, IPv6 in brackets', () => {
    const lines = write('url', proxies).split('\n');
    expect([lines.pop(), lines.map(readUrl)]).toEqual(['', proxies.map(addressed)]);
    expect(lines.every((line) => /^[\w.~%:/@[\]-]+$/.test(line))).toBe(true);
    expect(write('url', [{ ...PROXY, host: '2001:db8::7', proxy_type: 'socks', login: "o'b:@" }])).toBe(
      'socks5h://o%27b%3A%40:iagn2d@[2001:db8::7]:7330\n',
    );
  });

  it('csv: every field, formulas disarmed by an apostrophe', () => {
    const [head, ...rows] = parseCsv(write('csv', proxies));
    expect(head).toEqual(Object.keys(PROXY));
    const armed = (text = ''): string =>
      text.replaceAll(/^'(?=[\t\r])|(?<=(^|[;\t\r\n])"*)'(?=[=+\-@])/g, '');
    const texts = (proxy: PlainProxy) => Object.values(proxy).map((value) => armed(`${value ?? ''}`));
    expect(rows.map((row) => row.map(armed))).toEqual(proxies.map(texts));
    for (const formula of ['=1+1', '＝1', '＋1', '－1', '＠A1']) {
      expect(write('csv', [{ ...PROXY, descr: formula }]).endsWith(`,true,'${formula}\r\n`)).toBe(true);
      // Programs may split a cell at these characters.
      for (const start of ['a;', 'a\t', 'a;"', 'a\n']) {
        const [, row = []] = parseCsv(write('csv', [{ ...PROXY, descr: start + formula }]));
        expect(row[11]).toBe(`${start}'${formula}`);
      }
    }
  });

  it('curl: the first one in use, the others as comments', () => {
    const [first, ...others] = write('curl', proxies)
      .split('\n')
      .filter((line) => /^(# )?proxy = /.test(line));
    const urlIn = (line = ''): string => /^(?:# )?proxy = "([^"\\]+)"$/.exec(line)?.[1] ?? '';
    expect([first, ...others].map(urlIn).map(readUrl)).toEqual(proxies.map(addressed));
    expect(first).toMatch(/^proxy/);
    expect(others.every((line) => line.startsWith('# '))).toBe(true);
    expect(write('curl', proxies)).toContain('\nnoproxy = ""\n');
  });

  it('proxychains: what its words can hold, and a comment for each other proxy', () => {
    const text = write('proxychains', proxies);
    const lines = text.slice(text.indexOf('[ProxyList]\n') + '[ProxyList]\n'.length).split('\n');
    expect(lines.pop()).toBe('');
    expect(lines).toHaveLength(proxies.length);
    const canHold = (type: string, word: string): boolean =>
      (type === 'http' ? /^[\x21-\x7e]+$/ : /^[^\0\t\n\v\f\r ]+$/).test(word);
    const omitted = (id: string): string => `proxy ${id} is omitted`;
    const read = lines.map((line) => /^# (.*): /.exec(line)?.[1] ?? line.split(/[\0\t-\r ]/));
    expect(read).toEqual(
      proxies.map(({ id, host, port, login, password, proxy_type: type }) =>
        !host.endsWith('net') && canHold(type, login) && canHold(type, password)
          ? [type === 'socks' ? 'socks5' : 'http', host, port, login, password]
          : omitted(id),
      ),
    );
    expect(read.filter((line) => typeof line !== 'string').length).toBeGreaterThan(50);
    for (const password of ['', 'x'.repeat(256), 'ü'.repeat(128)]) {
      expect(write('proxychains', [{ ...PROXY, proxy_type: 'socks', password }])).toMatch(
        /\n# proxy 17 is omitted/,
      );
    }
    expect(write('proxychains', [{ ...PROXY, password: 'x'.repeat(255) }])).toContain('x'.repeat(255));
  });

  it('playwright: what its option proxy takes', () => {
    const list = JSON.parse(write('playwright', proxies)) as Record<string, string>[];
    const read = list.map(({ server = '', username, password }) => ({
      ...readUrl(server),
      login: username,
      password,
    }));
    expect(read).toEqual(proxies.map(addressed));
  });

  it.each(['1.1', '1.2'] as const)('clash: YAML %s that the schema for mihomo allows', (version) => {
    const validate = new Ajv({ strict: false }).compile(readSchema('clash'));
    const text = write('clash', proxies);
    const file = parseYaml(text, { version }) as { proxies: Record<string, unknown>[] };
    expect(file).toMatchObject({
      mode: 'rule',
      'proxy-groups': [{ name: 'rented', type: 'select', proxies: file.proxies.map(({ name }) => name) }],
      rules: ['MATCH,rented', 'MATCH,REJECT'],
    });
    expect([validate(file), validate.errors]).toEqual([true, null]);
    expect(file.proxies.map(({ port, ...one }) => namedAsOurs(one, port))).toEqual(proxies.map(addressed));
    expect(new Set(file.proxies.map(({ name }) => name)).size).toBe(proxies.length);
    // Each line is a proxy or the group, in characters that YAML calls printable.
    expect(text.match(/^ {2}- \{.*\}$/gm)).toHaveLength(proxies.length + 1);
    expect(text).not.toMatch(
      /[^\n\x20-\x7e\u00a0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]|[\u2028\u2029\ufeff]/u,
    );
    // The schema allows unknown fields, so a misspelt one would pass.
    const fields = ['name', 'type', 'server', 'port', 'username', 'password'];
    expect(Object.keys(file.proxies[0] ?? {})).toEqual(fields);
  });

  it('sing-box: JSON that its schema allows', () => {
    const validate = new Ajv2020({ strict: false }).compile(readSchema('sing-box'));
    const file = JSON.parse(write('sing-box', proxies)) as { outbounds: Record<string, unknown>[] };
    expect(file.outbounds.pop()).toEqual({
      type: 'selector',
      tag: 'rented',
      outbounds: file.outbounds.map(({ tag }) => tag),
    });
    expect(file).toMatchObject({ inbounds: [{ listen: '127.0.0.1' }], route: { final: 'rented' } });
    expect([validate({ outbounds: file.outbounds }), validate.errors]).toEqual([true, null]);
    const read = file.outbounds.map(({ server_port: port, ...one }) => namedAsOurs(one, port));
    expect(read).toEqual(proxies.map(addressed));
    expect(new Set(file.outbounds.map(({ tag }) => tag)).size).toBe(proxies.length);
    expect(validate({ outbounds: [{ type: 'socks', server: 'a', server_port: '1' }] })).toBe(false);
  });

  it.each(['{url}', '{scheme}://{login_encoded}:{password_encoded}@{host_port}'])(
    'a template for a URL, with either scheme of SOCKS5: %s',
    (template) => {
      for (const socks of ['socks5', 'socks5h'] as const) {
        const line = formatOf({ format: 'json', template, socks }).write as (proxy: ProxyOut) => string;
        const byFormat = formatOf({ format: 'url', template: null, socks }).write as typeof line;
        expect(proxies.map(line)).toEqual(proxies.map(byFormat));
        expect(line({ ...PROXY, proxy_type: 'socks' })).toMatch(new RegExp(`^${socks}://`));
      }
    },
  );

  it('a template: values as they are, on one line', () => {
    const line = compileTemplate('{id}\\t{{{login}}}\\\\{password}|{type} {scheme} {descr}.');
    for (const proxy of proxies) {
      const [login, password, descr] = [proxy.login, proxy.password, proxy.descr ?? ''].map((text) =>
        text.replaceAll(/\r\n|[\r\n]/g, ' '),
      );
      const scheme = proxy.proxy_type === 'socks' ? 'socks5h' : 'http';
      expect(line(proxy)).toBe(
        `${proxy.id}\t{${login}}\\${password}|${proxy.proxy_type} ${scheme} ${descr}.\n`,
      );
    }
  });
});

describe('An export without proxies', () => {
  it('is something that each tool can read', () => {
    expect([write('url', []), parseCsv(write('csv', []))]).toEqual(['', [Object.keys(PROXY)]]);
    // With an empty file, these tools would connect directly.
    const dead = 'http://none:none@no-active-proxy.invalid:1';
    expect(write('curl', [])).toMatch(new RegExp(`^proxy = "${dead}"\n$`, 'm'));
    const ended = { ...PROXY, id: '1', active: false };
    expect(write('curl', [ended])).toContain(`\n# proxy = "${urlOf(ended)}"\nproxy = "${dead}"\n`);
    expect(write('curl', [ended, PROXY, PROXY]).match(/^proxy = .*$/gm)).toEqual([
      `proxy = "${urlOf(PROXY)}"`,
    ]);
    expect(write('proxychains', [])).toMatch(/\[ProxyList\]\n$/);
    expect(JSON.parse(write('playwright', []))).toEqual([
      { server: 'http://no-active-proxy.invalid:1', username: 'none', password: 'none' },
    ]);
    const server = 'no-active-proxy.invalid';
    for (const list of [[], [ended], [ended, ended]]) {
      const clash = parseYaml(write('clash', list)) as Record<'proxies' | 'proxy-groups', object[]>;
      expect(clash.proxies.at(-1)).toMatchObject({ name: 'none-0', type: 'http', server, port: 1 });
      expect(clash['proxy-groups']).toMatchObject([{ proxies: ['none-0'] }]);
      const { outbounds } = JSON.parse(write('sing-box', list)) as { outbounds: object[] };
      expect(outbounds).toHaveLength(list.length + 2);
      expect(outbounds.slice(-2)).toMatchObject([
        { type: 'http', tag: 'none-0', server, server_port: 1 },
        { type: 'selector', outbounds: ['none-0'] },
      ]);
    }
    const many = Array.from({ length: 1002 }, (_, n) => ({ ...PROXY, id: String(n), active: n > 0 }));
    const { outbounds } = JSON.parse(write('sing-box', many)) as { outbounds: { outbounds?: string[] }[] };
    expect(outbounds.at(-1)?.outbounds).toEqual(many.slice(1, 1001).map(({ id }) => `ru-${id}`));
  });
});

describe('A template', () => {
  it.each([
    ['{host}:{port}:{login}:{password}', '185.22.134.250:7330:5svBNZ:iagn2d\n'],
    ['{url} {country}-{version} {date_start}/{date_end} {active}', expect.stringMatching(/^http:.* true\n$/)],
    ['{descr}', '\n'],
    ['{type}://{host_port} {type}', 'http://185.22.134.250:7330 http\n'],
    ['no placeholder', 'no placeholder\n'],
    ['constructor', 'constructor\n'],
    ['__proto__', '__proto__\n'],
    ['valueOf{{toString}}', 'valueOf{toString}\n'],
    ['{{}}', '{}\n'],
    ['a\\nb\\t\\\\n', 'a\nb\t\\n\n'],
  ])('is written for each proxy: %s', (template, line) => {
    expect(compileTemplate(template)(PROXY)).toEqual(line);
  });

  it('has brackets for IPv6, and a scheme that every client knows, where it is a URL', () => {
    const line = compileTemplate('{type}://{host_port} {type} {host}');
    expect(line({ ...PROXY, host: '2001:db8::7', proxy_type: 'socks' })).toBe(
      'socks5://[2001:db8::7]:7330 socks 2001:db8::7\n',
    );
  });

  it.each([
    ['{hots}', /^unknown placeholder \{hots\}; use one of id, type, /],
    ['{}', /^unknown placeholder \{\}/],
    ['{ host }', /^unknown placeholder/],
    ['{constructor}', /^unknown placeholder/],
    ['{__proto__}', /^unknown placeholder/],
    ['{Host}', /^unknown placeholder/],
    ['{host', /^unbalanced brace/],
    ['host}', /^unbalanced brace/],
    ['{host:{port}', /^unbalanced brace/],
    ['{{host}', /^unbalanced brace/],
    ['{host}}', /^unbalanced brace/],
    ['\\x41', /^a backslash/],
    ['{host}\\', /^a backslash/],
    ['a\nb', /^control characters/],
    ['a\0', /^control characters/],
    ['{id}'.repeat(21), /^at most 20 placeholders/],
  ])('is refused when it is none: %j', (template, mistake) => {
    expect(() => compileTemplate(template)).toThrow(mistake);
  });

  it('evaluates nothing', () => {
    const line = compileTemplate('$1 %s {{{{login}}}} <%= 1 %> $$`id`');
    expect(line({ ...PROXY, login: '{password}' })).toBe('$1 %s {{login}} <%= 1 %> $$`id`\n');
    expect(compileTemplate('{login}')({ ...PROXY, login: '{password}' })).toBe('{password}\n');
  });
});
