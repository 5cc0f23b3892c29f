// Starts its own service, against which a shell, Python and Node.js run the code of the documents.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import ts, { ModuleKind, ScriptTarget, transpile } from 'typescript';
import type { Scope } from '../../src/auth';
import { codeBlocks, DOCUMENTS } from '../support/code-blocks';
import { beforeClosing, forAllTests } from '../support/fixtures';
import { findProgram, findPython } from '../support/programs';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';
import { startTestService, type TestUser } from '../support/test-service';

const run = promisify(execFile);
const PROJECT = join(__dirname, '..', '..');
const CLIENT = join(PROJECT, 'clients', 'typescript');
/** Decisions also sketch code. */
const GUIDES = DOCUMENTS.filter((path) => !path.startsWith('docs/decisions/'));
const readExample = (name: string) => readFileSync(join(PROJECT, 'docs', 'examples', name), 'utf8');
const SCOPES: readonly Scope[] = ['proxies:write', 'proxies:read'];
const python = findPython('requests');
const curl = findProgram('curl');
const service = forAllTests(startTestService);
beforeClosing(() => service.audit({ withProvider: true }));
let directory: string;
beforeEach(async () => {
  await service.control.resetFaults();
  directory = await createTestDirectory('scripts-');
});
afterEach(() => removeTestDirectory(directory));

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function execute(command: readonly string[], user: Pick<TestUser, 'token'>): Promise<Outcome> {
  const [program = '', ...parameters] = command;
  const env = { PATH: process.env['PATH'], URL: service.baseUrl, TOKEN: user.token };
  const ended = run(program, parameters, { cwd: directory, env, timeout: 100_000 });
  return ended.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (failure: unknown) => failure as Outcome,
  );
}

async function ordersOf({ api }: TestUser): Promise<string[]> {
  const { data } = await api.GET('/orders', { params: { query: { sort: 'oldest' } } });
  return (data?.items ?? []).map(({ state, delivered }) => `${state} ${delivered}`);
}

const LANGUAGES = [
  { language: 'sh', extension: 'sh', program: curl && 'sh', needs: 'curl' },
  { language: 'python', extension: 'py', program: python, needs: 'python3-requests' },
  { language: 'ts', extension: 'ts', program: process.execPath, needs: '' },
] as const;

async function commandOf(language: string, script: string): Promise<string[]> {
  if (language === 'sh') return ['sh', '-c', script];
  if (language === 'python') return [python ?? '', '-c', script];
  await symlink(join(PROJECT, 'node_modules'), join(directory, 'node_modules')).catch(() => undefined);
  const options = { module: ModuleKind.ESNext, target: ScriptTarget.ES2022 };
  const client = await readFile(join(CLIENT, 'src', 'index.ts'), 'utf8');
  await writeFile(join(directory, 'client.mjs'), transpile(client, options));
  const code = transpile(script, options).replace('proxy-rental-client', './client.mjs');
  await writeFile(join(directory, 'script.mjs'), code);
  return [process.execPath, 'script.mjs'];
}

