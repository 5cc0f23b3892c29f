import { execFile, spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Server as NetServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Browser, type BrowserContextOptions, chromium } from 'playwright-core';
import type { ProxyType } from '../../src/common';
import { WRONG_EXIT_ADDRESS, type Endpoint } from '../../src/sandbox/proxy-servers/endpoint';
import { createHttpEndpoint } from '../../src/sandbox/proxy-servers/http-endpoint';
import { createSocksEndpoint } from '../../src/sandbox/proxy-servers/socks-endpoint';
import { stopListening } from '../../src/sandbox/system';
import { codeBlocks } from '../support/code-blocks';
import { beforeClosing, forAllTests, forEachTest } from '../support/fixtures';
import { listen } from '../support/listen';
import { findChromium, findProgram } from '../support/programs';
import { insertProxies } from '../support/proxy-rows';
import { type RawResponse, sendRaw } from '../support/raw-http';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';
import { startTestService, type TestService } from '../support/test-service';

const TYPES: readonly ProxyType[] = ['http', 'socks'];
const PAGE = 'fetched through a proxy';
/** Characters that URLs, shells, configuration files, JSON or YAML quote. Logins over HTTP have no colon. */
const LOGIN = `us@r#1/?%41"'\\&ü漢`;
const PASSWORD = `p:a@s#s"q'\\%2F$HOME{x}|ü😀`;
const PLAIN = ['login', 'password'] as const;
const toAscii = (text: string): string => text.replaceAll(/[^ -~]/g, '');
const run = promisify(execFile);
let service: TestService;
let directory: string;
let page: Server;
let pageUrl: string;
const endpoints: Partial<Record<ProxyType, Endpoint>> = {};
const seen = new Set<string>();
let directRequests = 0;
const portOf = (server: NetServer): number => (server.address() as AddressInfo).port;

const download = (path: string, from = user): Promise<RawResponse> =>
  sendRaw(service.baseUrl, { path: `/proxies/${path}`, token: from.token });

async function save(path: string, from = user): Promise<string> {
  const response = await download(path, from);
  expect(response.status).toBe(200);
  const name = /filename="([^"]+)"$/.exec(String(response.headers['content-disposition']))?.[1] ?? '';
  const file = join(directory, name);
  await writeFile(file, response.text);
  return file;
}

beforeAll(async () => {
  directory = await createTestDirectory('exports');
  service = await startTestService();
  page = createServer((request, response) => {
    if (request.socket.remoteAddress !== WRONG_EXIT_ADDRESS) directRequests += 1;
    response.end(PAGE);
  });
  pageUrl = `http://127.0.0.1:${await listen(page)}/`;
  const findRefusal = (login: string, password: string): string | null => {
    seen.add(`${login} ${password}`);
    const known = [`${LOGIN} ${PASSWORD}`, PLAIN.join(' ')].map(toAscii);
    return known.includes(toAscii(`${login} ${password}`)) ? null : 'Wrong login or password';
  };
  endpoints.http = createHttpEndpoint(findRefusal, () => 'elsewhere');
  endpoints.socks = createSocksEndpoint(findRefusal, () => 'elsewhere');
});
const user = forEachTest(() => service.createUser());
beforeEach(() => {
  seen.clear();
  directRequests = 0;
});
beforeClosing(async () => {
  for (const type of TYPES) await endpoints[type]?.close();
  await service.close();
  await stopListening(page);
  await removeTestDirectory(directory);
});

type Credentials = readonly [login: string, password: string];

async function rentStrange(type: ProxyType, [login, password]: Credentials): Promise<void> {
  const { server } = endpoints[type] ?? {};
  if (!server) throw new Error('the proxy was not started');
  const port = String(server.listening ? portOf(server) : await listen(server));
  const [id] = await insertProxies(service.dataSource, user.id, 1, { port, proxyType: type });
  await service.dataSource.query('UPDATE proxies SET login = $2, password = $3 WHERE id = $1', [
    id,
    login,
    password,
  ]);
}

async function buy(type: ProxyType): Promise<void> {
  const { data } = await user.buy({ count: 1, proxy_type: type });
  expect(data?.proxies).toHaveLength(1);
}

async function expectThroughBought(
  type: ProxyType,
  path: string,
  fetchBy: (file: string) => Promise<string>,
): Promise<void> {
  await buy(type);
  const { password = '' } = (await user.api.GET('/proxies')).data?.[0] ?? {};
  const file = await save(path);
  expect(await fetchBy(file)).toBe(PAGE);
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replaceAll(password, `${password}x`));
  await expect(fetchBy(file)).rejects.toThrow();
}

async function expectThroughStrange(
  type: ProxyType,
  path: string,
  fetchBy: (file: string) => Promise<string>,
  credentials: Credentials = [LOGIN, PASSWORD],
): Promise<void> {
  await rentStrange(type, credentials);
  expect(await fetchBy(await save(path))).toBe(PAGE);
  // Chromium asks without a login first.
  expect([...seen].filter((login) => login !== ' ')).toEqual([credentials.join(' ')]);
}

