import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Server as NetServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type BrowserContextOptions, chromium } from 'playwright-core';
import type { ProxyType } from '../../src/common';
import type { Endpoint } from '../../src/sandbox/proxy-servers/endpoint';
import { createHttpEndpoint } from '../../src/sandbox/proxy-servers/http-endpoint';
import { createSocksEndpoint } from '../../src/sandbox/proxy-servers/socks-endpoint';
import { stopListening } from '../../src/sandbox/system';
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
const toAscii = (text: string): string => text.replaceAll(/[^ -~]/g, '');

const run = promisify(execFile);

let service: TestService;
let directory: string;
let page: Server;
let pageUrl: string;
const endpoints: Partial<Record<ProxyType, Endpoint>> = {};
/** The logins and passwords that the endpoints were given. */
const seen = new Set<string>();

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
  page = createServer((_request, response) => response.end(PAGE));
  pageUrl = `http://127.0.0.1:${await listen(page)}/`;
  const findRefusal = (login: string, password: string): string | null => {
    seen.add(`${login} ${password}`);
    return toAscii(`${login} ${password}`) === toAscii(`${LOGIN} ${PASSWORD}`)
      ? null
      : 'Wrong login or password';
  };
  endpoints.http = createHttpEndpoint(findRefusal);
  endpoints.socks = createSocksEndpoint(findRefusal);
});
const user = forEachTest(() => service.createUser());
beforeEach(() => {
  seen.clear();
});
beforeClosing(async () => {
  for (const type of TYPES) await endpoints[type]?.close();
  await service.close();
  await stopListening(page);
  await removeTestDirectory(directory);
});

type Credentials = readonly [login: string, password: string];

/** Gives the user a proxy with this login and password, and starts it. */
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

/** A proxy of the sandbox's works, and does not with another password. */
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

/** A tool that fetches the page through the first proxy of the exported file. */
interface Tool {
  readonly name: string;
  readonly program: string | undefined;
  readonly path: string;
  /** The tool cannot send other characters to an HTTP proxy. */
  readonly asciiOverHttp?: true;
  /** Without what the environment says about proxies. */
  readonly fetchBy: (program: string, file: string) => Promise<string>;
}

const QUIET = ['--silent', '--show-error', '--fail', '--max-time', '20'];
const curl = findProgram('curl');
const output = async (program: string, ...parameters: readonly string[]): Promise<string> =>
  (await run(program, parameters, { env: { PATH: process.env['PATH'] ?? '' }, timeout: 30_000 })).stdout;

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
      output(program, ...QUIET, '--proxy', (await readFile(file, 'utf8')).trimEnd(), pageUrl),
  },
  {
    name: 'curl --proxy-user, with a line of a template',
    program: curl,
    path: `lists/template?template=${encodeURIComponent('{scheme}://{host}:{port}\\t{login}\\t{password}')}`,
    fetchBy: async (program, file) => {
      // curl decodes both.
      const [proxy = '', ...credentials] = (await readFile(file, 'utf8')).trimEnd().split('\t');
      const login = credentials.map(encodeURIComponent).join(':');
      return output(program, ...QUIET, '--proxy', proxy, '--proxy-user', login, pageUrl);
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

  it('cannot log in at a proxy of type socks, as the documentation says', async () => {
    await buy('socks');
    await expect(fetchBy(await save('lists/playwright'))).rejects.toThrow(
      'Browser does not support socks5 proxy authentication',
    );
  });
});
