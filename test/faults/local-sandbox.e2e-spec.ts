import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { transformFile } from '@swc/core';
import { acquireLocalSandbox, type LocalSandbox } from '../../src/local/local-sandbox';
import { SandboxControl } from '../../src/sandbox';
import { eventually, isRunning } from '../support/built-service';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';

const SOURCE = join(__dirname, '..', '..', 'src', 'sandbox');
const PROJECT = join(__dirname, '..', '..');

/** The sandbox runs in a process of its own, which needs it compiled. */
async function compileSandbox(into: string): Promise<string> {
  for (const file of await readdir(SOURCE, { recursive: true })) {
    if (file.endsWith('.ts') && !file.endsWith('.spec.ts')) {
      const { code } = await transformFile(join(SOURCE, file), {
        jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
        module: { type: 'commonjs' },
      });
      const target = join(into, 'sandbox', file.replace(/\.ts$/, '.js'));
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, code);
    }
  }
  await symlink(join(PROJECT, 'node_modules'), join(into, 'node_modules'));
  return join(into, 'sandbox', 'main.js');
}

describe('the sandbox of a directory', () => {
  let root: string;
  let directory: string;
  let program: string;
  let notes: string[];
  let users: LocalSandbox[];
  const acquire = async (profile?: 'quick' | 'realistic'): Promise<LocalSandbox> => {
    const user = await acquireLocalSandbox({
      directory,
      program,
      profile,
      onNote: (line) => notes.push(line),
    });
    users.push(user);
    return user;
  };
  const hasFaults = async (): Promise<boolean> => {
    const address = JSON.parse(await readFile(join(directory, 'address.json'), 'utf8'));
    return (await new SandboxControl(address).getFaults()).length > 0;
  };
  const readPid = async (): Promise<number> => {
    const { pid } = JSON.parse(await readFile(join(directory, 'address.json'), 'utf8'));
    return Number(pid);
  };

  beforeAll(async () => {
    root = await createTestDirectory();
    program = await compileSandbox(root);
  });

  beforeEach(async () => {
    directory = join(await createTestDirectory(), 'data', 'sandbox');
    notes = [];
    users = [];
  });

  afterEach(async () => {
    await Promise.all(users.map((user) => user.release()));
    await removeTestDirectory(join(directory, '..', '..'));
  });

  afterAll(async () => {
    await removeTestDirectory(root);
  });

  it('answers with the key it gave, and ends with its only user', async () => {
    const sandbox = await acquire();
    const pid = await readPid();
    expect(await ask(sandbox)).toMatchObject({ status: 'yes' });

    await sandbox.release();
    expect(isRunning(pid)).toBe(false);
  });

  it('is shared, and stays until the last user has left', async () => {
    const [first, second] = await Promise.all([acquire(), acquire()]);
    const pid = await readPid();
    expect(second.baseUrl).toBe(first.baseUrl);

    await first.release();
    expect(await ask(second)).toMatchObject({ status: 'yes' });
    await second.release();
    expect(isRunning(pid)).toBe(false);
  });

  it('serves, with the same key, one who comes while the last is leaving', async () => {
    const leaving = await acquire();
    const [, coming] = await Promise.all([leaving.release(), acquire()]);

    expect(coming.apiKey).toBe(leaving.apiKey);
    await eventually(() => ask(coming).catch(() => null));
    expect(await ask(coming)).toMatchObject({ status: 'yes' });
    await coming.release();
  });

  it('comes back at the same address when it is killed while in use', async () => {
    const sandbox = await acquire();
    const killed = await readPid();
    process.kill(killed, 'SIGKILL');
    await eventually(async () => (await readPid().catch(() => killed)) !== killed);

    expect(await ask(sandbox)).toMatchObject({ status: 'yes' });
    const pid = await readPid();
    await sandbox.release();
    expect(notes).toEqual(['The sandbox provider has ended unexpectedly; starting it again.']);
    expect(isRunning(pid)).toBe(false);
  });

  it('takes the profile that a user names, running or not, and otherwise keeps it', async () => {
    await acquire('realistic');
    expect(await hasFaults()).toBe(true);
    await acquire();
    expect(await hasFaults()).toBe(true);

    await acquire('quick');
    expect(await hasFaults()).toBe(false);
  });

  it('has its profile again when it is killed while in use', async () => {
    await acquire('realistic');
    const killed = await readPid();
    process.kill(killed, 'SIGKILL');
    await eventually(async () => (await readPid().catch(() => killed)) !== killed);

    await eventually(() => hasFaults().catch(() => false));
  });

  it('keeps its directory to its owner, and leaves the one above as it would be', async () => {
    const sandbox = await acquire();
    await sandbox.release();
    const modes = await Promise.all(
      [directory, join(directory, '..')].map(async (path) => (await stat(path)).mode),
    );

    expect(modes.map((mode) => mode & 0o777)).toEqual([0o700, 0o777 & ~process.umask()]);
  });

  it('says in one line that it cannot start', async () => {
    program = join(root, 'nothing.js');
    await expect(acquire()).rejects.toThrow(
      /^The sandbox provider did not start \(1\)\. See .*sandbox\.log$/,
    );
  });
});

async function ask({ baseUrl, apiKey }: LocalSandbox): Promise<unknown> {
  return (await fetch(`${baseUrl}/api/${apiKey}`)).json();
}
