import { execFile } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SERVICE_VERSION } from '../../src/common';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';

const PROJECT = join(__dirname, '..', '..');
const run = promisify(execFile);
const BY_NPM = ['npm', 'run', '--silent', 'release', '--'];
const BY_NODE = [process.execPath, 'scripts/release.mjs'];
const NOTES = '### Added\n\n- Proxies in green.';
const CHANGELOG = `# Changelog

## [Unreleased]

## [${SERVICE_VERSION}] - 2026-11-25

${NOTES}

## [0.9.0] - 2026-01-01

- Proxies in blue.
`;

interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
}

describe('npm run release', () => {
  let directory: string;

  const git = async (...parameters: string[]): Promise<string> =>
    (
      await run('git', ['-c', 'user.name=Test', '-c', 'user.email=test@localhost', ...parameters], {
        cwd: directory,
      })
    ).stdout;
  const release = (...command: readonly string[]): Promise<Outcome> =>
    run(command[0] ?? '', [...command.slice(1), SERVICE_VERSION], {
      cwd: directory,
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        ...Object.fromEntries(
          ['AUTHOR', 'COMMITTER'].flatMap((who) => [
            [`GIT_${who}_NAME`, 'Test'],
            [`GIT_${who}_EMAIL`, 'test@localhost'],
          ]),
        ),
      },
    }).catch((failure: unknown) => failure as Outcome);
  async function change(name: string, text: string): Promise<void> {
    await writeFile(join(directory, name), text);
    await git('commit', '--quiet', '--all', '--message', `a change of ${name}`);
  }
  const textOf = (name: string): Promise<string> => readFile(join(directory, name), 'utf8');

  beforeEach(async () => {
    directory = await createTestDirectory('release-');
    for (const name of [
      'package.json',
      'package-lock.json',
      'scripts/release.mjs',
      'src/common/service.ts',
      'docs/production.md',
      'clients/typescript/package.json',
    ]) {
      await cp(join(PROJECT, name), join(directory, name));
    }
    await writeFile(join(directory, 'CHANGELOG.md'), CHANGELOG);
    const manifest = await textOf('package.json');
    await writeFile(
      join(directory, 'package.json'),
      manifest.replace(/"check": ".*"/, '"check": "node -e 0"'),
    );
    await git('init', '--quiet');
    await git('add', '.');
    await git('commit', '--quiet', '--message', 'all');
  });
  afterEach(() => removeTestDirectory(directory));

  it('tags the version that all files have, with the notes of its section, and prints them', async () => {
    const { stdout, stderr } = await release(...BY_NPM);
    expect(stdout).toBe(`${NOTES}\n`);
    expect(stderr).toContain(`git push origin v${SERVICE_VERSION}`);
    expect(await git('for-each-ref', 'refs/tags', '--format=%(objecttype) %(refname:short)')).toBe(
      `tag v${SERVICE_VERSION}\n`,
    );
    expect(await git('tag', '--list', '--format=%(contents)')).toBe(`v${SERVICE_VERSION}\n\n${NOTES}\n\n`);
    expect(await git('status', '--porcelain')).toBe('');
    expect((await release(...BY_NODE)).stderr).toContain(`The tag v${SERVICE_VERSION} exists.`);
  });

  it.each<[why: string, prepare: () => Promise<void>, message: string]>([
    [
      'there are changes that are not committed',
      () => writeFile(join(directory, 'CHANGELOG.md'), ''),
      'The working tree has changes.',
    ],
    [
      'a check fails',
      async () =>
        change(
          'package.json',
          (await textOf('package.json')).replace('node -e 0', 'node -e process.exit(1)'),
        ),
      'A check failed.',
    ],
    [
      'a file has another version',
      () => change('clients/typescript/package.json', '{"version":"0.9.0"}'),
      'clients/typescript/package.json: 0.9.0',
    ],
    [
      'entries are unreleased',
      () => change('CHANGELOG.md', CHANGELOG.replace('## [Unreleased]\n', '$&\n- Proxies in red.\n')),
      'move the entries under Unreleased',
    ],
    [
      'the version has no section',
      () => change('CHANGELOG.md', CHANGELOG.replace(`[${SERVICE_VERSION}]`, '[0.9.1]')),
      'CHANGELOG.md has no section',
    ],
    [
      'its section is longer than a page',
      () => change('CHANGELOG.md', CHANGELOG.replace(NOTES, '- A proxy.\n'.repeat(61))),
      'has 61 lines',
    ],
  ])('does not tag when %s', async (_why, prepare, message) => {
    await prepare();
    const { stdout, stderr } = await release(...BY_NODE);
    expect(stdout).toBe('');
    expect(stderr).toContain(message);
    expect(await git('tag')).toBe('');
  });
});
