import { randomBytes } from 'node:crypto';
import { ALL_STAFF_SCOPES } from '../../src/auth';
import { migrate } from '../../src/database';
import { SandboxControl } from '../../src/sandbox';
import type { FoundProlongationOut } from '../../src/sync';
import type { Customer } from '../support/clients';
import { runProgram } from '../support/daemon';
import { queryAt } from '../support/database';
import { Office } from '../support/office';
import { freePorts, LOOPBACK } from '../support/ports';
import { BUILT_CLI } from '../support/project';
import { type BuiltReplica, type SandboxAddress, startReplica } from '../support/service';
import { until } from '../support/until';
import type { RestorableDatabase } from './archived-postgres';

const DATABASE = 'proxy_rental';
const SERVICE_ROLE = 'proxy_rental_service';
const BALANCE = '10000000.00';
const OPEN_ORDERS = `SELECT FROM orders WHERE state IN ('reserved', 'submitting', 'confirming') LIMIT 1`;

const QUICK = {
  LOG_LEVEL: 'error',
  PROVIDER_TIMEOUT_MS: '5000',
  PROVIDER_RATE_PER_SECOND: '50',
  SETTLEMENT_DELAY_SECONDS: '2',
  SWEEP_INTERVAL_SECONDS: '2',
  TOKEN_REQUESTS_PER_MINUTE: '0',
  USER_REQUESTS_PER_MINUTE: '0',
  ADDRESS_FAILURES_PER_MINUTE: '0',
  DRAIN_SECONDS: '0',
  MIGRATE_ON_START: 'false',
};

export interface UnmatchedProxy {
  readonly id: number;
  readonly order_reference: string;
  readonly named_order_id: number;
  readonly named_user_id: number;
  readonly country: string;
}

export class Shop {
  readonly baseUrls: readonly string[];
  readonly control: SandboxControl;
  private replicas: BuiltReplica[] = [];
  private staffToken = '';

  private constructor(
    private readonly environment: Readonly<Record<string, string>>,
    private readonly urls: { readonly url: string; readonly ownerUrl: string },
    private readonly ports: readonly number[],
    sandbox: SandboxAddress,
  ) {
    this.baseUrls = ports.map((port) => `http://${LOOPBACK}:${port}`);
    this.control = new SandboxControl(sandbox);
  }

  static async open(postgres: RestorableDatabase, sandbox: SandboxAddress, replicas: number): Promise<Shop> {
    const password = randomBytes(24).toString('base64url');
    const urls = {
      url: postgres.url(DATABASE, { user: SERVICE_ROLE, password }),
      ownerUrl: postgres.url(DATABASE),
    };
    const environment = {
      ...QUICK,
      DATABASE_URL: urls.url,
      PX6_API_KEY: sandbox.apiKey,
      PX6_BASE_URL: sandbox.baseUrl,
    };
    const shop = new Shop(environment, urls, await freePorts(replicas), sandbox);
    await shop.migrate();
    await shop.control.setRateLimit(null);
    await shop.control.setBalance('100000000.00');
    for (const country of ['ru', 'us', 'de', 'nl']) await shop.control.setStock('6', country, 10_000_000);
    return shop;
  }

  async migrate(): Promise<void> {
    await migrate(this.urls);
  }

  async createCustomers(count: number): Promise<Customer[]> {
    const office = await Office.open(this.environment);
    try {
      this.staffToken = (await office.createCustomer(BALANCE, ALL_STAFF_SCOPES)).token;
      return await Promise.all(Array.from({ length: count }, () => office.createCustomer(BALANCE)));
    } finally {
      await office.close();
    }
  }

  async start(): Promise<void> {
    this.replicas = await Promise.all(
      this.ports.map((port) =>
        startReplica({ ...this.environment, PORT: String(port) }, { timeoutMs: 60_000 }),
      ),
    );
  }

  async stop(): Promise<void> {
    await Promise.all(this.replicas.map((replica) => replica.stop()));
  }

