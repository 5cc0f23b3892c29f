import type { Customer } from '../../drills/support/clients';
import { Office } from '../../drills/support/office';
import type { Scope } from '../../src/auth';
import type { Tuning } from '../../src/config';
import { Jobs } from '../../src/jobs';
import { type RunningSandbox, SandboxControl, startSandbox } from '../../src/sandbox';
import {
  type BuiltService,
  ensureBuild,
  eventually,
  killLeftovers,
  startBuiltService,
} from './built-service';
import { type DatabaseRelay, startDatabaseRelay } from './database-relay';
import { holdPermits } from './hold-permits';
import { untilSettled } from './settled';
import { type HeldLock, lockTable } from './table-lock';
import { createTestDatabase, type DatabaseUrls } from './test-database';
import { QUICK_TUNING } from './test-service';
import { tuned } from './tuning';

export type { Customer };

export interface ServiceResponse {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly replayed: boolean;
}

/** Shorter times and no rate limits. */
const QUICK = {
  LOG_LEVEL: 'error',
  PROVIDER_TIMEOUT_MS: '1000',
  PROVIDER_RATE_PER_SECOND: '0',
  TOKEN_REQUESTS_PER_MINUTE: '0',
  USER_REQUESTS_PER_MINUTE: '0',
  ADDRESS_FAILURES_PER_MINUTE: '0',
  PURCHASE_WAIT_MS: '2000',
  SETTLEMENT_DELAY_SECONDS: '1',
  MIGRATE_ON_START: 'false',
};

interface ReplicaOptions {
  readonly throughRelay?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
  readonly tuning?: Tuning;
}

/** One database, one sandbox, and processes of the built service, which may use a database relay. */
export class Replicas {
  private constructor(
    readonly sandbox: RunningSandbox,
    readonly control: SandboxControl,
    readonly relay: DatabaseRelay,
    private readonly database: DatabaseUrls,
    private readonly environment: Readonly<Record<string, string>>,
    private readonly tuning: Tuning,
    private readonly office: Office,
    private readonly dropDatabase: () => Promise<void>,
  ) {}

  static async open(
    options: { environment?: Record<string, string>; tuning?: Tuning; database?: DatabaseUrls } = {},
  ): Promise<Replicas> {
    await ensureBuild();
    const database = options.database
      ? { ...options.database, drop: async () => undefined }
      : await createTestDatabase();
    const sandbox = await startSandbox({ rateLimitPerSecond: null });
    const environment = {
      ...QUICK,
      PX6_API_KEY: sandbox.apiKey,
      PX6_BASE_URL: sandbox.baseUrl,
      ...options.environment,
    };
    return new Replicas(
      sandbox,
      new SandboxControl(sandbox),
      await startDatabaseRelay(database.url),
      database,
      environment,
      { ...QUICK_TUNING, ...options.tuning },
      await Office.open({ ...environment, DATABASE_URL: database.url }),
      () => database.drop(),
    );
  }

  start(options: ReplicaOptions = {}): Promise<BuiltService> {
    return startBuiltService(this.environmentOf(options));
  }

  environmentOf({ throughRelay = false, environment = {}, tuning }: ReplicaOptions = {}): Record<
    string,
    string
  > {
    const url = throughRelay ? this.relay.url : this.database.url;
    return {
      ...this.environment,
      ...tuned({ ...this.tuning, ...tuning }),
      ...environment,
      DATABASE_URL: url,
    };
  }

  createCustomer(balance = '100000.00', scopes?: readonly Scope[]): Promise<Customer> {
    return this.office.createCustomer(balance, scopes);
  }

  query<Row>(statement: string, parameters: unknown[] = []): Promise<Row[]> {
    return this.office.query(statement, parameters);
  }

  holdPermits<Result>(work: () => Promise<Result>): Promise<Result> {
    return holdPermits(this.office.dataSource, work);
  }

  lockTable(table: 'orders' | 'accounts', mode: 'SHARE' | 'EXCLUSIVE'): Promise<HeldLock> {
    return lockTable(this.database.ownerUrl, table, mode);
  }

  /** Until the statements of a dead replica that begin like this have been executed. */
  async untilEnded(beginning: string): Promise<void> {
    await eventually(async () => {
      const running = await this.query(
        `SELECT FROM pg_stat_activity WHERE state = 'active' AND starts_with(query, $1)`,
        [beginning],
      );
      return running.length === 0;
    });
  }

  untilSettled(): Promise<void> {
    return untilSettled(this.office.dataSource);
  }

  untilSwept(): Promise<void> {
    return this.office.untilSwept();
  }

  findViolations(): Promise<string[]> {
    return this.office.findViolations();
  }

  async runAudit(): Promise<void> {
    await this.office.context.get(Jobs).runNow('audit-day');
  }

  async audit(): Promise<void> {
    expect(await this.findViolations()).toEqual([]);
  }

  async close(): Promise<void> {
    await killLeftovers();
    await this.office.close();
    await this.relay.close();
    await this.sandbox.close();
    await this.dropDatabase();
  }
}

export interface Order {
  readonly customer: Customer;
  readonly key?: string;
  readonly requestId?: string;
  readonly path: string;
  readonly body: object;
}

export const purchase = (customer: Customer, key?: string): Order => ({
  customer,
  ...(key !== undefined && { key }),
  path: '/proxies/buy',
  body: { country: 'ru', period: 30 },
});

export const prolongation = (customer: Customer, proxyId: string, key?: string): Order => ({
  customer,
  ...(key !== undefined && { key }),
  path: `/proxies/${proxyId}/prolong`,
  body: { period: 30 },
});

export async function send(
  baseUrl: string,
  order: Omit<Order, 'customer'> & { readonly customer: Pick<Customer, 'token'> },
  signal?: AbortSignal,
): Promise<ServiceResponse> {
  const response = await fetch(baseUrl + order.path, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${order.customer.token}`,
      'Content-Type': 'application/json',
      ...(order.key !== undefined && { 'Idempotency-Key': order.key }),
      ...(order.requestId !== undefined && { 'X-Request-Id': order.requestId }),
    },
    body: JSON.stringify(order.body),
    ...(signal && { signal }),
  });
  return {
    status: response.status,
    body: (await response.json()) as Record<string, unknown>,
    replayed: response.headers.get('Idempotency-Replayed') === 'true',
  };
}

/** For requests to a killed replica: 503 is allowed, because a stopped one returns it before the kill. */
export function expectNoRefusal(responses: readonly unknown[]): void {
  const returned = responses.filter((response) => response !== 'lost') as ServiceResponse[];
  expect(returned.map(({ status }) => status).filter((status) => status !== 200 && status !== 503)).toEqual(
    [],
  );
}

/** Retries until the response is 200, or a 4xx other than 409 and 429. */
export function sendUntilResponse(chooseBaseUrl: () => string, order: Order): Promise<ServiceResponse> {
  return eventually(async () => {
    const response = await send(chooseBaseUrl(), order).catch(() => null);
    const isFinal = response && response.status !== 409 && response.status !== 429 && response.status < 500;
    return isFinal ? response : null;
  });
}