interface Tool {
  readonly name: string;
  readonly program: string | undefined;
  readonly path: string;
  readonly asciiOverHttp?: true;
  readonly fetchBy: (program: string, file: string) => Promise<string>;
}

const NEVER_DIRECT = ['--noproxy', ''];
const QUIET = ['--silent', '--show-error', '--fail', '--max-time', '20'];
const curl = findProgram('curl');
/** Each variable says to use no proxy, or another one, as do the files in the home directory. */
const USERS_ENVIRONMENT = {
  PATH: process.env['PATH'] ?? '',
  NO_PROXY: '*',
  no_proxy: '127.0.0.1',
  http_proxy: 'http://127.0.0.1:1',
};
const USERS_SETTINGS = {
  '.curlrc': 'noproxy = "*"\n',
  '.wgetrc': 'use_proxy = off\n',
  '.aria2/aria2.conf': 'no-proxy=127.0.0.1\nhttp-proxy=http://127.0.0.1:1\n',
};
const output = async (program: string, ...parameters: readonly string[]): Promise<string> =>
  (await run(program, parameters, { env: { ...USERS_ENVIRONMENT, HOME: directory }, timeout: 30_000 }))
    .stdout;

const TOOLS: readonly Tool[] = [
  {
    name: 'curl --config',
    program: curl,
    path: 'lists/curl',
    fetchBy: (program, file) => output(program, '--config', file, ...QUIET, pageUrl),
  },
  {
    name: 'curl --proxy, with a line of the format url',
    program: curl,
    path: 'lists/url',
    fetchBy: async (program, file) =>
      output(
        program,
        ...QUIET,
        ...NEVER_DIRECT,
        '--proxy',
        (await readFile(file, 'utf8')).trimEnd(),
        pageUrl,
      ),
  },
  {
    name: 'curl --proxy-user, with a line of a template',
    program: curl,
    path: `lists/template?template=${encodeURIComponent('{scheme}://{host}:{port}\\t{login}\\t{password}')}`,
    fetchBy: async (program, file) => {
      // curl decodes login and password.
      const [proxy = '', ...credentials] = (await readFile(file, 'utf8')).trimEnd().split('\t');
      const login = credentials.map(encodeURIComponent).join(':');
      return output(program, ...QUIET, ...NEVER_DIRECT, '--proxy', proxy, '--proxy-user', login, pageUrl);
    },
  },
  {
    name: 'proxychains4',
    program: curl === undefined ? undefined : findProgram('proxychains4'),
    path: 'lists/proxychains',
    asciiOverHttp: true,
    fetchBy: (program, file) => output(program, '-q', '-f', file, String(curl), ...QUIET, pageUrl),
  },
];

describe.each(TOOLS)('$name', ({ program, path, asciiOverHttp, fetchBy }) => {
  if (program === undefined) {
    it.skip('is not on the PATH (apt-get install curl proxychains4)', () => undefined);
    return;
  }
  const fetchPage = (file: string): Promise<string> => fetchBy(program, file);

  it.each(TYPES)('fetches a page through a bought proxy of type %s', async (type) => {
    await expectThroughBought(type, path, fetchPage);
  });

  it.each(TYPES)('logs in at a proxy of type %s with characters that need quoting', async (type) => {
    const credentials: Credentials =
      asciiOverHttp && type === 'http' ? [toAscii(LOGIN), toAscii(PASSWORD)] : [LOGIN, PASSWORD];
    await expectThroughStrange(type, path, fetchPage, credentials);
  });
});

const RECIPE = 'docs/recipes/use-your-proxies.md';
/** Loading the packages would take a second. */
const FIND_ALL = `from importlib.metadata import version
for name in ('httpx', 'requests', 'scrapy'): version(name)`;
/** Debian's Python has its packages, whichever comes first on the PATH. */
const python = ['python3', '/usr/bin/python3'].find((one) => spawnSync(one, ['-c', FIND_ALL]).status === 0);
const RECIPE_TOOLS = [
  ['curl --noproxy', 'sh', curl, 'curl'],
  ['wget', 'sh', findProgram('wget'), 'wget'],
  ['aria2c', 'sh', findProgram('aria2c'), 'aria2'],
  ['proxychains4', 'sh', findProgram('proxychains4'), 'proxychains4'],
  ['requests', 'python', python, 'python3-requests'],
  ['httpx', 'python', python, 'python3-httpx'],
  ['scrapy', 'python', python, 'python3-scrapy'],
] as const;

