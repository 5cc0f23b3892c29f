import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ALL_SCOPES, ALL_STAFF_SCOPES } from '../../src/auth';
import { eventually } from '../support/built-service';
import { beforeClosing, forAllTests } from '../support/fixtures';
import { executeAll, type Executed, startDemoService } from '../support/prefilled';
import { createStaff } from '../support/staff';

const PROJECT = join(__dirname, '..', '..');
const MODULES = join(PROJECT, 'node_modules');
const run = promisify(execFile);

// The linter, the generators and the compiler take seconds each.
jest.setTimeout(300_000);

/** Ids of responses go into paths, and an event may have a later type. */
const USE = `
import createClient from 'openapi-fetch';
import type { paths } from './customers';
import type { paths as staffPaths } from './staff';
import { type EventOut, type GetOrderData } from './customers-hey/types.gen';

const client = createClient<paths>({ baseUrl: '' });
const staff = createClient<staffPaths>({ baseUrl: '' });

export async function use(later: EventOut): Promise<string> {
  const { data: bought } = await client.POST('/proxies/buy', { body: { country: 'ru', period: 30 } });
  const orderId = bought?.order_id ?? 1;
  await client.GET('/orders/{order_id}', { params: { path: { order_id: orderId } } });
  await client.GET('/orders/{order_id}', { params: { path: { order_id: String(orderId) } } });
  const path: GetOrderData['path'][] = [{ order_id: orderId }, { order_id: String(orderId) }];
  const { data: link } = await client.POST('/links', { body: { format: 'txt' } });
  if (link) await client.DELETE('/links/{link_id}', { params: { path: { link_id: link.id } } });
  const { data: webhook } = await client.POST('/webhooks', { body: { url: 'https://example.com' } });
  const webhookPath = { webhook_id: webhook?.id ?? 1 };
  await client.POST('/webhooks/{webhook_id}/test', { params: { path: webhookPath } });
  const { data: csv } = await client.GET('/ledger/csv', { parseAs: 'text' });
  const { data: users } = await staff.GET('/staff/users');
  for (const { id } of users?.items ?? []) {
    await staff.GET('/staff/users/{user_id}', { params: { path: { user_id: id } } });
  }
  const event: EventOut = { ...later, type: 'proxy.of-a-later-version' };
  return event.type + path.length + (csv ?? '');
}
`;

const COMPILER = {
  strict: true,
  noUncheckedIndexedAccess: true,
  target: 'es2022',
  module: 'nodenext',
  types: [],
  lib: ['es2023', 'dom'],
  skipLibCheck: true,
  rootDir: '.',
  outDir: 'out',
};

const PARSE = `
const { text } = require('node:stream/consumers');
text(process.stdin).then((input) => {
  for (const { client, schema, name, value } of JSON.parse(input)) {
    const parser = require('./out/' + client + '/zod.gen.js')[schema];
    const result = parser?.safeParse(value);
    if (!result?.success) console.log(name, schema, result ? result.error.message : 'is not generated');
  }
});
`;

const schemaOf = ({ operationId, status }: Executed): string => {
  if (status === 422) return 'zHttpValidationError';
  if (status >= 400) return 'zErrorResponse';
  const words = operationId.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  return `z${words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join('')}Response`;
};

const DESCRIPTIONS = { customers: '/openapi.json', staff: '/staff/openapi.json' };
const OF_OPENAPI_3_0 = ['/openapi-3.0.json', '/staff/openapi-3.0.json'];

