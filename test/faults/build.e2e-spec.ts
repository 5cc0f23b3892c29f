import { execFile } from 'node:child_process';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';

jest.setTimeout(120_000);

const PROJECT = join(__dirname, '..', '..');
const run = promisify(execFile);

async function createProject(): Promise<string> {
  const directory = await createTestDirectory();
  for (const name of ['package.json', 'package-lock.json', 'tsconfig.json', '.swcrc', 'scripts']) {
    await cp(join(PROJECT, name), join(directory, name), { recursive: true });
  }
  await symlink(join(PROJECT, 'node_modules'), join(directory, 'node_modules'));
  for (const name of ['src', 'bench', 'drills']) await mkdir(join(directory, name));
  await writeFile(join(directory, 'ormconfig.ts'), 'export {};');
  await change(directory, 'first');
  return directory;
}

const change = (directory: string, text: string): Promise<void> =>
  writeFile(join(directory, 'src', 'main.ts'), `process.stdout.write('${text}');`);

describe('The build', () => {
  let directory: string;

  beforeAll(async () => {
    directory = await createProject();
  });

  afterAll(() => removeTestDirectory(directory));

  async function start(): Promise<{ text: string; isBuilt: boolean }> {
    const { stderr } = await run(process.execPath, ['scripts/build-if-stale.mjs'], { cwd: directory });
    const { stdout } = await run(process.execPath, ['dist/src/main.js'], { cwd: directory });
    return { text: stdout, isBuilt: stderr.includes('Building') };
  }

  it('is made once by npm run build and npm start', async () => {
    await run('npm', ['run', 'build'], { cwd: directory });
    expect(await start()).toEqual({ text: 'first', isBuilt: false });
  });

  it('is made again when a source has changed, even if its types were checked since', async () => {
    await change(directory, 'second');
    await run(process.execPath, ['node_modules/typescript/bin/tsc', '--noEmit'], { cwd: directory });
    expect(await start()).toEqual({ text: 'second', isBuilt: true });
    expect(await start()).toEqual({ text: 'second', isBuilt: false });
  });
});
