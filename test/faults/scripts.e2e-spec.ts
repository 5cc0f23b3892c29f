// A service of its own, against which a shell and Python run the scripts of docs/scripts.md.
import { execFile, spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '../support/programs';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';
import { startTestService, type TestService, type TestUser } from '../support/test-service';

const run = promisify(execFile);
const DOCUMENT = join(__dirname, '..', '..', 'docs', 'scripts.md');
const BODY = '{"country":"ru","period":30}';

const hasRequests = spawnSync('python3', ['-c', 'import requests']).status === 0;

/** The first block of a language in the document. */
async function readExample(language: string): Promise<string> {
  const document = await readFile(DOCUMENT, 'utf8');
  return new RegExp(`\`\`\`${language}\\n([^\`]*)\`\`\``).exec(document)?.[1] ?? '';
}

(findProgram('curl') ? describe : describe.skip)('The loop of docs/scripts.md', () => {
  let service: TestService;
  let user: TestUser;
  let loop: string;
  let directory: string;

  beforeAll(async () => {
    service = await startTestService();
    loop = await readExample('sh');
    expect(loop).toContain(BODY);
  });
  beforeEach(async () => {
    user = await service.createUser();
    directory = await createTestDirectory('scripts-');
  });
  afterEach(() => removeTestDirectory(directory));
  afterAll(() => service.close());

  /** Runs the loop in an empty directory, or in that of the run before. Returns what it prints. */
  async function runLoop(body = BODY): Promise<string> {
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
  const statesOfOrders = async (): Promise<string[] | undefined> =>
    (await user.api.GET('/orders')).data?.items.map(({ state }) => state);

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

(hasRequests ? describe : describe.skip)('The Python script of docs/scripts.md', () => {
  let service: TestService;
  let directory: string;

  beforeAll(async () => {
    service = await startTestService();
    directory = await createTestDirectory('scripts-');
  });
  afterAll(async () => {
    await removeTestDirectory(directory);
    await service.close();
  });

  it('buys once although responses are lost, waits for the outcome, and reads the events', async () => {
    const user = await service.createUser({ balance: '1000.00' });
    await service.control.addFault({ method: 'buy', kind: 'answer-lost' });
    const { stdout } = await run('python3', ['-c', await readExample('python')], {
      cwd: directory,
      timeout: 60_000,
      env: { PATH: process.env['PATH'], URL: service.baseUrl, TOKEN: user.token },
    });
    expect(stdout).toMatch(/^200 \{"order_id": \d+/);
    expect(stdout).toContain('\norder.completed {');
    expect((await user.api.GET('/orders')).data?.items.map(({ state }) => state)).toEqual(['completed']);
  });
});
