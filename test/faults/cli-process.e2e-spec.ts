import {
  BUILD_TIMEOUT_MS,
  CLI_START,
  ensureBuild,
  eventually,
  killLeftovers,
  type Outcome,
  runCli,
  startBuiltService,
} from '../support/built-service';
import { runCliHere } from '../support/cli';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';
import { tuned } from '../support/tuning';

const MOST_CPU_SECONDS = 3;
const MOMENT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

/** Tests that need the process itself. The commands are tested without one, in cli.e2e-spec.ts. */
describe('the command line as a process of its own', () => {
  let database: TestDatabase;
  let environment: Record<string, string>;

  beforeAll(async () => {
    await ensureBuild();
    database = await createTestDatabase();
    environment = { DATABASE_URL: database.url, PROVIDER: 'sandbox' };
  }, BUILD_TIMEOUT_MS);

  afterAll(async () => {
    await killLeftovers();
    await database.drop();
  });

  const run = (command: string, changes: Record<string, string> = {}): Promise<Outcome> =>
    runCli(command.split(' '), { ...environment, ...changes });

  async function responseTo<Result>(command: string): Promise<Result> {
    const { code, stdout, stderr } = await run(command);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout);
  }

  it('prints the response and ends with 0, in less than three seconds of a processor', async () => {
    const { stdout: anna } = await runCliHere(['users', 'create', '--username', 'anna'], environment);
    // Seconds of the clock would show how busy the machine is.
    const timed = ['bash', '-c', 'TIMEFORMAT="%U %S"; time "$@"', '-', ...CLI_START];
    const { code, stdout, stderr } = await runCli(['users', 'list'], environment, timed);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual([{ ...JSON.parse(anna), same_name_as: [] }]);
    expect(stderr).toMatch(/^\d+\.\d+ \d+\.\d+\n$/);
    const [user = NaN, system = NaN] = stderr.split(' ').map(Number);
    expect(user + system).toBeLessThan(MOST_CPU_SECONDS);
  });

  it.each([
    ['is not understood', 'frobnicate', {}, `error: unknown command 'frobnicate'`],
    ['names a user that does not exist', 'users block --user 999999 --reason test', {}, 'User not found'],
    [
      'cannot reach the database, without its password',
      'users list',
      { DATABASE_URL: 'postgres://user:sesame@127.0.0.1:1/x' },
      'The database cannot be reached',
    ],
  ])(
    'prints one line to its standard error and ends with 1 when it %s',
    async (_, command, changes, line) => {
      expect(await run(command, changes)).toEqual({ code: 1, stdout: '', stderr: `${line}\n` });
    },
  );

  it('shows the status of a service that runs, its jobs and the balance at the provider', async () => {
    const dataDir = await createTestDirectory();
    const { stdout: before } = await runCliHere(['status'], environment);
    expect(JSON.parse(before)).toMatchObject({ replicas: [], jobs: [] });
    const service = await startBuiltService({
      ...environment,
      DATA_DIR: dataDir,
      SWEEP_INTERVAL_SECONDS: '1',
      ...tuned({ activeFlagsIntervalSeconds: 1 }),
    });
    try {
      const status = await eventually(async () => {
        const { stdout } = await runCliHere(['status'], environment);
        const { replicas, provider_balance: balance, jobs } = JSON.parse(stdout);
        const done = jobs.filter(({ state }: { state: string }) => state === 'done');
        return replicas.length > 0 && balance && done.length >= 2 && responseTo('status');
      });
      expect(status).toMatchObject({
        provider_balance: { amount: '1000000.00', seen_at: MOMENT, is_low: false },
        jobs: expect.arrayContaining(
          ['active-flags', 'sweep'].map((name) => expect.objectContaining({ name, started_at: MOMENT })),
        ),
        replicas: [{ pid: service.pid, reported_at: MOMENT, started_at: MOMENT }],
      });
    } finally {
      await service.stop();
      await removeTestDirectory(dataDir);
    }
  });
});
