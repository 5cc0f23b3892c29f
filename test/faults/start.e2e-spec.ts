import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { queryAt } from '../../drills/support/database';
import { freePorts } from '../../drills/support/ports';
import { SandboxControl } from '../../src/sandbox';
import { createApiClient } from '../support/api-client';
import {
  BUILD_TIMEOUT_MS,
  type BuiltService,
  CLI_START,
  ensureBuild,
  eventually,
  groupOf,
  isRunning,
  killLeftovers,
  NPM_START,
  readCompanionPids,
  readPostmaster,
  readSandboxAddress,
  runCli,
  runService,
  startBuiltService,
} from '../support/built-service';
import { findProgram } from '../support/programs';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';
import { tuned } from '../support/tuning';

const runProgram = promisify(execFile);
const PROJECT = join(__dirname, '..', '..');
const SECRET = 'sesame';
const NOTHING_BOUGHT = /order \d+: nothing was bought/;
const UNKNOWN_OUTCOME = /order \d+: the outcome is unknown/;

interface Tour {
  readonly docs: string;
  readonly token: string;
  readonly commands: Readonly<Record<string, string>>;
}

function readTour(service: BuiltService): Tour {
  const named = [...service.stdout().matchAll(/^(\w+(?: \w+)?) {2,}(\S.*)$/gm)].map(
    ([, name = '', text = '']) => [name, text] as const,
  );
  const texts = Object.fromEntries(named);
  return {
    docs: texts['Docs'] ?? '',
    token: texts['Demo token'] ?? '',
    commands: Object.fromEntries(named.filter(([, text]) => text.startsWith('curl '))),
  };
}

async function readPossessions(service: BuiltService) {
  const { GET } = createApiClient(service.baseUrl, readTour(service).token);
  const [profile, proxies] = [await GET('/me'), await GET('/proxies')];
  return { profile: profile.data, proxies: proxies.data ?? [] };
}

async function buy(service: BuiltService) {
  const { POST } = createApiClient(service.baseUrl, readTour(service).token);
  const { data, error } = await POST('/proxies/buy', { body: { country: 'ru', period: 30 } });
  const proxy = data?.proxies[0];
  if (!proxy) throw new Error(`nothing was bought: ${JSON.stringify(error)} ${service.stderr()}`);
  return proxy;
}

async function ping(service: BuiltService, proxyId: string) {
  const { GET } = createApiClient(service.baseUrl, readTour(service).token);
  return (await GET('/proxies/{proxy_id}/ping', { params: { path: { proxy_id: proxyId } } })).data;
}

async function paste(line: string): Promise<{ status: number; text: string }> {
  const { stdout } = await runProgram('sh', ['-c', `${line} -sS -w '\\n%{http_code}'`]);
  const [, text = '', status] = /^(.*)\n(\d+)$/s.exec(stdout) ?? [];
  return { status: Number(status), text };
}

async function readProvider(dataDir: string): Promise<{ PX6_BASE_URL: string; PX6_API_KEY: string }> {
  const { baseUrl, apiKey } = await readSandboxAddress(dataDir);
  return { PX6_BASE_URL: baseUrl, PX6_API_KEY: apiKey };
}

const canUnshare = process.geteuid?.() === 0 && spawnSync('unshare', ['--mount', 'true']).status === 0;
/** As root that may not look into processes, as in a container. */
const CLI_IN_CONTAINER = [...(canUnshare ? ['setpriv', '--bounding-set=-sys_ptrace'] : []), ...CLI_START];

beforeAll(ensureBuild, BUILD_TIMEOUT_MS);

