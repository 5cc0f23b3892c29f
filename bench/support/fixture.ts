import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { AdministrationModule } from '../../src/administration.module';
import { ALL_SCOPES, TokensService } from '../../src/auth';
import { Money } from '../../src/common';
import { readEnvironment, resolveConfig } from '../../src/config';
import { dataSourceOptions, migrate } from '../../src/database';
import { IntegrityService } from '../../src/integrity';
import { LedgerService } from '../../src/ledger';
import { acquireEmbeddedPostgres } from '../../src/local';
import { SandboxControl, WireClient } from '../../src/sandbox';
import { UsersService } from '../../src/users';
import type { Customer } from './order-client';
import { PROJECT, type RunningService, startSandboxProcess, startService } from './processes';

const BALANCE = Money.parse('10000000.00');
const POLL_MS = 100;

/** Replicas of the service with the same configuration. */
export interface Replicas {
  readonly baseUrls: readonly string[];
  readonly pids: readonly number[];
  /** Round robin, like a load balancer. */
  readonly chooseBaseUrl: () => string;
  stop(): Promise<void>;
}

export interface FixtureEnvironment extends Readonly<Record<string, string>> {
  readonly DATABASE_URL: string;
  readonly DATABASE_OWNER_URL: string;
  readonly PX6_API_KEY: string;
  readonly PX6_BASE_URL: string;
}

/** A temporary PostgreSQL and sandbox, with the replicas of the service that are started on them. */
export class Fixture {
  private constructor(
    readonly control: SandboxControl,
    readonly wire: WireClient,
    /** Environment of every replica; contains the database's password and the provider's key. */
    readonly environment: FixtureEnvironment,
    private readonly administration: INestApplicationContext,
    private readonly owner: DataSource,
    private readonly running: Set<RunningService>,
    readonly close: () => Promise<void>,
  ) {}

  /** @param ratePerSecond limit of the service's provider calls; 0: none */
  static async open(ratePerSecond: number): Promise<Fixture> {
    // Closed in reverse order.
    const closers: (() => Promise<unknown>)[] = [];
    const close = async (): Promise<void> => {
      for (const closer of closers.splice(0).toReversed()) await closer();
    };
    try {
      const directory = await mkdtemp(join(tmpdir(), 'proxy-rental-bench-'));
      closers.push(() => rm(directory, { recursive: true, force: true }));
      // mkdtemp restricts it to this user, but under root PostgreSQL runs as another user that must enter it.
      await chmod(directory, 0o755);
      const postgres = await acquireEmbeddedPostgres({ dataDir: directory, onNote: () => undefined });
      // A symbolic link when PostgreSQL's user cannot enter the directory of temporary files.
      const cluster = await realpath(join(directory, 'postgres'));
      closers.push(() => rm(cluster, { recursive: true, force: true }));
      closers.push(() => postgres.release());
      await migrate(postgres);

      const sandboxDirectory = join(directory, 'sandbox');
      const sandbox = await startSandboxProcess(sandboxDirectory);
      closers.push(() => sandbox.stop());
      const address = await readAddress(sandboxDirectory);
      const { baseUrl, apiKey } = address;

      const environment = {
        DATABASE_URL: postgres.url,
        DATABASE_OWNER_URL: postgres.ownerUrl,
        PX6_API_KEY: apiKey,
        PX6_BASE_URL: baseUrl,
        PROVIDER_RATE_PER_SECOND: String(ratePerSecond),
        // A customer of a benchmark asks more often than any person.
        TOKEN_REQUESTS_PER_MINUTE: '1000000000',
        USER_REQUESTS_PER_MINUTE: '1000000000',
        LOG_LEVEL: 'error',
        MIGRATE_ON_START: 'false',
        AUDIT_TIME: 'off',
      };
      const owner = await connect(postgres.ownerUrl);
      closers.push(() => owner.destroy());
      const administration = await openAdministration(environment);
      closers.push(() => administration.close());
      const running = new Set<RunningService>();
      closers.push(() => Promise.all([...running].map((service) => service.stop())));
      const control = new SandboxControl(address);
      return new Fixture(
        control,
        new WireClient(baseUrl, apiKey),
        environment,
        administration,
        owner,
        running,
        close,
      );
    } catch (error) {
      await close();
      throw error;
    }
  }

  /**
   * A fixture with an empty database on the same server and with the same sandbox. Close it before this one.
   */
  async createSibling(name: string): Promise<Fixture> {
    await this.query(`CREATE DATABASE ${name}`);
    return this.openDatabase({
      url: inDatabase(this.environment.DATABASE_URL, name),
      ownerUrl: inDatabase(this.environment.DATABASE_OWNER_URL, name),
    });
  }