describe.each(LANGUAGES.slice(0, 2))(
  'The script of docs/scripts.md in $language',
  ({ language, extension, program, needs }) => {
    if (program === undefined) {
      it.skip(`apt-get install ${needs}`, () => undefined);
      return;
    }
    const script = readExample(`order.${extension}`);
    const key = () => readFile(join(directory, 'order.key'), 'utf8').catch(() => undefined);
    const runScript = async (user: Pick<TestUser, 'token'>, changed = script) =>
      execute(await commandOf(language, changed), user);

    it('buys once through a lost response and a run after a crash, then buys anew', async () => {
      const user = await service.createUser({ scopes: SCOPES });
      await service.control.addFault({ method: 'buy', kind: 'response-lost' });
      await writeFile(join(directory, 'order.key'), 'the-key-of-the-crash');
      const first = await runScript(user);
      expect([first.code, first.stdout]).toEqual([0, expect.stringMatching(/^200 ?:? \{"order_id":\d+/)]);
      expect(await key()).toBeUndefined();
      await writeFile(join(directory, 'order.key'), 'the-key-of-the-crash');
      expect(await runScript(user)).toMatchObject({ code: 0, stdout: first.stdout });
      expect(await ordersOf(user)).toHaveLength(1);
      expect(await runScript(user)).toMatchObject({ code: 0 });
      expect(await ordersOf(user)).toHaveLength(2);
    });

    it('retries what ends by itself, and ends with 1 after a refusal', async () => {
      const user = await service.createUser({ scopes: SCOPES });
      await service.control.addFault({ method: 'buy', kind: 'error', errorId: 110 });
      expect(await runScript(user)).toMatchObject({ code: 0 });
      expect((await ordersOf(user)).map((one) => one.split(' ')[0])).toEqual(['canceled', 'completed']);
      const dear = await runScript(user, script.replace(/"[36]0\.00"/, '"0.01"'));
      expect([dear.code, dear.stdout]).toEqual([1, expect.stringContaining('"The price is')]);
      expect(await runScript(user, script.replace('"ru"', '"xx"'))).toMatchObject({ code: 1 });
      expect(await key()).toBeUndefined();
      expect(await ordersOf(user)).toHaveLength(2);
    });

    it('keeps the key where the token does not work', async () => {
      expect(await runScript({ token: 'prx_none' })).toMatchObject({ code: 75 });
      expect(await key()).toBeDefined();
    });
  },
);

describe.each(LANGUAGES)('The nightly purchase in $language', ({ language, extension, program, needs }) => {
  if (program === undefined) {
    it.skip(`apt-get install ${needs}`, () => undefined);
    return;
  }
  it('buys 20 proxies once, through a lost response, a partial delivery and a rerun', async () => {
    const user = await service.createUser({ scopes: SCOPES });
    const script = readExample(`nightly.${extension}`);
    const nightly = async (changed = script) => execute(await commandOf(language, changed), user);
    const refused = await nightly(script.replaceAll('26', '1'));
    expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining('"The price is')]);
    await service.control.addFault({ method: 'buy', kind: 'short-list', shortBy: 8 });
    await service.control.addFault({ method: 'buy', kind: 'response-lost' });
    const first = await nightly();
    expect(first).toMatchObject({ code: 0 });
    expect(await ordersOf(user)).toEqual(['partial 12', 'completed 8']);
    expect(await nightly()).toMatchObject({ code: 0, stdout: first.stdout });
    expect(await ordersOf(user)).toHaveLength(2);
  });
});

describe('The TypeScript of the documents', () => {
  it('is accepted by the strict compiler', () => {
    const blocks = new Map(
      GUIDES.flatMap((path) =>
        codeBlocks(path, 'ts').map((code, at) => {
          const name = code.startsWith('// client.ts')
            ? 'client.ts'
            : `${path.replaceAll('/', '-')}-${at}.ts`;
          return [join(CLIENT, name), code] as const;
        }),
      ),
    );
    blocks.set(join(CLIENT, 'nightly.ts'), readExample('nightly.ts'));
    expect(blocks.size).toBeGreaterThan(5);
    const options: ts.CompilerOptions = {
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.NodeNext,
      types: ['node'],
      paths: { 'proxy-rental-client': [join(CLIENT, 'src', 'index.ts')] },
    };
    const host = ts.createCompilerHost(options);
    host.fileExists = (path) => blocks.has(path) || ts.sys.fileExists(path);
    host.readFile = (path) => blocks.get(path) ?? ts.sys.readFile(path);
    const program = ts.createProgram([...blocks.keys()], options, host);
    const refused = [...blocks.keys()].flatMap((path) =>
      ts.getPreEmitDiagnostics(program, program.getSourceFile(path)),
    );
    expect(ts.formatDiagnostics(refused, host)).toBe('');
  });
});
