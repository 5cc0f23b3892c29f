import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerAccount } from '../../src/local/postgres/embedded-account';
import { type Daemon, startDaemon } from '../support/daemon';
import { DEBIAN, POSTGRES_BIN } from '../support/debian';
import { LOOPBACK } from '../support/ports';
import { processesIn, signalProcess } from '../support/processes';

export interface Member {
  readonly name: string;
  readonly role: string;
  readonly state: string;
  readonly timeline?: number;
}

export interface Passwords {
  readonly superuser: string;
  readonly replication: string;
  readonly rewind: string;
  readonly owner: string;
}

export interface NodeOptions {
  readonly name: string;
  readonly directory: string;
  readonly databasePort: number;
  readonly restPort: number;
  readonly etcdHosts: string;
  readonly passwords: Passwords;
  readonly files: string;
  readonly account: ServerAccount;
}

export class DatabaseNode {
  private patroni: Daemon | undefined;

  constructor(private readonly options: NodeOptions) {
    // PostgreSQL is not a child of this process.
    process.once('exit', () => this.killProcesses());
  }

  get name(): string {
    return this.options.name;
  }

  get restUrl(): string {
    return `http://${LOOPBACK}:${this.options.restPort}`;
  }

  get restPort(): number {
    return this.options.restPort;
  }

  get databasePort(): number {
    return this.options.databasePort;
  }

  get dataDirectory(): string {
    return join(this.options.directory, 'data');
  }

  output(): string {
    return this.patroni?.output() ?? '';
  }

  async start(): Promise<void> {
    const { name, directory, databasePort, restPort, etcdHosts, passwords, files, account } = this.options;
    this.patroni = await startDaemon({
      name: `patroni of ${name}`,
      program: DEBIAN.patroni.path,
      parameters: [join(files, 'patroni.yml')],
      account,
      directory,
      environment: {
        CLUSTER_FILES: files,
        OWNER_PASSWORD: passwords.owner,
        PATRONI_NAME: name,
        PATRONI_ETCD_HOSTS: etcdHosts,
        PATRONI_RESTAPI_LISTEN: `${LOOPBACK}:${restPort}`,
        PATRONI_RESTAPI_CONNECT_ADDRESS: `${LOOPBACK}:${restPort}`,
        PATRONI_POSTGRESQL_LISTEN: `${LOOPBACK}:${databasePort}`,
        PATRONI_POSTGRESQL_CONNECT_ADDRESS: `${LOOPBACK}:${databasePort}`,
        PATRONI_POSTGRESQL_DATA_DIR: this.dataDirectory,
        PATRONI_POSTGRESQL_BIN_DIR: POSTGRES_BIN,
        PATRONI_POSTGRESQL_PGPASS: join(directory, 'pgpass'),
        PATRONI_SUPERUSER_USERNAME: 'postgres',
        PATRONI_SUPERUSER_PASSWORD: passwords.superuser,
        PATRONI_REPLICATION_USERNAME: 'replicator',
        PATRONI_REPLICATION_PASSWORD: passwords.replication,
        PATRONI_REWIND_USERNAME: 'rewinder',
        PATRONI_REWIND_PASSWORD: passwords.rewind,
      },
      isReady: async () => (await this.request('/patroni')) !== null,
      timeoutMs: 60_000,
    });
  }

  async kill(): Promise<void> {
    this.killProcesses();
    await this.patroni?.ended;
  }

  killPostgres(): void {
    const pid = Number.parseInt(readFileSync(join(this.dataDirectory, 'postmaster.pid'), 'utf8'), 10);
    signalProcess(pid, 'SIGKILL');
  }

  freeze(): void {
    // Patroni first, because it would notice that PostgreSQL hangs. Twice, for a process may be starting.
    this.patroni?.signal('SIGSTOP');
    for (let round = 0; round < 2; round += 1) this.signalAll('SIGSTOP');
  }

  thaw(): void {
    this.signalAll('SIGCONT');
  }

  async stop(): Promise<void> {
    this.thaw();
    await this.patroni?.stop({ patienceMs: 20_000 });
    this.killProcesses();
  }

  async readCluster(): Promise<readonly Member[] | null> {
    const cluster = (await this.request('/cluster')) as { members: readonly Member[] } | null;
    return cluster?.members ?? null;
  }

  async readStandbys(): Promise<string[]> {
    const state = (await this.request('/patroni')) as {
      replication?: { state: string; sync_state: string }[];
    } | null;
    return (state?.replication ?? []).filter((one) => one.state === 'streaming').map((one) => one.sync_state);
  }

  async isPrimary(): Promise<boolean> {
    try {
      return (await fetch(`${this.restUrl}/primary`, { signal: AbortSignal.timeout(2000) })).ok;
    } catch {
      return false;
    }
  }

  private async request(path: string): Promise<unknown> {
    try {
      return await (await fetch(this.restUrl + path, { signal: AbortSignal.timeout(2000) })).json();
    } catch {
      return null;
    }
  }

  private signalAll(name: NodeJS.Signals): void {
    for (const pid of processesIn(this.options.directory)) signalProcess(pid, name);
  }

  /** Repeats, because a process may just be starting another. */
  private killProcesses(): void {
    this.patroni?.signal('SIGKILL');
    for (let pids = processesIn(this.options.directory); pids.length > 0;) {
      for (const pid of pids) signalProcess(pid, 'SIGKILL');
      pids = processesIn(this.options.directory);
    }
  }
}