describe('a start without configuration', () => {
  let dataDir: string;
  let checkout: string;
  let port: number;
  const linkPackages = () => symlink(join(PROJECT, 'node_modules'), join(checkout, 'node_modules'));
  const loadedFile = () => join(dataDir, 'loaded.json');
  const readDatabasePassword = () => readFile(join(dataDir, 'postgres', 'superuser-password'), 'utf8');
  let firstPossessions: Awaited<ReturnType<typeof readPossessions>>;
  let atTheEnd: typeof firstPossessions & { token: string };
  let service: BuiltService;
  let other: BuiltService;
  /** With a fixed port, the service checks proxies by its own echo endpoint. */
  const start = (environment = {}, command?: readonly string[]): Promise<BuiltService> =>
    startBuiltService({ DATA_DIR: dataDir, PORT: String(port), ...environment }, command);

  beforeAll(async () => {
    dataDir = await createTestDirectory();
    checkout = await createTestDirectory('checkout-');
    for (const path of ['dist', 'package.json']) await symlink(join(PROJECT, path), join(checkout, path));
    await linkPackages();
    [port = 0] = await freePorts(1);
    service = await start();
    firstPossessions = await readPossessions(service);
  }, BUILD_TIMEOUT_MS);

  afterAll(async () => {
    await service.stop();
    await killLeftovers();
    await removeTestDirectory(dataDir);
    await removeTestDirectory(checkout);
  });

  const readTokenAndPossessions = async () => ({
    token: readTour(service).token,
    ...(await readPossessions(service)),
  });

  /** Each process limits itself to the provider's rate: several of them exceed it. */
  const liftRateLimit = async (): Promise<unknown> =>
    new SandboxControl(await readSandboxAddress(dataDir)).setRateLimit(null);

  const expectBooksToHold = async (cli?: readonly string[]): Promise<void> => {
    const audit = await runCli(['audit', '--provider'], { DATA_DIR: dataDir }, cli);
    expect(audit).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(audit.stdout)).toMatchObject({ ok: true });
  };

  it('has a demo user with 10,000 roubles', () => {
    expect(firstPossessions).toMatchObject({
      profile: { username: 'demo', balance: '10000.00' },
      proxies: [],
    });
  });

  it('prints its address, its docs and a token', async () => {
    const { docs, token } = readTour(service);
    expect(service.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(docs).toBe(`${service.baseUrl}/docs`);
    expect((await fetch(docs)).status).toBe(200);
    expect(token).toMatch(/^prx_[0-9A-Za-z]{49}$/);
  });

  (findProgram('curl') ? it : it.skip)('prints commands that work when pasted one by one', async () => {
    const { commands } = readTour(service);
    const expected: Record<string, unknown> = {
      Countries: expect.arrayContaining(['ru']),
      Quote: expect.objectContaining({ count: 2, currency: 'RUB' }),
      Buy: expect.objectContaining({ proxies: [expect.any(Object), expect.any(Object)] }),
      List: expect.arrayContaining([expect.objectContaining({ active: true })]),
      Ping: { latency_ms: expect.any(Number) },
      Use: expect.objectContaining({ name: 'Proxy Rental Service' }),
      Prolong: expect.objectContaining({ proxy: expect.any(Object) }),
      Export: expect.stringMatching(/^(\S+:\d+:\w+:\w+\n){2,}$/),
      'Top up': expect.objectContaining({ payment_url: expect.stringContaining('/pay/') }),
    };
    expect(Object.keys(commands)).toEqual(Object.keys(expected));
    for (const [name, line] of Object.entries(commands)) {
      const { status, text } = await paste(line);
      expect({ name, status }).toEqual({ name, status: name === 'Top up' ? 201 : 200 });
      expect(name === 'Export' ? text : JSON.parse(text)).toEqual(expected[name]);
      if (['Buy', 'Prolong', 'Top up'].includes(name)) expect(await paste(line)).toMatchObject({ text });
    }
  });

  it('credits a deposit after a click on the page to pay it', async () => {
    const { token } = readTour(service);
    const { GET } = createApiClient(service.baseUrl, token);
    const before = Number((await GET('/me')).data?.balance);
    const authorization = { Authorization: `Bearer ${token}` };
    const response = await fetch(`${service.baseUrl}/deposits`, {
      method: 'POST',
      headers: { ...authorization, 'Content-Type': 'application/json', 'Idempotency-Key': 'by-browser' },
      body: '{"amount":"500.00"}',
    });
    const { id, payment_url: url } = (await response.json()) as { id: number; payment_url: string };
    // No check is due, so only the notification can have the payment read.
    const { port: databasePort } = await readPostmaster(dataDir);
    await queryAt(
      `postgres://postgres:${await readDatabasePassword()}@127.0.0.1:${databasePort}/proxy_rental`,
      `UPDATE deposits SET next_read_at = now() + interval '1 hour' WHERE id = ${id}`,
    );
    const page = await (await fetch(url)).text();
    expect(page).toContain('<h1>500.00 RUB</h1>');
    const [, action = ''] = /<form method="post" action="(\S+)"><button>Pay</.exec(page) ?? [];
    const isCredited = fetch(`${service.baseUrl}/deposits/${id}?wait=30`, { headers: authorization });
    const paid = await fetch(new URL(action, url), { method: 'POST' });
    expect(await (await isCredited).json()).toMatchObject({ state: 'succeeded' });
    expect((await GET('/me')).data).toMatchObject({ balance: (before + 500).toFixed(2) });
    expect(await paid.text()).toContain('The payment is <b>succeeded</b>.');
  });

  it('warns of nothing, and ends by Ctrl-C next to another one', async () => {
    const bought = await buy(service);
    const { GET } = createApiClient(service.baseUrl, readTour(service).token);
    const checked = await GET('/proxies/{proxy_id}/check', { params: { path: { proxy_id: bought.id } } });
    expect(checked.data).toMatchObject({ works: true });

    const program = join(dataDir, 'tell-what-is-loaded.cjs');
    const files = 'JSON.stringify(Object.keys(require.cache))';
    const print = `require('fs').writeFileSync(${JSON.stringify(loadedFile())}, ${files})`;
    const isService = "process.argv[1].endsWith('/src/main.js')";
    await writeFile(program, `process.on('exit', () => ${isService} && ${print});`);
    await liftRateLimit();
    const own = { PORT: '0', DRAIN_SECONDS: '3600', NODE_OPTIONS: `--require ${program}` };
    other = await start({ ...(await readProvider(dataDir)), ...own }, NPM_START);
    const companions = await readCompanionPids(dataDir);
    expect(other.baseUrl).not.toBe(service.baseUrl);
    expect(readTour(other).token).toBe(readTour(service).token);
    const proxy = await buy(other);
    atTheEnd = await readTokenAndPossessions();
    expect(atTheEnd.proxies).toContainEqual(proxy);

    service.pressCtrlC();
    // npm passes Ctrl-C on as well. A second SIGINT at once would be merged with the first.
    service.kill('SIGTERM');
    expect(await service.ended()).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.not.stringMatching(/\bWARN\b/),
    });
    await eventually(() => !isRunning(companions.sandbox));
    expect((await readPossessions(other)).proxies).toContainEqual(proxy);
    expect(isRunning(companions.postgres)).toBe(true);
  });

  it('serves everything for DRAIN_SECONDS, which a second signal to npm alone cuts short', async () => {
    const statusOf = async (path: string): Promise<number> => (await fetch(other.baseUrl + path)).status;
    expect(await statusOf('/health/ready')).toBe(200);
    const processes = await groupOf(other.pid);
    other.kill('SIGTERM');
    await eventually(async () => (await statusOf('/health/ready')) === 503);
    expect(await statusOf('/docs')).toBe(200);
    // Within a second, the two count as one.
    await pause(1100);
    other.kill('SIGTERM');
    expect(await other.ended()).toMatchObject({ code: 130, stderr: '' });
    await eventually(() => !processes.some(isRunning));

    // Traces are off.
    const packages = await readFile(loadedFile(), 'utf8');
    expect(packages).toContain('/node_modules/express/');
    expect(packages).not.toContain('/node_modules/@opentelemetry/');
  });

  it('takes over the database of a service that was cut short, and begins again where it was', async () => {
    const { pid } = await readPostmaster(dataDir);
    expect(isRunning(pid)).toBe(true);
    const program = join(checkout, 'dist', 'src', 'main.js');
    const fromCheckout = { NODE_OPTIONS: '--preserve-symlinks --preserve-symlinks-main' };
    service = await start({ ...fromCheckout, LOG_LEVEL: 'debug', LOG_FORMAT: 'json' }, [
      process.execPath,
      program,
    ]);
    expect(await readPostmaster(dataDir)).toMatchObject({ pid });
    expect(await readTokenAndPossessions()).toEqual(atTheEnd);
    expect(await ping(service, atTheEnd.proxies.at(-1)?.id ?? '')).toEqual({
      latency_ms: expect.any(Number),
    });
  });

  it('refuses a port that is taken, without harm to the one that has it', async () => {
    await liftRateLimit();
    const provider = await readProvider(dataDir);
    const { code, stderr } = await runService({ ...provider, DATA_DIR: dataDir, PORT: String(port) });
    expect(code).toBe(1);
    const free = port + 1;
    expect(stderr).toBe(`Port ${port} on 127.0.0.1 is already in use: choose another with PORT=${free}.\n`);
    await buy(service);
  });

  it('logs no secret at its most talkative', async () => {
    const bought = await buy(service);
    const { token } = readTour(service);
    const address = await readSandboxAddress(dataDir);
    const { baseUrl, controlSecret, apiKey } = address;
    const control = new SandboxControl(address);
    const { POST, GET } = createApiClient(service.baseUrl, token);
    const body = { country: 'ru', period: 30 };
    await ping(service, bought.id);
    await POST('/proxies/{proxy_id}/prolong', { params: { path: { proxy_id: bought.id } }, body });
    await GET('/proxies/export');
    await fetch(`${service.baseUrl}/me?access_token=${token}`);
    const faults: [Parameters<typeof control.addFault>[0], RegExp][] = [
      [{ method: 'buy', kind: 'error', errorId: 100 }, NOTHING_BOUGHT],
      [{ method: 'buy', kind: 'reset' }, UNKNOWN_OUTCOME],
    ];
    for (const [fault, logged] of faults) {
      await control.addFault(fault);
      expect((await POST('/proxies/buy', { body })).response.status).toBe(503);
      await eventually(() => logged.test(service.stdout() + service.stderr()));
    }

    const log = [
      ...(service.stdout().match(/^\{.*$/gm) ?? []),
      service.stderr(),
      await readFile(join(dataDir, 'sandbox', 'sandbox.log'), 'utf8'),
      await readFile(join(dataDir, 'postgres', 'server.log'), 'utf8'),
    ].join('\n');
    expect(log).toContain('dependencies initialized');
    expect(log).toContain('/proxies/buy');
    const secrets = {
      token,
      apiKey,
      controlSecret,
      provider: `${baseUrl}/api`,
      databasePassword: await readDatabasePassword(),
      proxyPassword: bought.password,
    };
    for (const [name, secret] of Object.entries(secrets)) {
      expect({ name, isEmpty: secret === '', isLogged: log.includes(secret) }).toEqual({
        name,
        isEmpty: false,
        isLogged: false,
      });
    }
  });

  const isReady = async (): Promise<boolean> => (await fetch(`${service.baseUrl}/health/ready`)).ok;

  it('sells while `npm ci` deletes node_modules, and serves all that it served before', async () => {
    const done = new AbortController();
    const buyOn = async (): Promise<number> => {
      for (let bought = 0; ; bought += 1) {
        if (done.signal.aborted) return bought;
        await buy(service);
        await pause(50);
      }
    };
    const { token } = readTour(service);
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const clientInfo = { name: 'a', version: '1' };
    const initialize = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
    const useAll = async (): Promise<void> => {
      const proxy = await buy(service);
      const paths = [
        `/proxies/${proxy.id}/check`,
        '/proxies/lists/clash',
        ...[
          'docs/',
          'docs/swagger-ui-bundle.js',
          'docs/swagger-ui-standalone-preset.js',
          'docs/swagger-ui.css',
        ]
          .flatMap((page) => [page, `staff/${page}`])
          .map((page) => `/${page}`),
      ];
      for (const path of paths) {
        const response = await fetch(service.baseUrl + path, { headers });
        expect([path, response.ok || (await response.text())]).toEqual([path, true]);
      }
      const { status } = await fetch(`${service.baseUrl}/mcp`, {
        method: 'POST',
        headers: { ...headers, Accept: 'application/json, text/event-stream' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize }),
      });
      expect(status).toBe(200);
    };
    await useAll();
    const written = service.stderr();
    const buying = buyOn();
    await rm(join(checkout, 'node_modules'));
    await useAll();
    done.abort();
    expect(await buying).toBeGreaterThan(0);
    expect(service.stderr()).toBe(written);
    await linkPackages();
  });

  it('is administered while it runs, and keeps its database if a backend was killed before', async () => {
    const { postgres } = await readCompanionPids(dataDir);
    const children = await readFile(`/proc/${postgres}/task/${postgres}/children`, 'utf8');
    process.kill(Number(children.trim().split(' ').at(-1)), 'SIGKILL');
    await expectBooksToHold();
    expect(await readCompanionPids(dataDir)).toMatchObject({ postgres });
    await eventually(isReady);
    await buy(service);
  });

  it('starts its database again when that is killed, sells, and publishes events', async () => {
    const { postgres } = await readCompanionPids(dataDir);
    process.kill(postgres, 'SIGKILL');
    await eventually(async () => (await readCompanionPids(dataDir)).postgres !== postgres && isReady());
    const { GET } = createApiClient(service.baseUrl, readTour(service).token);
    const { data: now } = await GET('/events', { params: { query: { after: 'now' } } });
    await buy(service);
    const query = { after: now?.next_cursor ?? '', wait: 30 };
    expect((await GET('/events', { params: { query } })).data?.items).not.toEqual([]);
  });

  it('ends with code 1 when its database does not start again', async () => {
    atTheEnd = await readTokenAndPossessions();
    const { postgres, sandbox } = await readCompanionPids(dataDir);
    const configuration = join(dataDir, 'postgres', 'data', 'postgresql.conf');
    const good = await readFile(configuration, 'utf8');
    await writeFile(configuration, 'shared_buffers = much');
    for (const pid of [postgres, sandbox]) process.kill(pid, 'SIGKILL');
    const { code, stderr } = await service.ended();
    expect(code).toBe(1);
    expect(stderr).toMatch(/^The embedded PostgreSQL did not start .*shared_buffers/m);
    await writeFile(configuration, good);
  });

  it('is administered by a command line that starts what was killed, and ends it again', async () => {
    await expectBooksToHold(CLI_IN_CONTAINER);
    expect(existsSync(join(dataDir, 'postgres', 'data', 'postmaster.pid'))).toBe(false);
    expect(existsSync(join(dataDir, 'sandbox', 'address.json'))).toBe(false);
  });

  it('has lost nothing, and ends after DRAIN_SECONDS when npm is gone and its sandbox hangs', async () => {
    // A call of the sandbox's shop that does not end is waited for.
    service = await start({ DRAIN_SECONDS: '1', ...tuned({ paymentTimeoutMs: 1000 }) }, NPM_START);
    expect(await readTokenAndPossessions()).toEqual(atTheEnd);
    const { postgres, sandbox } = await readCompanionPids(dataDir);
    const processes = [...(await groupOf(service.pid)), postgres, sandbox];
    process.kill(sandbox, 'SIGSTOP');
    const killedMs = performance.now();
    service.kill('SIGKILL');
    await eventually(() => !processes.some(isRunning));
    expect(performance.now() - killedMs).toBeGreaterThan(1000);
    expect(await readFile(join(dataDir, 'postgres', 'server.log'), 'utf8')).toMatch(
      /database system is shut down\n$/,
    );
  });
});