  /** A fixture with another database, which is migrated, and the same sandbox. Close it before this one. */
  async openDatabase({ url, ownerUrl }: { url: string; ownerUrl: string }): Promise<Fixture> {
    await migrate({ url, ownerUrl });
    const environment = { ...this.environment, DATABASE_URL: url, DATABASE_OWNER_URL: ownerUrl };
    const owner = await connect(ownerUrl);
    const administration = await openAdministration(environment);
    const running = new Set<RunningService>();
    return new Fixture(this.control, this.wire, environment, administration, owner, running, async () => {
      await Promise.all([...running].map((service) => service.stop()));
      await administration.close();
      await owner.destroy();
    });
  }

  async startReplicas(
    count: number,
    environment: Readonly<Record<string, string>>,
    nodeOptions: readonly string[] = [],
  ): Promise<Replicas> {
    const services = await Promise.all(
      Array.from({ length: count }, async () => {
        const service = await startService({ ...this.environment, ...environment }, nodeOptions);
        this.running.add(service);
        return service;
      }),
    );
    const baseUrls = services.map(({ baseUrl }) => baseUrl);
    let chosen = 0;
    return {
      baseUrls,
      pids: services.map(({ pid }) => pid),
      chooseBaseUrl: () => {
        chosen += 1;
        return baseUrls[chosen % baseUrls.length] ?? '';
      },
      stop: async () => {
        for (const service of services) this.running.delete(service);
        await Promise.all(services.map((service) => service.stop()));
      },
    };
  }

  async createCustomers(count: number): Promise<Customer[]> {
    const customers: Customer[] = [];
    while (customers.length < count) {
      const { id } = await this.administration.get(UsersService).create({ username: 'bench' });
      await this.administration.get(LedgerService).credit(id, BALANCE, 'bench');
      const { text } = await this.administration.get(TokensService).issue({ userId: id, scopes: ALL_SCOPES });
      customers.push({ id, token: text });
    }
    return customers;
  }

  /** Runs a statement as the owner of the tables. */
  query<Row>(statement: string, parameters: unknown[] = []): Promise<Row[]> {
    return this.owner.query(statement, parameters);
  }

  /** PostgreSQL's data directory; its log is next to it. */
  async dataDirectory(): Promise<string> {
    const [row] = await this.query<{ data_directory: string }>('SHOW data_directory');
    return row?.data_directory ?? '';
  }

  /** Waits until no order is open. Gives the number of orders that are still open at the timeout. */
  async untilSettled(timeoutMs: number): Promise<number> {
    const deadlineMs = performance.now() + timeoutMs;
    for (;;) {
      const [{ open } = { open: 0 }] = await this.query<{ open: number }>(
        `SELECT count(*)::int AS open FROM orders WHERE state IN ('reserved', 'submitting', 'confirming')`,
      );
      if (open === 0 || performance.now() > deadlineMs) return open;
      await pause(POLL_MS);
    }
  }

  /** What is wrong with the books, and, unless it is left out, between them and what the provider lists. */
  async audit({ withProvider = true } = {}): Promise<string[]> {
    const { checks } = await this.administration.get(IntegrityService).run({ withProvider });
    return checks
      .filter(({ violations }) => violations > 0)
      .map(({ name, violations, rows }) => `${name}: ${violations}: ${JSON.stringify(rows.slice(0, 3))}`);
  }

  /** Date, commit and versions, in one line. */
  async describe(): Promise<string> {
    const [{ server_version: postgres } = { server_version: '?' }] = await this.query<{
      server_version: string;
    }>('SHOW server_version');
    const { length: cores } = cpus();
    return [
      new Date().toISOString().slice(0, 10),
      `commit ${await describeCommit()}`,
      `Node ${process.versions.node}`,
      `PostgreSQL ${postgres.split(' ')[0]}`,
      `${cores} cores for everything: load, service, database and sandbox`,
    ].join(', ');
  }
}

/** The address of another database on the same server. */
export const inDatabase = (url: string, name: string): string =>
  Object.assign(new URL(url), { pathname: `/${name}` }).href;

const connect = (url: string): Promise<DataSource> =>
  new DataSource(dataSourceOptions({ url, poolSize: 2, applicationName: 'bench' })).initialize();

function openAdministration(environment: FixtureEnvironment): Promise<INestApplicationContext> {
  const config = resolveConfig(readEnvironment(environment), environment.DATABASE_URL, {
    baseUrl: environment.PX6_BASE_URL,
    apiKey: environment.PX6_API_KEY,
  });
  return NestFactory.createApplicationContext(AdministrationModule.with(config), { logger: false });
}

async function readAddress(
  directory: string,
): Promise<{ baseUrl: string; controlUrl: string; controlSecret: string; apiKey: string }> {
  return JSON.parse(await readFile(join(directory, 'address.json'), 'utf8'));
}

async function describeCommit(): Promise<string> {
  const git = async (...parameters: string[]): Promise<string> =>
    (await promisify(execFile)('git', parameters, { cwd: PROJECT })).stdout.trim();
  try {
    const isChanged = (await git('status', '--porcelain', '--', 'src', 'bench')) !== '';
    return `${await git('rev-parse', '--short', 'HEAD')}${isChanged ? ' with changes' : ''}`;
  } catch {
    return 'unknown';
  }
}
