import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { forAllTests } from '../support/fixtures';
import { startTestService } from '../support/test-service';

/** The linters and the generator take seconds, and two of them are programs of their own. */
jest.setTimeout(60_000);

const service = forAllTests(startTestService);

/** Expects that `redocly lint`, by redocly.yaml, has nothing to say of a description. */
async function expectRedoclyContent(address: string): Promise<void> {
  const { stdout } = await runTool('@redocly/cli', ['lint', address, '--format=json'], '', {
    REDOCLY_TELEMETRY: 'off',
    REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
  });
  const { problems } = JSON.parse(stdout) as { problems: { ruleId: string; message: string }[] };
  expect(problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([]);
}

/** Runs the command of an installed package. */
async function runTool(
  command: string,
  args: readonly string[],
  input = '',
  environment: Readonly<Record<string, string>> = {},
): Promise<{ stdout: string; stderr: string }> {
  const manifest = createRequire(__filename).resolve(`${command}/package.json`);
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { bin: string | Record<string, string> };
  const [script = ''] = typeof bin === 'string' ? [bin] : Object.values(bin);
  const running = promisify(execFile)(process.execPath, [join(dirname(manifest), script), ...args], {
    cwd: join(__dirname, '..', '..'),
    maxBuffer: 2 ** 24,
    env: { ...process.env, ...environment },
  });
  running.child.stdin?.end(input);
  return running;
}

describe.each([
  ['/openapi.json', '"/proxies/{proxy_id}"'],
  ['/staff/openapi.json', '"/staff/users/{user_id}"'],
])('The description at %s', (path, route) => {
  it('is valid, its examples match their schemas, and it passes the linter Redocly without a word', () =>
    expectRedoclyContent(service.baseUrl + path));

  it('can be turned into the types of a client without a warning', async () => {
    const types = await runTool('openapi-typescript', [service.baseUrl + path]);
    expect(types.stderr).toBe('');
    expect(types.stdout).toContain(route);
  });
});
