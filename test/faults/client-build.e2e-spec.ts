import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startTestService } from '../support/test-service';

const PROJECT = join(__dirname, '..', '..');
const CLIENT = join(PROJECT, 'clients', 'typescript');
const run = promisify(execFile);

/** Writes the lines of the documentation that contain a text where they find the client. */
async function writeExample(text: string): Promise<string> {
  const document = await readFile(join(PROJECT, 'docs', 'api.md'), 'utf8');
  const example = document.split('```').find((block) => block.startsWith('js\n') && block.includes(text));
  await mkdir(join(CLIENT, 'dist'), { recursive: true });
  const script = join(CLIENT, 'dist', `example-${text.replaceAll(/\W/g, '')}.mjs`);
  await writeFile(script, (example ?? '').replace('js\n', ''));
  return script;
}

it('The TypeScript client is built, and buys with the lines of the documentation', async () => {
  const service = await startTestService();
  const user = await service.createUser();
  await run(process.execPath, [join(PROJECT, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', CLIENT]);
  const script = await writeExample('/proxies/buy');
  const { stdout } = await run(process.execPath, [script], {
    env: { PATH: process.env['PATH'], URL: service.baseUrl, TOKEN: user.token },
  });
  expect(stdout).toMatch(/^25\.08 for 127\.0\.0\.1:\d+\n$/);
  expect((await service.balanceOf(user)).available).toBe('9974.92');
  await service.audit({ withProvider: true });
  await service.close();
}, 60_000);
