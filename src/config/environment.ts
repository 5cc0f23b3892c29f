import { isIP } from 'node:net';

export type LogLevel = 'error' | 'warn' | 'info' | 'debug';
export type LogFormat = 'pretty' | 'json';
/** `realistic`: as slow, as strict and as faulty as the provider was measured. */
export type SandboxProfile = 'quick' | 'realistic';

/** The process environment, checked and typed. Times are in the unit that the name says. */
export interface Environment {
  readonly host: string;
  readonly port: number;
  /** Networks in CIDR notation whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[];
  /** Absent: the embedded PostgreSQL. */
  readonly databaseUrl: string | undefined;
  readonly databasePoolSize: number;
  /** How long a request may wait for a free connection before it is answered 503. */
  readonly databasePoolWaitMs: number;
  readonly dataDir: string;
  readonly migrateOnStart: boolean;
  readonly provider:
    | { readonly kind: 'sandbox' }
    | { readonly kind: 'px6'; readonly apiKey: string; readonly baseUrl: string };
  readonly providerTimeoutMs: number;
  /** Calls a second that the provider allows for one key, over all replicas. 0: no limit. */
  readonly providerRatePerSecond: number;
  /** How long a purchase may wait for its turn at the provider before it is refunded. */
  readonly purchaseWaitMs: number;
  /** How many orders of the same kind may travel in one call at most. 1: each by itself. */
  readonly ordersPerCall: number;
  /** So many failures in a row open a circuit breaker. */
  readonly breakerFailures: number;
  /** How long an open breaker waits before it probes. */
  readonly breakerProbeMs: number;
  /** Roubles, a decimal string. Staff are warned when the balance at the provider is below. */
  readonly providerLowBalance: string;
  readonly reconcileQuietSeconds: number;
  readonly reconcileIntervalMs: number;
  /** Between two full listings of the provider. */
  readonly sweepIntervalSeconds: number;
  /** Between two refreshes of the stored flags of what has ended. */
  readonly activeFlagsIntervalSeconds: number;
  /** How the sandbox behaves; undefined: as it is, when it runs already. */
  readonly sandboxProfile: SandboxProfile | undefined;
  /** A decimal string, e.g. `"12.5"`. */
  readonly markupPercent: string;
  readonly pingTimeoutMs: number;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
}

