import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { BUILT_SANDBOX } from '../../drills/support/project';
import { findLocalSandbox, type LocalSandbox, startLocalSandbox } from '../../src/local/local-sandbox';
import { BUILD_TIMEOUT_MS, ensureBuild, eventually, isRunning } from '../support/built-service';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';

describe('the sandbox of a directory', () => {
  let directory: string;
  let program: string;
  let notes: string[];
  let started: LocalSandbox[];
  const start = async (exceptPorts: readonly number[] = []): Promise<LocalSandbox> => {
    const sandbox = await startLocalSandbox({
      directory,
      exceptPorts,
      program,
      onNote: (line) => notes.push(line),
    });
    started.push(sandbox);
    return sandbox;
  };
  const readPid = async (): Promise<number> => {
    const { pid } = JSON.parse(await readFile(join(directory, 'address.json'), 'utf8'));
    return Number(pid);
  };

  beforeAll(ensureBuild, BUILD_TIMEOUT_MS);

  beforeEach(async () => {
    program = BUILT_SANDBOX;
    directory = join(await createTestDirectory(), 'data', 'sandbox');
    notes = [];
    started = [];
  });

  afterEach(async () => {
    await Promise.all(started.map((sandbox) => sandbox.release()));
    await removeTestDirectory(join(directory, '..', '..'));
  });

  it('accepts the key it gave, ends when it is released, and keeps its directory to its owner', async () => {
    const sandbox = await start();
    const pid = await readPid();
    expect(await request(sandbox)).toMatchObject({ status: 'yes' });
    expect(await findLocalSandbox(directory)).toMatchObject({ pid, baseUrl: sandbox.baseUrl });
    await sandbox.release();
    expect(isRunning(pid)).toBe(false);
    expect(notes).toEqual([]);
    expect(await findLocalSandbox(directory)).toBeNull();
    const modes = await Promise.all(
      [directory, join(directory, '..')].map(async (path) => (await stat(path)).mode),
    );
    // The one above is as it would be.
    expect(modes.map((mode) => mode & 0o777)).toEqual([0o700, 0o777 & ~process.umask()]);
  });

  it('is refused to a second process, with what that can do instead, and killed when it hangs', async () => {
    const sandbox = await start();
    await expect(start()).rejects.toThrow(
      /^Another process is using the sandbox in .*PX6_BASE_URL.*DATA_DIR/,
    );
    const pid = await readPid();
    process.kill(pid, 'SIGSTOP');
    await sandbox.release();
    expect(isRunning(pid)).toBe(false);
  });

  it('is started again, with the same key, for one who comes while the last is leaving', async () => {
    const leaving = await start();
    const [, coming] = await Promise.all([leaving.release(), start()]);
    expect(coming.apiKey).toBe(leaving.apiKey);
    expect(await request(coming)).toMatchObject({ status: 'yes' });

    const portsOf = ({ baseUrl, payments }: LocalSandbox) =>
      [baseUrl, payments.baseUrl].map((url) => Number(new URL(url).port));
    await coming.release();
    // Leaves them to the service that will listen there.
    const ports = portsOf(coming);
    const next = portsOf(await start(ports));
    expect(next.filter((port) => ports.includes(port))).toEqual([]);
  });

  it('is logged when it is killed while in use', async () => {
    await start();
    process.kill(await readPid(), 'SIGKILL');
    await eventually(() => notes.length > 0);
    expect(notes).toEqual([expect.stringMatching(/^The sandbox provider has stopped\. See .*sandbox\.log$/)]);
  });

  it('says in one line that it cannot start', async () => {
    program = join(directory, 'nothing.js');
    await expect(start()).rejects.toThrow(/^The sandbox provider did not start \(1\)\. See .*sandbox\.log$/);
  });
});

async function request({ baseUrl, apiKey }: LocalSandbox): Promise<unknown> {
  return (await fetch(`${baseUrl}/api/${apiKey}`)).json();
}
