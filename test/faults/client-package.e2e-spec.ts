import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { transformSync } from '@swc/core';
import { beforeClosing, forAllTests, forEachTest } from '../support/fixtures';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';
import { startTestService } from '../support/test-service';

const PROJECT = join(__dirname, '..', '..');
const MODULES = join(PROJECT, 'node_modules');
const CLIENT = join(PROJECT, 'clients', 'typescript');
const run = promisify(execFile);

// The compiler and npm take seconds each.
jest.setTimeout(300_000);

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string; readonly size: number }[];
}

const TYPED = `
import { createClient, type components, EventsGoneError } from 'proxy-rental-client';

export async function buy(baseUrl: string, token: string): Promise<components['schemas']['ProxyOut'][]> {
  const client = createClient({ baseUrl, token });
  const { data, error } = await client.POST('/proxies/buy', { body: { country: 'ru', period: 30 } });
  if (!data) throw new EventsGoneError(JSON.stringify(error.detail));
  return 'proxies' in data ? data.proxies : [];
}
// @ts-expect-error: the period is a number.
createClient({ baseUrl: '', token: '' }).POST('/proxies/buy', { body: { country: 'ru', period: 'long' } });
`;
/** Checks the declarations of the package, but not those of TypeScript. */
const COMPILER = '--strict --noEmit --skipDefaultLibCheck --lib es2023,dom --target es2023 --module nodenext';

describe('The package of the TypeScript client', () => {
  let directory: string;
  let readme: string;
  let packed: Packed;

  const npm = (...options: string[]) =>
    run('npm', [...options, '--offline', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: directory });
  async function execute(name: string, script: string): Promise<string> {
    await writeFile(join(directory, name), script);
    const env = { PATH: process.env['PATH'], URL: service.baseUrl, TOKEN: user.token };
    return (await run(process.execPath, [name], { cwd: directory, env })).stdout;
  }
  function example(heading: string): string {
    const [, code = ''] = readme.split(`## ${heading}\n`)[1]?.split('```ts\n') ?? [];
    const options = { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' } } as const;
    return transformSync(code.split('```')[0] ?? '', options).code.replace('./client.js', './client.mjs');
  }

  const service = forAllTests(startTestService);
  beforeAll(async () => {
    readme = await readFile(join(CLIENT, 'README.md'), 'utf8');
    directory = await createTestDirectory('client-');
    await run(process.execPath, [join(CLIENT, 'build.mjs')]);
    // The dependencies are packed too, so that the registry is not needed.
    const others = ['openapi-fetch', 'openapi-typescript-helpers'].map((name) => join(MODULES, name));
    const { stdout } = await npm('pack', CLIENT, ...others, '--json');
    const all = JSON.parse(stdout) as readonly [Packed, ...Packed[]];
    expect(all).toHaveLength(1 + others.length);
    [packed] = all;
    await writeFile(join(directory, 'package.json'), '{ "private": true }');
    await npm('install', ...all.map(({ filename }) => `./${filename}`));
  });
  const user = forEachTest(() => service.createUser());
  beforeClosing(async () => {
    await removeTestDirectory(directory);
    await service.audit({ withProvider: true });
  });

  it('buys with the lines of its README in an empty project', async () => {
    await writeFile(join(directory, 'client.mjs'), example('Connect'));
    expect(await execute('buy.mjs', example('Buy'))).toMatch(/^25\.08 for 127\.0\.0\.1:\d+\n$/);
    expect((await service.balanceOf(user)).available).toBe('9974.92');
    expect(await execute('list.mjs', example('Lists'))).toMatch(/^\d+ completed\n$/);
    await execute('again.mjs', example('Buy'));
    expect((await service.balanceOf(user)).available).toBe('9974.92');
  });

  it('buys in CommonJS, which Node.js does not load as an ES module', async () => {
    const code = example('Connect').replace('export ', '') + example('Buy').replace(/^import .*$/m, '');
    const required = code.replace(/import (\{.*\}) from ('.*');/, 'const $1 = require($2);');
    const script = `(async () => {\n${required}})();`;
    expect(await execute('buy.cjs', script)).toMatch(/^25\.08 for /);
    expect((await service.balanceOf(user)).available).toBe('9974.92');
    const loaded = await execute(
      'loaded.cjs',
      `require('proxy-rental-client'); console.log(Object.keys(require.cache).join('\\n'));`,
    );
    expect(loaded).toContain(join('proxy-rental-client', 'dist', 'cjs', 'index.js'));
  });

  it('has types for both module systems', async () => {
    for (const name of ['typed.mts', 'typed.cts']) await writeFile(join(directory, name), TYPED);
    const compiling = run(
      process.execPath,
      [join(MODULES, 'typescript', 'bin', 'tsc'), ...COMPILER.split(' '), 'typed.mts', 'typed.cts'],
      { cwd: directory },
    ).catch((failure: unknown) => failure as { stdout: string });
    expect((await compiling).stdout).toBe('');
  });

  it('has what it needs and nothing else, within the sizes of its README', () => {
    const names = packed.files.map(({ path }) => path).toSorted();
    const of = (system: string) =>
      ['api-types.d.ts', 'api-types.js', 'index.d.ts', 'index.js'].map((name) => `dist/${system}/${name}`);
    expect(names).toEqual(
      [
        ...of('cjs'),
        ...of('esm'),
        'dist/cjs/package.json',
        'LICENSE',
        'README.md',
        'package.json',
      ].toSorted(),
    );
    const [mostPacked, mostUnpacked, mostCode] = [
      ...readme.matchAll(/(\d+) kB (?:packed|unpacked|for\s+each)/g),
    ].map(([, kilobytes]) => Number(kilobytes) * 1000);
    expect(packed.size).toBeLessThanOrEqual(mostPacked ?? 0);
    expect(packed.unpackedSize).toBeLessThanOrEqual(mostUnpacked ?? 0);
    for (const { path, size } of packed.files) {
      if (path.endsWith('.js')) expect([path, size <= (mostCode ?? 0)]).toEqual([path, true]);
    }
  });
});