describe.each(RECIPE_TOOLS)('The recipe for %s', (tool, language, program, debian) => {
  if (program === undefined || curl === undefined) {
    it.skip(`apt-get install curl ${debian}`, () => undefined);
    return;
  }

  async function follow(): Promise<void> {
    await mkdir(join(directory, '.data'), { recursive: true });
    await mkdir(join(directory, '.aria2'), { recursive: true });
    await writeFile(join(directory, '.data', 'demo-token'), user.token);
    for (const [file, text] of Object.entries(USERS_SETTINGS)) await writeFile(join(directory, file), text);
    const [head = '', list = '', ...blocks] = codeBlocks(RECIPE, 'sh');
    const names = new RegExp(`\\b${tool.replace(' ', '.*')}\\b`);
    const block = (language === 'sh' ? blocks : codeBlocks(RECIPE, 'python')).find((one) => names.test(one));
    const script = `${block}`
      .replaceAll('"$URL/health"', `"${pageUrl}"`)
      .replaceAll('os.environ["URL"] + "/health"', `"${pageUrl}"`)
      .replaceAll(/\.json\(\)/g, '.text')
      // Debian's version calls the parameter `proxies`.
      .replace('Client(proxy=', 'Client(proxies=');
    await writeFile(join(directory, 'spider.py'), script);
    const isSpider = tool === 'scrapy' ? ['-m', 'scrapy', 'runspider', '-s', 'ROBOTSTXT_OBEY=1'] : [];
    const commands = language === 'sh' ? script : [program, ...isSpider, 'spider.py'].join(' ');
    const before = `cd ${directory}\n${head.replace('http://127.0.0.1:3000', service.baseUrl)}${list}`;
    await output('bash', '-c', before + commands);
  }

  it('fetches nothing directly, in an environment that says to use no proxy', async () => {
    await rentStrange('http', PLAIN);
    await follow();
    expect([...seen]).toEqual([PLAIN.join(' ')]);
    expect(directRequests).toBe(0);
  });

  it('fetches nothing without an active proxy', async () => {
    await insertProxies(service.dataSource, user.id, 1, { endsInSeconds: -60 });
    await follow().catch(() => undefined);
    expect(directRequests).toBe(0);
  });
});

describe('Chromium, driven by Playwright', () => {
  const executablePath = findChromium();
  if (executablePath === undefined) {
    it.skip('is not on the PATH (apt-get install chromium)', () => undefined);
    return;
  }
  const browser = forAllTests(() => chromium.launch({ executablePath }));

  async function fetchBy(file: string): Promise<string> {
    const [proxy] = JSON.parse(await readFile(file, 'utf8')) as [Required<BrowserContextOptions>['proxy']];
    const context = await browser.newContext({ proxy });
    try {
      const response = await (await context.newPage()).goto(pageUrl, { timeout: 20_000 });
      if (!response?.ok()) throw new Error(`the proxy returned ${response?.status()}`);
      return await response.text();
    } finally {
      await context.close();
    }
  }

  it('fetches a page through a bought proxy of type http', async () => {
    await expectThroughBought('http', 'lists/playwright', fetchBy);
  });

  it('logs in at a proxy of type http with characters that need quoting', async () => {
    await expectThroughStrange('http', 'lists/playwright', fetchBy);
  });

  it('sends no UDP of WebRTC with the argument of the recipe', async () => {
    const stun = createSocket('udp4').bind(0, '127.0.0.1');
    await once(stun, 'listening');
    let datagrams = 0;
    stun.on('message', () => (datagrams += 1));
    await rentStrange('http', PLAIN);
    const [proxy] = JSON.parse(await readFile(await save('lists/playwright'), 'utf8'));
    const [, argument = ''] = /args: \['(.*)'\]/.exec(codeBlocks(RECIPE, 'js').join('')) ?? [];
    const gather = async (one: Browser): Promise<number> => {
      const context = await one.newContext({ proxy });
      const tab = await context.newPage();
      await tab.goto(pageUrl);
      datagrams = 0;
      const gathering = tab.evaluate(
        `new Promise(async (resolve) => {
           const urls = 'stun:127.0.0.1:${stun.address().port}';
           const peer = new RTCPeerConnection({ iceServers: [{ urls }] });
           peer.onicegatheringstatechange = () => peer.iceGatheringState === 'complete' && resolve();
           peer.createDataChannel('any');
           await peer.setLocalDescription(await peer.createOffer());
         })`,
      );
      await Promise.race([gathering, once(stun, 'message')]);
      await context.close();
      await gathering.catch(() => undefined);
      return datagrams;
    };
    const obedient = await chromium.launch({ executablePath, args: [argument] });
    try {
      expect(await gather(browser)).toBeGreaterThan(0);
      expect(await gather(obedient)).toBe(0);
    } finally {
      await obedient.close();
      stun.close();
    }
  });

  it('cannot log in at a proxy of type socks, as the documentation says', async () => {
    await buy('socks');
    await expect(fetchBy(await save('lists/playwright'))).rejects.toThrow(
      'Browser does not support socks5 proxy authentication',
    );
  });
});
