// A service of its own, on which a shell runs what the README shows.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '../support/programs';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';
import { startTestService, type TestService, type TestUser } from '../support/test-service';

const run = promisify(execFile);
const README = join(__dirname, '..', '..', 'README.md');
const BODY = '{"country":"ru","period":30}';

(findProgram('curl') ? describe : describe.skip)("The README's loop for scripts", () => {
  let service: TestService;
  let user: TestUser;
  let loop: string;
  let directory: string;

  beforeAll(async () => {
    service = await startTestService();
    [loop = ''] = [...(await readFile(README, 'utf8')).matchAll(/```sh\n([^`]*while :;[^`]*)```/g)].map(
      ([, text]) => text ?? '',
    );
    expect(loop).toContain(BODY);
  });
  beforeEach(async () => {
    user = await service.createUser();
    directory = await createTestDirectory('readme-');
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
