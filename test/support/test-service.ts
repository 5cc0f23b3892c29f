import type { AddressInfo } from 'node:net';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { DataSource } from 'typeorm';
import type { components } from '../../clients/typescript/src/api-types';
import { createApplication } from '../../src/application';
import { ALL_SCOPES, type Scope, TokensService } from '../../src/auth';
import { Money } from '../../src/common';
import { readEnvironment, resolveConfig, type Tuning } from '../../src/config';
import { IntegrityService } from '../../src/integrity';
import { Jobs } from '../../src/jobs';
import { LedgerService } from '../../src/ledger';
import {
  PaymentsSandbox,
  type RunningSandbox,
  SandboxControl,
  type SandboxOptions,
  startSandbox,
} from '../../src/sandbox';
import { UsersService } from '../../src/users';
import { shared } from '../jest/shared';
import { type ApiClient, createApiClient } from './api-client';
import { untilSettled } from './settled';
import { TestClock } from './test-clock';
import { connectAsOwner, createTestDatabase, type DatabaseUrls, type TestDatabase } from './test-database';
import { tuned } from './tuning';
import { WireClient } from './wire-client';

export interface TestUser {
  readonly id: number;
  readonly token: string;
  readonly api: ApiClient;
  buy(
    order?: Partial<components['schemas']['PurchaseRequest']>,
    key?: string,
  ): ReturnType<typeof postPurchase>;
  prolong(
    proxyId: string,
    order?: { period?: number; key?: string | undefined },
  ): ReturnType<typeof postProlongation>;
}

const withKey = (key: string | undefined) => (key === undefined ? {} : { 'Idempotency-Key': key });

const postPurchase = (api: ApiClient, body: components['schemas']['PurchaseRequest'], key?: string) =>
  api.POST('/proxies/buy', { body, params: { header: withKey(key) } });

const postProlongation = (api: ApiClient, proxyId: string, period: number, key?: string) =>
  api.POST('/proxies/{proxy_id}/prolong', {
    body: { period },
    params: { path: { proxy_id: proxyId }, header: withKey(key) },
  });

export type JobIntervalsMs = Readonly<Record<string, number>>;

interface Started {
  readonly app: NestExpressApplication;
  readonly baseUrl: string;
  readonly database: TestDatabase;
  readonly clock: TestClock;
  /** A connection as the tables' owner. */
  readonly owner: DataSource;
  readonly sandbox: RunningSandbox;
  readonly jobIntervalsMs: JobIntervalsMs | undefined;
}

export interface TestService extends Started {
  readonly databaseUrl: string;
  readonly dataSource: DataSource;
  readonly control: SandboxControl;
  readonly wire: WireClient;
  createUser(user?: { balance?: string; scopes?: readonly Scope[] }): Promise<TestUser>;
  balanceOf(user: Pick<TestUser, 'id'>): Promise<{ available: string; held: string }>;
  /** The provider's number, which the sandbox's control interface expects. */
  providerIdOf(proxyId: string | number | undefined): Promise<number>;
  /** Null while a replica runs the job. */
  runJob(name: string, cutOff?: AbortSignal): Promise<Readonly<Record<string, number>> | null>;
  untilSettled(): Promise<void>;
  findBroken(scope?: Parameters<IntegrityService['run']>[0]): Promise<Record<string, readonly unknown[]>>;
  audit(scope?: { withProvider: boolean }): Promise<void>;
  close(): Promise<void>;
}

export function testUser(baseUrl: string, id: number, token: string): TestUser {
  const api = createApiClient(baseUrl, token);
  return {
    id,
    token,
    api,
    buy: (order, key) => postPurchase(api, { country: 'ru', period: 30, ...order }, key),
    prolong: (proxyId, { period = 30, key } = {}) => postProlongation(api, proxyId, period, key),
  };
}

/** No rate limits, and short settlement delays. */
const QUICK = {
  // Each connection costs PostgreSQL about 30 ms of processor time, and more for its first statements.
  DB_POOL_SIZE: '4',
  LOG_LEVEL: 'error',
  LOG_FORMAT: 'json',
  // Longer than any response on a busy machine or behind a gate.
  PROVIDER_TIMEOUT_MS: '10000',
  PROVIDER_RATE_PER_SECOND: '0',
  TOKEN_REQUESTS_PER_MINUTE: '0',
  USER_REQUESTS_PER_MINUTE: '0',
  ADDRESS_FAILURES_PER_MINUTE: '0',
  SETTLEMENT_DELAY_SECONDS: '1',
  // Tests receive webhooks on this machine.
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
};

export const QUICK_TUNING: Tuning = {
  // An open breaker would keep the next test's calls from the provider.
  breakerFailures: 1_000_000,
  reconcileIntervalMs: 300,
};

/** Rarer jobs would run in some tests by chance. */
const REGULAR_WITHIN_MS = 4000;
const NOT_IN_THIS_TEST_MS = 3_600_000;

/**
 * Jobs that run less often than every four seconds run only in tests that name them. So does the refresh of
 * the catalog, whose calls come 40 s after a test's own.
 */
export async function startApplication(
  app: NestExpressApplication,
  jobs: Jobs,
  intervalsMs: JobIntervalsMs = {},
) {
  await app.init();
  await jobs.start((name, usualMs) => {
    const isRegular = usualMs <= REGULAR_WITHIN_MS && name !== 'refresh-catalog';
    return intervalsMs[name] ?? (isRegular ? usualMs : NOT_IN_THIS_TEST_MS);
  });
  await app.listen(0, '127.0.0.1');
}