/** Every mistake of the environment at once. Names variables and what they should be, never their values. */
export class EnvironmentError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(`The environment is not usable:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

class Reader {
  readonly problems: string[] = [];

  constructor(private readonly variables: Readonly<Record<string, string | undefined>>) {}

  /** An empty value counts as absent, as `VAR= npm start` and compose files write it. */
  text(name: string): string | undefined {
    return this.variables[name]?.trim() || undefined;
  }

  integer(name: string, bounds: { default: number; min: number; max: number }): number {
    const text = this.text(name);
    if (text === undefined) return bounds.default;
    const value = /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= bounds.min && value <= bounds.max) return value;
    return this.refuse(name, `must be a whole number from ${bounds.min} to ${bounds.max}`, bounds.default);
  }

  boolean(name: string, fallback: boolean): boolean {
    const text = this.text(name);
    if (text === undefined) return fallback;
    if (text === 'true' || text === 'false') return text === 'true';
    return this.refuse(name, 'must be true or false', fallback);
  }

  oneOf<const Choice extends string, Default>(
    name: string,
    choices: readonly Choice[],
    fallback: Default,
  ): Choice | Default {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const choice = choices.find((one) => one === text);
    return choice ?? this.refuse(name, `must be one of ${choices.join(', ')}`, fallback);
  }

  percent(name: string, fallback: string): string {
    const text = this.text(name);
    if (text === undefined) return fallback;
    if (/^\d{1,4}(\.\d{1,4})?$/.test(text)) return text;
    return this.refuse(name, 'must be a decimal number from 0 to 9999, e.g. 12.5', fallback);
  }

  roubles(name: string, fallback: string): string {
    const text = this.text(name);
    if (text === undefined) return fallback;
    if (/^\d{1,12}(\.\d{1,2})?$/.test(text)) return text;
    return this.refuse(name, 'must be an amount in roubles, e.g. 1000.00', fallback);
  }

  networks(name: string): readonly string[] {
    const networks =
      this.text(name)
        ?.split(',')
        .map((network) => network.trim()) ?? [];
    if (networks.every(isNetwork)) return networks;
    return this.refuse(name, 'must be addresses and networks in CIDR notation, e.g. 10.0.0.0/8,::1', []);
  }

  url(name: string, protocols: readonly string[]): URL | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url && protocols.includes(url.protocol)) return url;
    return this.refuse(
      name,
      `must be a URL that begins with ${protocols.map((p) => `${p}//`).join(' or ')}`,
      undefined,
    );
  }

  refuse<Fallback>(name: string, complaint: string, fallback: Fallback): Fallback {
    this.problems.push(`${name} ${complaint}`);
    return fallback;
  }
}

/** All addresses there are do not count as one: nothing would be left that could be told from a forgery. */
function isNetwork(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/');
  const bits = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0;
  if (prefix === undefined) return bits > 0;
  return more.length === 0 && /^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= bits;
}

const LOOPBACK_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]']);

function readProvider(read: Reader, mayBeMissing: boolean): Environment['provider'] {
  const choice = read.oneOf('PROVIDER', ['px6', 'sandbox'], undefined);
  const apiKey = read.text('PX6_API_KEY');
  const baseUrl = read.url('PX6_BASE_URL', ['https:', 'http:']) ?? new URL('https://px6.link');
  if (baseUrl.protocol === 'http:' && !LOOPBACK_HOSTS.has(baseUrl.hostname)) {
    read.refuse(
      'PX6_BASE_URL',
      'must be https unless it is on this machine: the key travels in the path',
      undefined,
    );
  }
  if (choice === 'sandbox') {
    if (apiKey) read.refuse('PX6_API_KEY', 'contradicts PROVIDER=sandbox: give one of them', undefined);
    return { kind: 'sandbox' };
  }
  if (apiKey) {
    if (!/^[A-Za-z0-9_-]+$/.test(apiKey)) {
      read.refuse('PX6_API_KEY', 'must be letters, digits, - and _', undefined);
    }
    return { kind: 'px6', apiKey, baseUrl: baseUrl.href.replace(/\/+$/, '') };
  }
  if (read.text('PX6_BASE_URL') !== undefined) {
    read.refuse('PX6_BASE_URL', 'is of no use without PX6_API_KEY', undefined);
  }
  if (choice === 'px6' || !mayBeMissing) {
    read.refuse('PX6_API_KEY', 'is missing (PROVIDER=sandbox runs without a real provider)', undefined);
  }
  return { kind: 'sandbox' };
}

/**
 * Reads and checks the environment.
 *
 * @param needs.upstream whether the process is going to ask the provider; else a missing key is no mistake
 * @throws EnvironmentError naming every variable that is wrong, without its value
 */
export function readEnvironment(
  variables: Readonly<Record<string, string | undefined>> = process.env,
  needs = { upstream: true },
): Environment {
  const read = new Reader(variables);
  const databaseUrl = read.url('DATABASE_URL', ['postgres:', 'postgresql:'])?.href;
  const environment: Environment = Object.freeze({
    host: read.text('HOST') ?? '127.0.0.1',
    port: read.integer('PORT', { default: 3000, min: 0, max: 65_535 }),
    trustedProxies: read.networks('TRUSTED_PROXIES'),
    databaseUrl,
    databasePoolSize: read.integer('DB_POOL_SIZE', { default: 16, min: 2, max: 1000 }),
    databasePoolWaitMs: read.integer('DB_POOL_WAIT_MS', { default: 5000, min: 10, max: 60_000 }),
    dataDir: read.text('DATA_DIR') ?? '.data',
    migrateOnStart: read.boolean('MIGRATE_ON_START', true),
    provider: readProvider(read, read.text('DATABASE_URL') === undefined || !needs.upstream),
    providerTimeoutMs: read.integer('PROVIDER_TIMEOUT_MS', { default: 30_000, min: 100, max: 600_000 }),
    providerRatePerSecond: read.integer('PROVIDER_RATE_PER_SECOND', { default: 3, min: 0, max: 100 }),
    purchaseWaitMs: read.integer('PURCHASE_WAIT_MS', { default: 20_000, min: 0, max: 600_000 }),
    ordersPerCall: read.integer('ORDERS_PER_CALL', { default: 100, min: 1, max: 1000 }),
    breakerFailures: read.integer('BREAKER_FAILURES', { default: 5, min: 1, max: 1_000_000 }),
    breakerProbeMs: read.integer('BREAKER_PROBE_MS', { default: 5000, min: 50, max: 600_000 }),
    providerLowBalance: read.roubles('PROVIDER_LOW_BALANCE', '1000.00'),
    reconcileQuietSeconds: read.integer('RECONCILE_QUIET_SECONDS', { default: 600, min: 1, max: 86_400 }),
    reconcileIntervalMs: read.integer('RECONCILE_INTERVAL_MS', { default: 1000, min: 50, max: 60_000 }),
    sweepIntervalSeconds: read.integer('SWEEP_INTERVAL_SECONDS', { default: 900, min: 1, max: 86_400 }),
    activeFlagsIntervalSeconds: read.integer('ACTIVE_FLAGS_INTERVAL_SECONDS', {
      default: 60,
      min: 1,
      max: 86_400,
    }),
    sandboxProfile: read.oneOf('SANDBOX_PROFILE', ['quick', 'realistic'], undefined),
    markupPercent: read.percent('MARKUP_PERCENT', '20'),
    pingTimeoutMs: read.integer('PING_TIMEOUT_MS', { default: 3000, min: 1, max: 60_000 }),
    logLevel: read.oneOf('LOG_LEVEL', ['error', 'warn', 'info', 'debug'], 'info'),
    logFormat: read.oneOf('LOG_FORMAT', ['pretty', 'json'], process.stdout.isTTY ? 'pretty' : 'json'),
  });
  if (read.problems.length > 0) throw new EnvironmentError(read.problems);
  return environment;
}
