import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const START_MS = 180_000;
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
/** Redocly's page loads a picture from its maker, to whom it also reports its use. It works without both. */
const SOURCES = "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:";
const POLICY = `<meta http-equiv="Content-Security-Policy" content="${SOURCES}" />`;
const run = promisify(execFile);

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly example?: unknown;
  readonly schema?: {
    readonly example?: unknown;
    readonly examples?: readonly unknown[];
    readonly default?: unknown;
  };
}

interface Media {
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content?: Readonly<Record<string, Media>> };
  'x-codeSamples'?: readonly object[];
}

interface Description {
  readonly info: { version: string; description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** The name of a parameter with an example. */
type Example = readonly [name: string, value: unknown];

/**
 * Writes the API reference of both interfaces into the site, with the descriptions next to it.
 *
 * @param version the service's
 */
export async function writeReference(site: string, version: string): Promise<void> {
  await run(process.execPath, ['scripts/build-if-stale.mjs'], { cwd: PROJECT });
  const directory = await mkdtemp(join(tmpdir(), 'proxy-rental-site-'));
  const service = spawn(process.execPath, ['dist/src/main.js'], {
    cwd: PROJECT,
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      PORT: '0',
      DATA_DIR: join(directory, 'data'),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  try {
    const url = await new Promise<string>((resolve, reject) => {
      let said = '';
      const read = (part: Buffer) => {
        said += String(part);
        const [, found] = /Listening on\s+(http\S+)/.exec(said) ?? [];
        if (found) resolve(found);
      };
      service.stdout.on('data', read);
      service.stderr.on('data', read);
      service.on('exit', () => reject(new Error(`the service ended: ${said}`)));
      setTimeout(() => reject(new Error(`the service did not start: ${said}`)), START_MS).unref();
    });
    for (const path of ['', 'staff/']) {
      await mkdir(join(site, path, 'reference'), { recursive: true });
      for (const name of ['openapi.json', 'openapi.yaml', 'openapi-3.0.json', 'openapi-3.0.yaml']) {
        await writeFile(join(site, path, name), await (await fetch(`${url}/${path}${name}`)).text());
      }
      const described = JSON.parse(await readFile(join(site, path, 'openapi.json'), 'utf8')) as Description;
      addSamples(described);
      const { info } = described;
      info.description = `[Back to the guides](/docs/${path === '' ? 'api' : 'staff'}.html). ${info.description}`;
      if (info.version !== version) {
        info.description +=
          ` ${info.version} is the version of the [specified interface](/docs/stability.html); ` +
          `that of the service is ${version}.`;
        info.version = `interface ${info.version}`;
      }
      const source = join(directory, 'openapi.json');
      await writeFile(source, JSON.stringify(described));
      const page = join(site, path, 'reference', 'index.html');
      const redocly = join(PROJECT, 'node_modules/.bin/redocly');
      await run(redocly, ['build-docs', source, '--output', page, '--inlineBundle'], { cwd: directory });
      const html = await readFile(page, 'utf8');
      const kept = html.replace('<meta charset="utf8" />', `$&\n  ${POLICY}`);
      if (kept === html) throw new Error(`${page} has no place for its Content-Security-Policy`);
      await writeFile(page, kept);
    }
  } finally {
    service.kill();
    await new Promise((resolve) => (service.exitCode === null ? service.on('exit', resolve) : resolve(null)));
    await rm(directory, { recursive: true, force: true });
  }
}

/** Adds to each operation how to call it from a shell, TypeScript and Python. */
function addSamples({ paths }: Description): void {
  for (const [path, operations] of Object.entries(paths)) {
    for (const method of METHODS) {
      const operation = operations[method];
      if (!operation) continue;
      const { parameters = [] } = operation;
      const exampleOf = (one: Partial<Parameter>): unknown =>
        one.example ?? one.schema?.example ?? one.schema?.examples?.[0] ?? one.schema?.default ?? 1;
      const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
        String(exampleOf(parameters.find((one) => one.name === name) ?? {})),
      );
      const inPath = parameters
        .filter((one) => one.in === 'path')
        .map((one): Example => [one.name, exampleOf(one)]);
      const query = parameters
        .filter((one) => one.in === 'query' && one.required)
        .map((one): Example => [one.name, exampleOf(one)]);
      const key = parameters.find((one) => one.name === 'Idempotency-Key') && 'my-key-1';
      const media = operation.requestBody?.content?.['application/json'];
      const [first] = Object.values(media?.examples ?? {});
      const body = first?.value ?? media?.example;
      const search = query.length > 0 ? `?${new URLSearchParams(query.map((pair) => pair.map(String)))}` : '';
      operation['x-codeSamples'] = [
        { lang: 'Shell', label: 'curl', source: curlOf(method, filled + search, key, body) },
        { lang: 'TypeScript', source: clientOf(method, path, inPath, query, key, body) },
        { lang: 'Python', source: pythonOf(method, filled + search, key, body) },
      ].filter(({ lang }) => lang !== 'TypeScript' || !path.startsWith('/staff'));
    }
  }
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
const pretty = (value: unknown) => JSON.stringify(value, null, 2);

function curlOf(method: string, path: string, key: string | undefined, body: unknown): string {
  return [
    `curl -sS${method === 'get' || (method === 'post' && body) ? '' : ` -X ${method.toUpperCase()}`} "$URL${path}"`,
    '-H "Authorization: Bearer $TOKEN"',
    ...(key ? [`-H 'Idempotency-Key: ${key}'`] : []),
    ...(body === undefined
      ? []
      : [`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body))}`]),
  ].join(' \\\n  ');
}

function clientOf(
  method: string,
  path: string,
  inPath: readonly Example[],
  query: readonly Example[],
  key: string | undefined,
  body: unknown,
): string {
  const params = {
    ...(inPath.length > 0 && { path: Object.fromEntries(inPath) }),
    ...(query.length > 0 && { query: Object.fromEntries(query) }),
    ...(key && { header: { 'Idempotency-Key': key } }),
  };
  const options = { ...(Object.keys(params).length > 0 && { params }), ...(body !== undefined && { body }) };
  const given = Object.keys(options).length > 0 ? `, ${pretty(options)}` : '';
  return `const { data, error } = await client.${method.toUpperCase()}('${path}'${given});`;
}

function pythonOf(method: string, path: string, key: string | undefined, body: unknown): string {
  const literal = (value: unknown) =>
    pretty(value).replaceAll(
      /(?<=[:[,]\s*)(true|false|null)\b/g,
      (word) => ({ true: 'True', false: 'False' })[word] ?? 'None',
    );
  const headers = { Authorization: 'Bearer …', ...(key && { 'Idempotency-Key': key }) };
  return [
    'response = requests.request(',
    `    "${method.toUpperCase()}", URL + "${path}", timeout=(5, 130),`,
    `    headers=${JSON.stringify(headers)},`,
    ...(body === undefined ? [] : [`    json=${literal(body).replaceAll('\n', '\n    ')},`]),
    ')',
  ].join('\n');
}