describe('a start on a machine that PostgreSQL does not like', () => {
  const asStranger = ['setpriv', '--reuid=54321', '--regid=54321', '--clear-groups'];
  const module = './dist/src/local/postgres/embedded-postgres';
  const acquire = `require('${module}').acquireEmbeddedPostgres({ dataDir: process.env.DATA_DIR })`;
  const mount = 'mount -t tmpfs -o size=64k none /dev/shm && exec "$@"';

  (canUnshare ? it : it.skip).each([
    ['add this user to /etc/passwd', asStranger],
    ['mount a larger /dev/shm', ['unshare', '--mount', 'sh', '-c', mount, 'sh']],
  ])('says what to do: %s', async (cure, wrapper) => {
    const dataDir = await createTestDirectory('', tmpdir());
    await chmod(dataDir, 0o777);
    const { code, stderr } = await runCli(['-e', acquire], { DATA_DIR: dataDir }, [
      ...wrapper,
      process.execPath,
    ]);
    expect([code, stderr]).toEqual([1, expect.stringContaining(` Set DATABASE_URL, or ${cure}.`)]);
    await removeTestDirectory(dataDir);
  });
});

describe('a start on a database of its own', () => {
  it('is refused in one line when it cannot be reached', async () => {
    const dataDir = await createTestDirectory();
    const { code, stderr } = await runService({
      DATABASE_URL: `postgres://user:${SECRET}@127.0.0.1:1/x`,
      PROVIDER: 'sandbox',
      DATA_DIR: dataDir,
    });
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'The database cannot be reached\n' });
    expect(existsSync(join(dataDir, 'sandbox', 'address.json'))).toBe(false);
    await removeTestDirectory(dataDir);
  });
});

describe('a start with mistakes in the environment', () => {
  it('names all of them and no value, and begins nothing', async () => {
    const directory = await createTestDirectory();
    const mistakes = [
      'PORT',
      'DATABASE_URL',
      'DB_POOL_SIZE',
      'MIGRATE_ON_START',
      'PX6_BASE_URL',
      'PROVIDER',
      'PROVIDER_TIMEOUT_MS',
      'SETTLEMENT_DELAY_SECONDS',
      'MARKUP_PERCENT',
      'LOG_LEVEL',
      'LOG_FORMAT',
    ];
    const { code, stdout, stderr } = await runService({
      ...Object.fromEntries(mistakes.map((name) => [name, SECRET])),
      DATA_DIR: join(directory, 'data'),
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    const named = stderr.split('\n').map((line) => line.trim().split(' ')[0]);
    expect(named).toEqual(expect.arrayContaining(mistakes));
    expect(stderr).not.toContain(SECRET);
    expect(await readdir(directory)).toEqual([]);
    await removeTestDirectory(directory);
  });
});
