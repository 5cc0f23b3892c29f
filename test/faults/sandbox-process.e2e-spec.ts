import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BUILT_SANDBOX } from '../../drills/support/project';
import { SandboxControl } from '../../src/sandbox';
import { BUILD_TIMEOUT_MS, ensureBuild, eventually, isRunning } from '../support/built-service';
import { WireClient } from '../support/wire-client';

interface Address {
  pid: number;
  baseUrl: string;
  controlUrl: string;
  controlSecret: string;
  apiKey: string;
}

let parent: string;
let directory: string;
const started: ChildProcess[] = [];

beforeAll(ensureBuild, BUILD_TIMEOUT_MS);

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'sandbox-main-'));
  directory = join(parent, 'state');
});

afterEach(async () => {
  for (const child of started.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  await rm(parent, { recursive: true });
});

const programOf = (...args: string[]): string[] => [BUILT_SANDBOX, '--directory', directory, ...args];

function spawnSandbox(...args: string[]): { child: ChildProcess; output: () => string } {
  const child = spawn(process.execPath, programOf(...args), { stdio: ['ignore', 'pipe', 'pipe'] });
  started.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  return { child, output: () => output };
}

async function startedSandbox(
  ...args: string[]
): Promise<{ child: ChildProcess; address: Address; client: WireClient }> {
  const { child, output } = spawnSandbox('--port', '0', ...args);
  if (child.stdout) await once(child.stdout, 'data');
  if (!output().startsWith('Sandbox provider at ')) throw new Error(output());
  const address: Address = JSON.parse(await readFile(join(directory, 'address.json'), 'utf8'));
  return { child, address, client: new WireClient(address.baseUrl, address.apiKey) };
}

async function exitOf(child: ChildProcess): Promise<number | string | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode ?? child.signalCode;
}

async function hasAddress(): Promise<boolean> {
  return access(join(directory, 'address.json')).then(
    () => true,
    () => false,
  );
}

test('it hides the key, keeps its files private and its directory its own, and exits cleanly', async () => {
  const { child, output } = spawnSandbox('--port', '0', '--api-key', 'my-key');
  if (child.stdout) await once(child.stdout, 'data');
  const address: Address = JSON.parse(await readFile(join(directory, 'address.json'), 'utf8'));

  expect(output()).toMatch(
    /^Sandbox provider at http:\/\/127\.0\.0\.1:\d+, .*\nIts key .* are in \S+address\.json\n$/,
  );
  expect(output()).not.toContain('my-key');
  expect(output()).not.toContain(address.controlSecret);
  expect(address).toMatchObject({ pid: child.pid, apiKey: 'my-key' });
  for (const file of ['address.json', 'journal.jsonl', 'lock.json']) {
    expect((await stat(join(directory, file))).mode & 0o777).toBe(0o600);
  }

  child.kill('SIGSTOP');
  const [other, { port }] = [join(parent, 'other'), new URL(address.baseUrl)];
  const onItsPort = spawnSandbox('--directory', other, '--port', port);
  const inItsDirectory = spawnSandbox('--port', '0');
  await expect(exitOf(onItsPort.child)).resolves.toBe(1);
  expect(onItsPort.output()).toMatch(/^listen EADDRINUSE.*\n$/);
  await expect(access(join(other, 'lock.json'))).rejects.toThrow('ENOENT');
  await expect(exitOf(inItsDirectory.child)).resolves.toBe(3);
  expect(inItsDirectory.output()).toBe(
    `A sandbox is already running in ${directory} (process ${child.pid})\n`,
  );
  await expect(hasAddress()).resolves.toBe(true);

  child.kill('SIGCONT');
  child.kill('SIGTERM');

  await expect(exitOf(child)).resolves.toBe(0);
  await expect(hasAddress()).resolves.toBe(false);
});

test('confirmed calls survive kill -9, and the next start has the same key', async () => {
  const first = await startedSandbox('--no-rate-limit');
  const responses = await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      first.client.call(`buy?count=2&period=7&country=nl&version=4&descr=t${index}`),
    ),
  );
  first.child.kill('SIGKILL');
  await exitOf(first.child);

  const next = await startedSandbox('--no-rate-limit');

  expect(next.address.apiKey).toBe(first.address.apiKey);
  const { sales } = await new SandboxControl(next.address).getState();
  expect(new Set(sales.map(({ orderId }) => orderId))).toEqual(
    new Set(responses.map((response) => response['order_id'])),
  );
  expect(sales).toHaveLength(40);
  await expect(next.client.call('')).resolves.toMatchObject({ balance: '997760.00' });
  await expect(next.client.call('buy?count=1&period=7&country=nl&version=4')).resolves.toMatchObject({
    order_id: 7_400_041,
  });
});

test.each([
  [['--port', '70000'], '--port'],
  [['--api-key', 'a/b'], '--api-key'],
  [['--colour'], '--colour'],
])('invalid arguments %j are refused with a message that names them', async (args, word) => {
  const { child, output } = spawnSandbox(...args);

  await expect(exitOf(child)).resolves.toBe(2);
  expect(output()).toContain(word);
});

test('with --until-input-ends it ends with who started it, even by kill -9', async () => {
  const args = programOf('--port', '0', '--until-input-ends');
  const starter = spawn(process.execPath, [
    '-e',
    `const child = require('node:child_process').spawn(process.execPath, JSON.parse(process.argv[1]),
       { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
     child.stdout.pipe(process.stdout);`,
    JSON.stringify(args),
  ]);
  started.push(starter);
  await once(starter.stdout, 'data');
  const address: Address = JSON.parse(await readFile(join(directory, 'address.json'), 'utf8'));
  await new SandboxControl(address).getState();
  starter.kill('SIGKILL');

  await eventually(async () => !(await hasAddress()) && !isRunning(address.pid));
});
