import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  BUILD_TIMEOUT_MS,
  ensureBuild,
  eventually,
  isRunning,
  killLeftovers,
  readCompanionPids,
  startBuiltService,
} from '../support/built-service';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';

jest.setTimeout(90_000);

/** SIGUSR2 makes the process do what a bug would: its event loop never turns again. It takes no processor. */
const BLOCK_ON_SIGUSR2 = `
  const flag = new Int32Array(new SharedArrayBuffer(4));
  process.on('SIGUSR2', () => Atomics.wait(flag, 0, 0));
`;

let dataDir: string;
let pids: number[] = [];

beforeAll(async () => {
  await ensureBuild();
  dataDir = await createTestDirectory();
}, BUILD_TIMEOUT_MS);

afterAll(async () => {
  for (const pid of pids.filter(isRunning)) process.kill(pid, 'SIGKILL');
  await killLeftovers();
  await removeTestDirectory(dataDir);
});

// The causes that stop a sandbox from responding: its own loop, or the system.
it.each(['SIGUSR2', 'SIGSTOP'] as const)(
  'A service whose sandbox hangs (%s) ends on SIGTERM, and the sandbox with it',
  async (hang) => {
    const hook = join(dataDir, 'block.cjs');
    await writeFile(hook, BLOCK_ON_SIGUSR2);
    const service = await startBuiltService({
      DATA_DIR: dataDir,
      NODE_OPTIONS: `--require ${hook}`,
    });
    const { postgres, sandbox } = await readCompanionPids(dataDir);
    pids = [service.pid, postgres, sandbox];
    process.kill(sandbox, hang);

    expect(await service.stop()).toMatchObject({ code: 0 });
    await eventually(() => !pids.some(isRunning));
  },
);