describe('Both descriptions', () => {
  let directory: string;
  let found: ReadonlyMap<string, string[]>;
  const warnings: string[] = [];

  const runPackage = (script: string, ...args: string[]) =>
    run(process.execPath, [join(MODULES, script), ...args], {
      cwd: directory,
      maxBuffer: 2 ** 24,
      env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    });

  const demo = forAllTests(startDemoService);
  /** Redocly prints an object for each description. Its exit code is not 0 if it finds problems. */
  async function lint(paths: readonly string[]): Promise<[path: string, problems: string[]][]> {
    const addresses = paths.map((path) => demo.service.baseUrl + path);
    const options = [`--config=${join(PROJECT, 'redocly.yaml')}`, '--format=json'];
    const { stdout } = await runPackage('@redocly/cli/bin/cli.js', 'lint', ...addresses, ...options).catch(
      (failure: unknown) => failure as { stdout: string },
    );
    const printed = stdout.match(/\{\n[^]*?\n\}/g) ?? [];
    return paths.map((path, at) => {
      const { problems } = JSON.parse(printed[at] ?? '') as {
        problems: { ruleId: string; message: string }[];
      };
      return [path, problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)];
    });
  }
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'clients-'));
    await symlink(MODULES, join(directory, 'node_modules'));
    const described = Object.entries(DESCRIPTIONS).map(([name, path]) => ({
      name,
      address: demo.service.baseUrl + path,
    }));
    // Loading a program takes longer than its work, so each is started once for all.
    found = new Map(await lint([...Object.values(DESCRIPTIONS), ...OF_OPENAPI_3_0]));
    const apis = described.map(({ name, address }) => [
      name,
      { root: address, 'x-openapi-ts': { output: `./${name}.ts` } },
    ]);
    const config = { extends: ['minimal'], apis: Object.fromEntries(apis) };
    await writeFile(join(directory, 'redocly.yaml'), JSON.stringify(config));
    const types = ['-c', 'redocly.yaml', '--default-non-nullable=false'];
    const { stderr } = await runPackage('openapi-typescript/bin/cli.js', ...types);
    if (stderr !== '') warnings.push(stderr);
    const jobs = described.map(({ name, address }) => ({
      input: address,
      output: `${name}-hey`,
      plugins: ['@hey-api/typescript', 'zod'],
      logs: 'silent',
    }));
    await writeFile(join(directory, 'openapi-ts.config.mjs'), `export default ${JSON.stringify(jobs)};`);
    await runPackage('@hey-api/openapi-ts/bin/run.js', '--silent');
    await writeFile(join(directory, 'use.ts'), USE);
    await writeFile(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions: COMPILER }));
  });
  beforeClosing(() => rm(directory, { recursive: true, force: true }));

  it.each(Object.values(DESCRIPTIONS))(
    'are valid, and Redocly finds nothing in them, nor examples that do not match their schemas: %s',
    (path) => expect(found.get(path)).toEqual([]),
  );

  it.each(OF_OPENAPI_3_0)('are valid in OpenAPI 3.0, with `nullable` next to references: %s', (path) => {
    const isKnown = (text: string) =>
      /^nullable-type-sibling: |"nullable" cannot be used without "type"/.test(text);
    expect(found.get(path)?.filter((text) => !isKnown(text))).toEqual([]);
    expect(found.get(path)).not.toEqual([]);
  });

  it('become the types of clients without a warning', () => expect(warnings).toEqual([]));

  it('become clients that compile strictly, with ids in paths and events of later types', async () => {
    const { stdout } = await runPackage('typescript/bin/tsc', '-p', '.').catch(
      (failure: unknown) => failure as { stdout: string },
    );
    expect(stdout).toBe('');
  });

  it('become schemas that every response and every delivered event passes', async () => {
    const { service, receiver } = demo;
    const user = await service.createUser({ balance: '10000.00', scopes: ALL_SCOPES });
    const staff = await createStaff(service, [...ALL_SCOPES, ...ALL_STAFF_SCOPES]);
    const ofCustomers = await executeAll(demo, '/docs', user.token);
    const ofStaff = await executeAll(demo, '/staff/docs', staff.token);
    const { data: webhook } = await user.api.POST('/webhooks', { body: { url: `${receiver.url}/all` } });
    const path = { webhook_id: Number(webhook?.id) };
    await user.api.POST('/webhooks/{webhook_id}/test', { params: { path } });
    await eventually(() => receiver.of('/all').length > 0);

    const valueOf = ({ mediaType, text }: Executed): unknown =>
      mediaType === 'application/json' ? JSON.parse(text) : text === '' ? undefined : text;
    const parsed = [
      ...ofCustomers.executed.map((each) => ({ ...each, client: 'customers-hey' })),
      ...ofStaff.executed.map((each) => ({ ...each, client: 'staff-hey' })),
    ].map((each) => ({ client: each.client, name: each.name, schema: schemaOf(each), value: valueOf(each) }));
    for (const { body } of receiver.received) {
      parsed.push({
        client: 'customers-hey',
        name: 'a webhook',
        schema: 'zEventOut',
        value: JSON.parse(body),
      });
    }
    parsed.unshift({ client: 'customers-hey', name: 'a control', schema: 'zEventOut', value: null });
    expect(JSON.parse(receiver.of('/all')[0]?.body ?? '')).toMatchObject({ type: 'test' });

    const running = run(process.execPath, ['-e', PARSE], { cwd: directory, maxBuffer: 2 ** 24 });
    running.child.stdin?.end(JSON.stringify(parsed));
    const refused = (await running).stdout.match(/^.* z\w+(?= )/gm);
    expect(refused).toEqual(['a control zEventOut']);
    expect(parsed.length).toBeGreaterThan(70);
  });
});
