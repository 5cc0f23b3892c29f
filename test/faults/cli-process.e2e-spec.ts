import { BUILD_TIMEOUT_MS, CLI_START, ensureBuild, runCli } from '../support/built-service';
import { runCliHere } from '../support/cli';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

/** Two to three are usual; a shared host counts up to twice as many (2026-11-27). */
const MOST_CPU_SECONDS = 6;

/** cli.e2e-spec.ts tests the commands without a process. */
describe('the command line as a process of its own', () => {
  let database: TestDatabase;
  let environment: Record<string, string>;

  beforeAll(async () => {
    await ensureBuild();
    database = await createTestDatabase();
    environment = { DATABASE_URL: database.url, PROVIDER: 'sandbox' };
  }, BUILD_TIMEOUT_MS);

  afterAll(() => database.drop());

  it('prints the response and ends with 0, in a few seconds of a processor', async () => {
    const { stdout: anna } = await runCliHere(['users', 'create', '--username', 'anna'], environment);
    // Wall time would show how busy the machine is.
    const timed = ['bash', '-c', 'TIMEFORMAT="%U %S"; time "$@"', '-', ...CLI_START];
    const { code, stdout, stderr } = await runCli(['users', 'list'], environment, timed);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual([
      { ...JSON.parse(anna), same_name_as: [], balance: '0.00', held: '0.00', last_order_at: null },
    ]);
    expect(stderr).toMatch(/^\d+\.\d+ \d+\.\d+\n$/);
    const [user = NaN, system = NaN] = stderr.split(' ').map(Number);
    expect(user + system).toBeLessThan(MOST_CPU_SECONDS);
  });

  it('prints one line to its standard error, without a password, and ends with 1 when it fails', async () => {
    const unreachable = { ...environment, DATABASE_URL: 'postgres://user:sesame@127.0.0.1:1/x' };
    expect(await runCli(['users', 'list'], unreachable)).toEqual({
      code: 1,
      stdout: '',
      stderr: 'The database cannot be reached\n',
    });
  });
});
