import { join } from 'node:path';
import { loadBeforeTheBaseline } from '../support/before-the-baseline';
import { BUILD_TIMEOUT_MS, ensureBuild, runCli, runService } from '../support/built-service';
import { runCliHere } from '../support/cli';
import { createTestDatabase } from '../support/test-database';

const SCRIPT = [process.execPath, join(__dirname, '../../operations/bring-over.mjs')];

beforeAll(ensureBuild, BUILD_TIMEOUT_MS);

it('operations/bring-over.mjs brings over what the service refuses', async () => {
  const database = await createTestDatabase({ migrated: false });
  await loadBeforeTheBaseline(database.ownerUrl);
  const environment = { DATABASE_URL: database.url, PX6_API_KEY: 'none' };
  expect(await runService(environment)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^The database is of commit .* brought over once/),
  });
  const owner = { ...environment, DATABASE_OWNER_URL: database.ownerUrl };
  expect(await runCli([], owner, SCRIPT)).toMatchObject({ code: 0, stderr: '' });
  const audit = await runCliHere(['audit'], environment);
  expect(audit).toMatchObject({ code: 0, stdout: expect.stringContaining('"ok": true') });
  await database.drop();
});
