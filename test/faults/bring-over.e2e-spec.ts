import { join } from 'node:path';
import { loadBeforeTheBaseline } from '../support/before-the-baseline';
import { BUILD_TIMEOUT_MS, ensureBuild, runCli, runService } from '../support/built-service';
import { createTestDatabase } from '../support/test-database';

const SCRIPT = [process.execPath, join(__dirname, '../../operations/bring-over.mjs')];

beforeAll(ensureBuild, BUILD_TIMEOUT_MS);

it('operations/bring-over.mjs brings over what the service and the command line refuse', async () => {
  const database = await createTestDatabase({ migrated: false });
  await loadBeforeTheBaseline(database.ownerUrl);
  const service = { DATABASE_URL: database.url, PX6_API_KEY: 'none' };
  const owner = { ...service, DATABASE_OWNER_URL: database.ownerUrl };
  const refused = {
    code: 1,
    stderr: expect.stringMatching(/^The database is of commit .* brought over once/),
  };
  for (const MIGRATE_ON_START of ['true', 'false']) {
    expect(await runService({ ...service, MIGRATE_ON_START })).toMatchObject(refused);
  }
  expect(await runCli(['migrate'], owner)).toMatchObject(refused);
  for (let times = 0; times < 2; times += 1) {
    expect(await runCli([], owner, SCRIPT)).toMatchObject({ code: 0, stderr: '' });
  }
  const audit = await runCli(['audit'], service);
  expect(audit).toMatchObject({ code: 0, stdout: expect.stringContaining('"ok": true') });
  await database.drop();
});
