import { execFile } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import {
  BUILD_TIMEOUT_MS,
  type BuiltService,
  ensureBuild,
  eventually,
  isRunning,
  killLeftovers,
  NPM_START,
  readCompanionPids,
  startBuiltService,
} from '../support/built-service';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';

const run = promisify(execFile);

async function groupOf(leader: number): Promise<number[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,pgid=']);
  return [...stdout.matchAll(/(\d+) +(\d+)/g)].flatMap(([, pid, group]) =>
    Number(group) === leader ? [Number(pid)] : [],
  );
}

describe('A service that gets a signal to stop', () => {
  let dataDir: string;
  let leftovers: readonly number[] = [];

  beforeAll(async () => {
    await ensureBuild();
    dataDir = await createTestDirectory();
  }, BUILD_TIMEOUT_MS);
  afterEach(async () => {
    for (const pid of leftovers.filter(isRunning)) process.kill(pid, 'SIGKILL');
    await killLeftovers();
  });
  afterAll(() => removeTestDirectory(dataDir));

  async function expectNothingLeft(service: BuiltService, stop: (sandbox: number) => unknown): Promise<void> {
    const { postgres, sandbox } = await readCompanionPids(dataDir);
    leftovers = [...(await groupOf(service.pid)), postgres, sandbox];
    await stop(sandbox);
    await eventually(() => !leftovers.some(isRunning));
  }

  it('serves everything for DRAIN_SECONDS, which a second signal to npm alone cuts short', async () => {
    const service = await startBuiltService({ DATA_DIR: dataDir, DRAIN_SECONDS: '3600' }, NPM_START);
    const statusOf = async (path: string): Promise<number> => (await fetch(service.baseUrl + path)).status;
    expect(await statusOf('/health/ready')).toBe(200);
    leftovers = await groupOf(service.pid);
    service.kill('SIGTERM');
    await eventually(async () => (await statusOf('/health/ready')) === 503);
    expect(await statusOf('/docs')).toBe(200);
    // Within a second, the two count as one.
    await pause(1100);
    service.kill('SIGTERM');
    expect((await service.ended()).code).toBe(130);
    await eventually(() => !leftovers.some(isRunning));
  });

  it('ends after DRAIN_SECONDS with all that it started, also with a sandbox that hangs', async () => {
    const service = await startBuiltService({ DATA_DIR: dataDir, DRAIN_SECONDS: '1' }, NPM_START);
    let killedMs = Infinity;
    await expectNothingLeft(service, (sandbox) => {
      process.kill(sandbox, 'SIGSTOP');
      killedMs = performance.now();
      // Ends npm alone.
      service.kill('SIGKILL');
    });
    expect(performance.now() - killedMs).toBeGreaterThan(1000);
  });
});
