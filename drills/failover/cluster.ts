import { migrate } from '../../src/database';
import { SandboxControl } from '../../src/sandbox';
import { closeAll, createDrillDirectory } from '../support/accounts';
import { Office } from '../support/office';
import { LOOPBACK } from '../support/ports';
import { type BuiltReplica, startReplica, startSandboxProcess } from '../support/service';
import { until } from '../support/until';
import { DatabaseCluster, draw } from './database-cluster';

const QUICK = {
  LOG_LEVEL: 'warn',
  PROVIDER_TIMEOUT_MS: '5000',
  PROVIDER_RATE_PER_SECOND: '20',
  SETTLEMENT_DELAY_SECONDS: '10',
  SWEEP_INTERVAL_SECONDS: '20',
  TOKEN_REQUESTS_PER_MINUTE: '0',
  USER_REQUESTS_PER_MINUTE: '0',
  ADDRESS_FAILURES_PER_MINUTE: '0',
};

const OPEN_ORDERS = `SELECT FROM orders WHERE state IN ('reserved', 'submitting', 'confirming') LIMIT 1`;

export class ServiceReplica {
  private running: BuiltReplica | undefined;

  constructor(
    readonly name: string,
    private readonly environment: Readonly<Record<string, string>>,
  ) {}

  async start(): Promise<void> {
    this.running = await startReplica(this.environment, { name: this.name, timeoutMs: 60_000 });
  }

  signal(name: NodeJS.Signals): void {
    this.running?.signal(name);
  }

  async kill(): Promise<void> {
    await this.running?.stop({ signal: 'SIGKILL' });
  }

  output(): string {
    return this.running?.output() ?? '';
  }
}

export class Cluster {
  private constructor(
    readonly serviceUrl: string,
    readonly databaseUrl: string,
    readonly database: DatabaseCluster,
    readonly replicas: readonly ServiceReplica[],
    readonly control: SandboxControl,
    readonly office: Office,
    readonly close: () => Promise<void>,
  ) {}

  static async start(
    settings: Readonly<Record<string, string>> = {},
    onProgress: (line: string) => void = () => undefined,
  ): Promise<Cluster> {
    const closers: (() => Promise<unknown>)[] = [];
    const close = (): Promise<void> => closeAll(closers);
    try {
      const directory = await createDrillDirectory('failover');
      closers.push(() => directory.remove());
      const database = await DatabaseCluster.start(directory, closers, onProgress);
      const { ports, passwords } = database;

      onProgress('the sandbox and the service');
      const sandbox = await startSandboxProcess(await directory.create('sandbox'));
      closers.push(() => sandbox.stop());
      const { apiKey, baseUrl } = sandbox.address;
      const place = `${LOOPBACK}:${ports.database}/proxy_rental`;
      const url = `postgres://proxy_rental_service:${draw()}@${place}`;
      const ownerUrl = `postgres://proxy_rental:${passwords.owner}@${place}`;
      await until('a migrated database', async () => Boolean(await migrate({ url, ownerUrl })));
      onProgress('migrated');
      const environment = {
        DATABASE_URL: url,
        MIGRATE_ON_START: 'false',
        PX6_API_KEY: apiKey,
        PX6_BASE_URL: baseUrl,
        TRUSTED_PROXIES: LOOPBACK,
        ...QUICK,
        ...settings,
      };
      const replicas = ports.replicas.map(
        (port, at) => new ServiceReplica(`replica-${at + 1}`, { ...environment, PORT: String(port) }),
      );
      for (const replica of replicas) {
        closers.push(() => replica.kill());
        await replica.start();
      }
      const office = await Office.open(environment);
      closers.push(() => office.close());
      const serviceUrl = `http://${LOOPBACK}:${ports.service}`;
      await until('the service behind HAProxy', async () => (await fetch(`${serviceUrl}/health`)).ok);
      const control = new SandboxControl(sandbox.address);
      return new Cluster(serviceUrl, url, database, replicas, control, office, close);
    } catch (error) {
      await close();
      throw error;
    }
  }

  readOutputs(): string {
    const outputs = [
      ['haproxy', this.database.balancer.output()],
      ...this.database.nodes.map((node) => [node.name, node.output()]),
      ...this.replicas.map((replica) => [replica.name, replica.output()]),
    ];
    return outputs.map(([name, text = '']) => `=== ${name}\n${text}`).join('\n');
  }

  query<Row>(statement: string, parameters: unknown[] = []): Promise<Row[]> {
    return this.office.query(statement, parameters);
  }

  async untilSettled(): Promise<void> {
    await until('the end of every order', async () => (await this.query(OPEN_ORDERS)).length === 0, {
      timeoutMs: 120_000,
      pollMs: 200,
    });
    await this.office.untilSwept();
  }
}
