// A service of its own, against which a shell and Python run the scripts of docs/scripts.md.
import { execFile, spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { forAllTests, forEachTest } from '../support/fixtures';
import { findProgram } from '../support/programs';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';
import { startTestService } from '../support/test-service';

const run = promisify(execFile);
const DOCUMENT = join(__dirname, '..', '..', 'docs', 'scripts.md');
const BODY = '{"country":"ru","period":30}';

/** The first block of a language in the document. */
async function readExample(language: string): Promise<string> {
  const document = await readFile(DOCUMENT, 'utf8');
  return new RegExp(`\`\`\`${language}\\n([^\`]*)\`\`\``).exec(document)?.[1] ?? '';
}

const service = forAllTests(startTestService);
const user = forEachTest(() => service.createUser());
let directory: string;
beforeEach(async () => {
  directory = await createTestDirectory('scripts-');
});
afterEach(() => removeTestDirectory(directory));

const statesOfOrders = async (): Promise<string[] | undefined> =>
  (await user.api.GET('/orders')).data?.items.map(({ state }) => state);

(findProgram('curl') ? describe : describe.skip)('The loop of docs/scripts.md', () => {
  /** Runs the loop in an empty directory, or in that of the run before. Returns what it prints. */
  async function runLoop(body = BODY): Promise<string> {
    const loop = await readExample('sh');
    expect(loop).toContain(BODY);
    const { stdout } = await run('sh', ['-c', loop.replace(BODY, body)], {
      cwd: directory,
      timeout: 30_000,
      env: {
        PATH: process.env['PATH'],
        URL: service.baseUrl,
        JSON: 'Content-Type: application/json',
        AUTH: `Authorization: Bearer ${user.token}`,
      },
    });
    return stdout;
  }

  it('buys once, although it runs again after a crash', async () => {
    const first = await runLoop();
    expect(first).toMatch(/^200 : \{"order_id":\d+/);
    expect(await runLoop()).toBe(first);
    expect(await statesOfOrders()).toEqual(['completed']);
  });

  it('retries what ends by itself', async () => {
    await service.control.addFault({ method: 'buy', kind: 'error', errorId: 110 });
    expect(await runLoop()).toMatch(/^200 : /);
    expect(await statesOfOrders()).toEqual(['completed', 'refunded']);
  });

  it('ends when the price is above max_price', async () => {
    expect(await runLoop('{"country":"ru","period":30,"max_price":"0.01"}')).toMatch(
      /^409 : \{"detail":"The price/,
    );
    expect(await statesOfOrders()).toEqual([]);
  });
});

const hasRequests = spawnSync('python3', ['-c', 'import requests']).status === 0;

(hasRequests ? it : it.skip)(
  'The Python script of docs/scripts.md buys once although responses are lost, and reads the events',
  async () => {
    await service.control.addFault({ method: 'buy', kind: 'response-lost' });
    const { stdout } = await run('python3', ['-c', await readExample('python')], {
      cwd: directory,
      timeout: 60_000,
      env: { PATH: process.env['PATH'], URL: service.baseUrl, TOKEN: user.token },
    });
    expect(stdout).toMatch(/^200 \{"order_id": \d+/);
    expect(stdout).toContain('\norder.completed {');
    expect(await statesOfOrders()).toEqual(['completed']);
  },
);
