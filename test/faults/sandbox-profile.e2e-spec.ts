import { SandboxControl } from '../../src/sandbox';
import {
  BUILD_TIMEOUT_MS,
  type BuiltService,
  ensureBuild,
  killLeftovers,
  readSandboxAddress,
  startBuiltService,
} from '../support/built-service';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';

let database: TestDatabase;
let dataDir: string;

beforeAll(async () => {
  await ensureBuild();
  database = await createTestDatabase();
  dataDir = await createTestDirectory();
}, BUILD_TIMEOUT_MS);

afterAll(async () => {
  await killLeftovers();
  await removeTestDirectory(dataDir);
  await database.drop();
});

function start(environment: Record<string, string> = {}): Promise<BuiltService> {
  return startBuiltService({
    DATABASE_URL: database.url,
    DATA_DIR: dataDir,
    PROVIDER: 'sandbox',
    ...environment,
  });
}

async function hasFaults(): Promise<boolean> {
  return (await new SandboxControl(await readSandboxAddress(dataDir)).getFaults()).length > 0;
}

it('SANDBOX_PROFILE changes the shared sandbox, and a service without it changes nothing', async () => {
  const first = await start({ SANDBOX_PROFILE: 'realistic' });
  expect(await hasFaults()).toBe(true);

  const second = await start();
  expect(await hasFaults()).toBe(true);

  const third = await start({ SANDBOX_PROFILE: 'quick' });
  expect(await hasFaults()).toBe(false);

  await Promise.all([first.stop(), second.stop(), third.stop()]);
});
