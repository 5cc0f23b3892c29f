import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createApiClient } from '../support/api-client';
import {
  BUILD_TIMEOUT_MS,
  type BuiltService,
  ensureBuild,
  eventually,
  isRunning,
  killLeftovers,
  readCompanionPids,
  readSandboxAddress,
  startBuiltService,
} from '../support/built-service';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';

jest.setTimeout(90_000);

const SANDBOX = join(__dirname, '..', '..', 'dist', 'src', 'sandbox', 'main.js');

/** SIGUSR2 makes the process do what a bug would: its event loop never turns again. It takes no processor. */
const BLOCK_ON_SIGUSR2 = `
  const flag = new Int32Array(new SharedArrayBuffer(4));
  process.on('SIGUSR2', () => Atomics.wait(flag, 0, 0));
`;

/** What stops a sandbox from answering: its own loop, or the system. They are tried beside each other. */
const HANGS = ['SIGUSR2', 'SIGSTOP'] as const;
type Hang = (typeof HANGS)[number];

const dataDirs = { SIGUSR2: '', SIGSTOP: '' };
let hook: string;
let pids: number[];
const sandboxes: ChildProcess[] = [];

beforeAll(async () => {
  await ensureBuild();
  for (const hang of HANGS) dataDirs[hang] = await createTestDirectory();
  hook = join(dataDirs.SIGUSR2, 'block.cjs');
  await writeFile(hook, BLOCK_ON_SIGUSR2);
}, BUILD_TIMEOUT_MS);

beforeEach(() => {
  pids = [];
});

afterEach(async () => {
  for (const pid of pids.filter(isRunning)) process.kill(pid, 'SIGKILL');
  for (const child of sandboxes.splice(0)) child.kill('SIGKILL');
  await killLeftovers();
});

afterAll(async () => {
  for (const hang of HANGS) await removeTestDirectory(dataDirs[hang]);
});

async function forEachHang(work: (hang: Hang) => Promise<void>): Promise<void> {
  await Promise.all(HANGS.map(work));
}

const untilNothingRuns = (): Promise<unknown> => eventually(() => !pids.some(isRunning));

async function startService(dataDir: string): Promise<BuiltService> {
  const service = await startBuiltService({ DATA_DIR: dataDir, NODE_OPTIONS: `--require ${hook}` });
  const { postgres, sandbox } = await readCompanionPids(dataDir);
  pids.push(service.pid, postgres, sandbox);
  return service;
}

function startSandbox(dataDir: string): { child: ChildProcess; output: () => string } {
  const directory = join(dataDir, 'sandbox');
  const child = spawn(
    process.execPath,
    ['--require', hook, SANDBOX, '--directory', directory, '--port', '0'],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  sandboxes.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  return { child, output: () => output };
}

async function startedSandbox(dataDir: string): Promise<ReturnType<typeof startSandbox>> {
  const sandbox = startSandbox(dataDir);
  await eventually(() => sandbox.output().includes('Sandbox provider at '));
  return sandbox;
}

describe('a service whose sandbox hangs', () => {
  it('starts another, says so, and sells again', async () => {
    await forEachHang(async (hang) => {
      const dataDir = dataDirs[hang];
      const service = await startService(dataDir);
      const { pid, baseUrl } = await readSandboxAddress(dataDir);
      process.kill(pid, hang);

      await eventually(async () => (await readSandboxAddress(dataDir).catch(() => ({ pid }))).pid !== pid);
      const next = await readSandboxAddress(dataDir);
      pids.push(next.pid);

      expect(isRunning(pid)).toBe(false);
      expect(next.baseUrl).toBe(baseUrl);
      expect(service.stdout()).toMatch(/^The sandbox provider (has ended unexpectedly|did not answer); /m);
      const token = /^Demo token {2,}(\S+)$/m.exec(service.stdout())?.[1] ?? '';
      const { POST } = createApiClient(service.baseUrl, token);
      await eventually(
        async () => (await POST('/proxies/buy', { body: { country: 'ru', period: 30 } })).response.ok,
      );
      await service.stop();
    });
    await untilNothingRuns();
  });

  it('ends on SIGTERM, and the sandbox with it', async () => {
    await forEachHang(async (hang) => {
      const service = await startService(dataDirs[hang]);
      const { pid } = await readSandboxAddress(dataDirs[hang]);
      process.kill(pid, hang);

      expect(await service.stop()).toMatchObject({ code: 0 });
    });
    await untilNothingRuns();
  });
});

describe('a sandbox of its own that hangs', () => {
  it('ends on SIGTERM', async () => {
    const { child } = await startedSandbox(dataDirs.SIGUSR2);
    child.kill('SIGUSR2');
    child.kill('SIGTERM');

    await once(child, 'exit');
  });

  it('makes place for the next start', () =>
    forEachHang(async (hang) => {
      const { child } = await startedSandbox(dataDirs[hang]);
      child.kill(hang);
      const next = await startedSandbox(dataDirs[hang]);

      expect(child.exitCode ?? child.signalCode).toBe('SIGKILL');
      const { pid } = JSON.parse(await readFile(join(dataDirs[hang], 'sandbox', 'address.json'), 'utf8'));
      expect(pid).toBe(next.child.pid);
    }));
});