export const paymentsEnvironment = ({ baseUrl, shopId, secretKey }: PaymentsSandbox) => ({
  PAYMENTS: 'sandbox',
  YOOKASSA_BASE_URL: baseUrl,
  YOOKASSA_SHOP_ID: shopId,
  YOOKASSA_SECRET_KEY: secretKey,
});

/** For tests of the API description, which call no payment provider. */
export const DESCRIBES_DEPOSITS = {
  PAYMENTS: 'sandbox',
  YOOKASSA_BASE_URL: 'http://127.0.0.1:9/v3',
  YOOKASSA_SHOP_ID: 'none',
};

interface TestServiceOptions {
  environment?: Record<string, string>;
  tuning?: Tuning;
  sandbox?: SandboxOptions;
  provider?: { readonly baseUrl: string; readonly apiKey: string };
  payments?: PaymentsSandbox;
  database?: DatabaseUrls;
  /** Runs before the service starts, with the owner's URL. */
  prepareDatabase?: (ownerUrl: string) => Promise<void>;
  jobIntervalsMs?: JobIntervalsMs;
}

async function start(options: TestServiceOptions): Promise<Started> {
  const database = options.database
    ? { ...options.database, drop: async () => undefined }
    : await createTestDatabase();
  await options.prepareDatabase?.(database.ownerUrl);
  const sandbox = await startSandbox({ rateLimitPerSecond: null, ...options.sandbox });
  const environment = readEnvironment({
    DATABASE_URL: database.url,
    PX6_API_KEY: sandbox.apiKey,
    PX6_BASE_URL: sandbox.baseUrl,
    ...QUICK,
    ...(options.payments && paymentsEnvironment(options.payments)),
    ...tuned({ ...QUICK_TUNING, ...options.tuning }),
    ...options.environment,
  });
  const clock = new TestClock();
  const app = await createApplication(
    resolveConfig(environment, database.url, options.provider ?? sandbox),
    clock,
  );
  await startApplication(app, app.get(Jobs), options.jobIntervalsMs);
  const baseUrl = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
  const owner = await connectAsOwner(database);
  if (options.payments) options.payments.notifier.url = `${baseUrl}/payments/sandbox/notifications`;
  return { app, baseUrl, database, clock, owner, sandbox, jobIntervalsMs: options.jobIntervalsMs };
}

async function end({ app, owner, sandbox, database }: Started): Promise<void> {
  await app.close();
  await owner.destroy();
  await sandbox.close();
  await database.drop();
}

function serve(started: Started, close: () => Promise<void>): TestService {
  const { app, baseUrl, database } = started;
  const dataSource = app.get(DataSource);
  const findBroken: TestService['findBroken'] = async (scope) => {
    const { ok, invariants } = await app.get(IntegrityService).run(scope);
    const broken = invariants.filter(({ violations }) => violations > 0);
    expect(ok).toBe(broken.length === 0);
    return Object.fromEntries(broken.map(({ name, rows }) => [name, rows]));
  };
  return {
    ...started,
    databaseUrl: database.url,
    dataSource,
    control: new SandboxControl(started.sandbox),
    wire: new WireClient(started.sandbox.baseUrl, started.sandbox.apiKey),
    async createUser({ balance = '10000.00', scopes = ALL_SCOPES } = {}) {
      const { id } = await app.get(UsersService).create({ username: 'test' });
      const amount = Money.parse(balance);
      if (amount.isPositive()) await app.get(LedgerService).credit(id, amount, 'test');
      return testUser(baseUrl, id, (await app.get(TokensService).issue({ userId: id, scopes })).text);
    },
    async balanceOf({ id }) {
      const [account] = await dataSource.query<{ available: string; held: string }[]>(
        'SELECT available, held FROM accounts WHERE user_id = $1',
        [id],
      );
      if (!account) throw new Error('no account');
      return account;
    },
    async providerIdOf(proxyId) {
      const [row] = await dataSource.query('SELECT provider_proxy_id AS id FROM proxies WHERE id = $1', [
        proxyId,
      ]);
      return Number(row.id);
    },
    runJob: (name, cutOff) => app.get(Jobs).runNow(name, cutOff) as Promise<Record<string, number> | null>,
    untilSettled: () => untilSettled(dataSource),
    findBroken,
    async audit(scope) {
      expect(await findBroken(scope)).toEqual({});
    },
    close,
  };
}

/** For tests that need other settings, move the clock, stop something, or read all users' rows. */
export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const started = await start(options);
  return serve(started, () => end(started));
}

async function share(kind: string): Promise<TestService> {
  const services = shared.services as Map<string, Promise<Started>>;
  const started = services.get(kind) ?? start({});
  services.set(kind, started);
  shared.close = async () => {
    for (const each of services.values()) await end(await each);
  };
  const service = serve(await started, async () => undefined);
  await service.control.resetFaults();
  return service;
}

/** A file creates its users, leaves the clock alone, reverts sandbox changes and tolerates other rows. */
export const sharedTestService = (): Promise<TestService> => share('audited');

/** Never audited, for files that change what orders and the ledger wrote. */
export const unauditedTestService = (): Promise<TestService> => share('unaudited');