  async cli<Result>(...words: readonly string[]): Promise<Result> {
    const said = await runProgram({
      program: process.execPath,
      parameters: [BUILT_CLI, ...words],
      environment: this.environment,
    });
    return JSON.parse(said) as Result;
  }

  async asStaff<Result>(method: 'GET' | 'POST', path: string, body?: object): Promise<Result> {
    const response = await fetch(`${this.baseUrls[0]}/staff${path}`, {
      method,
      headers: { Authorization: `Bearer ${this.staffToken}`, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const result: unknown = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(result)}`);
    return result as Result;
  }

  query<Row>(statement: string, parameters: unknown[] = []): Promise<Row[]> {
    return queryAt(this.urls.ownerUrl, statement, parameters);
  }

  async now(): Promise<Date> {
    const [{ now } = { now: new Date() }] = await this.query<{ now: Date }>(
      'SELECT clock_timestamp() AS now',
    );
    return now;
  }

  async currentLog(): Promise<string> {
    const [row] = await this.query<{ part: string }>('SELECT pg_walfile_name(pg_current_wal_lsn()) AS part');
    return row?.part ?? '';
  }

  async hasArchived(part: string): Promise<boolean> {
    const rows = await this.query('SELECT FROM pg_stat_archiver WHERE last_archived_wal >= $1', [part]);
    return rows.length > 0;
  }

  async lastArchivedAt(): Promise<Date> {
    const [row] = await this.query<{ at: Date | null }>(
      'SELECT last_archived_time AS at FROM pg_stat_archiver',
    );
    return row?.at ?? new Date(0);
  }

  async readOrderKeys(): Promise<Set<string>> {
    const rows = await this.query<{ key: string }>(
      `SELECT format('%s %s', user_id, idempotency_key) AS key FROM orders`,
    );
    return new Set(rows.map(({ key }) => key));
  }

  /**
   * Waits until only decisions about finds keep the service closed. Cancels orders that the provider does not
   * list: they were bought in a batch that the database has forgotten, or not at all. Returns their ids.
   */
  async untilEverythingIsFound(reason: string): Promise<number[]> {
    const canceled: number[] = [];
    await until(
      'sweeps that have told everything',
      async () => {
        const { items } = await this.asStaff<{ items: { id: number }[] }>('GET', '/orders?state=review');
        for (const { id } of items) {
          await this.asStaff('POST', `/orders/${id}/decide`, { decision: 'cancel', reason });
          canceled.push(id);
        }
        const { to_be_done: left } = await this.asStaff<{ to_be_done: readonly string[] }>(
          'GET',
          '/maintenance',
        );
        return left.every((line) => line.endsWith('are undecided'));
      },
      { timeoutMs: 600_000 },
    );
    return canceled;
  }

  listUnmatchedProxies(): Promise<UnmatchedProxy[]> {
    return this.list('/unmatched-proxies');
  }

  listFoundProlongations(): Promise<FoundProlongationOut[]> {
    return this.list('/found-prolongations');
  }

  private async list<Item extends { readonly id: number }>(path: string): Promise<Item[]> {
    const items: Item[] = [];
    for (let cursor: number | null = null; ;) {
      const after: string = cursor === null ? '' : `&cursor=${cursor}`;
      const page: { items: Item[]; next_cursor: number | null } = await this.asStaff(
        'GET',
        `${path}?state=open&limit=200${after}`,
      );
      items.push(...page.items);
      cursor = page.next_cursor;
      if (cursor === null) return items;
    }
  }

  async readLogins(): Promise<Map<string, string>> {
    const rows = await this.query<{ id: number; login: string }>('SELECT id, login FROM proxies');
    return new Map(rows.map(({ id, login }) => [String(id), login]));
  }

  async untilSettled(): Promise<void> {
    await until('the end of all orders', async () => (await this.query(OPEN_ORDERS)).length === 0);
  }

  async findViolations(): Promise<string[]> {
    const office = await Office.open(this.environment);
    try {
      return await office.findViolations();
    } finally {
      await office.close();
    }
  }
}
