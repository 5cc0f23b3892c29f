import { readFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { Generator } from '../generator/generator';
import { Fixture } from '../support/fixture';
import { findPostgresProgram, runPostgresProgram } from '../support/postgres-tools';
import { readPostmasterPid } from '../support/process-usage';
import { productionOptions, startServer } from '../support/processes';
import { CustomerPool } from './customer-pool';
import type { Instruments, Server } from './subjects';
import type { WorkloadContext } from './workloads';

const BARE_NODE_SERVER = join(__dirname, '..', 'baseline', 'main.js');
const CONNECTIONS = 32;
const NEVER_SECONDS = '86400';
const BYTES_PER_GIGABYTE = 2 ** 30;

/** No sweep: the sandbox does not know the inserted proxies, so a sweep would mark them withdrawn. */
const SERVICE_SETTINGS = { SWEEP_INTERVAL_SECONDS: NEVER_SECONDS };
/** One order in each provider call, so that the recorded statements belong to a single order. */
const RECORDING_SETTINGS = { ...SERVICE_SETTINGS, ORDERS_PER_CALL: '1' };

/** What compare, growth and profile share: a fixture, the measuring instruments and the baselines. */
export class ComparisonSetup {
  private constructor(
    readonly fixture: Fixture,
    readonly instruments: Instruments,
    readonly pgbench: string | null,
    readonly psql: string | null,
    readonly nodeOptions: readonly string[],
    private readonly closers: (() => Promise<unknown>)[],
  ) {}

  static async open(): Promise<ComparisonSetup> {
    const closers: (() => Promise<unknown>)[] = [];
    try {
      const fixture = await Fixture.open(0);
      closers.push(() => fixture.close());
      const generator = new Generator();
      closers.push(() => generator.close());
      const postmasterPid = await readPostmasterPid(await fixture.dataDirectory());
      return new ComparisonSetup(
        fixture,
        { generator, postmasterPid, connections: CONNECTIONS },
        await findPostgresProgram('pgbench'),
        await findPostgresProgram('psql'),
        await productionOptions(),
        closers,
      );
    } catch (error) {
      for (const close of closers.toReversed()) await close();
      throw error;
    }
  }

  async close(): Promise<void> {
    for (const close of this.closers.splice(0).toReversed()) await close();
  }

  /** Starts one replica with the options of production. */
  async startService(
    fixture = this.fixture,
    moreOptions: readonly string[] = [],
  ): Promise<Server & { stop(): Promise<void> }> {
    const replicas = await fixture.startReplicas(1, SERVICE_SETTINGS, [...this.nodeOptions, ...moreOptions]);
    return {
      baseUrl: replicas.baseUrls[0] ?? '',
      pid: replicas.pids[0] ?? 0,
      stop: () => replicas.stop(),
    };
  }

  /** Starts the service and, on request, its baselines, and prepares the sandbox and the customers. */
  async createContext({
    fixture = this.fixture,
    withBaselines,
  }: {
    fixture?: Fixture;
    withBaselines: boolean;
  }): Promise<WorkloadContext> {
    const customerPool = new CustomerPool(fixture);
    await customerPool.prepare();
    const service = await this.startService(fixture);
    let bare: Server | null = null;
    if (withBaselines) {
      const server = await startServer(BARE_NODE_SERVER, { DATABASE_URL: fixture.environment.DATABASE_URL });
      this.closers.push(() => server.stop());
      bare = server;
    }
    return {
      fixture,
      customerPool,
      service,
      bare,
      instruments: this.instruments,
      pgbench: withBaselines ? this.pgbench : null,
      psql: withBaselines ? this.psql : null,
      recordingEnvironment: { ...fixture.environment, ...RECORDING_SETTINGS },
    };
  }

  /** The machine, the versions and the commit, in one line. */
  async describe(): Promise<string> {
    const [cpu] = cpus();
    const memory = `${Math.round(totalmem() / BYTES_PER_GIGABYTE)} GB`;
    const version = this.pgbench === null ? 'no pgbench' : await this.readVersion(this.pgbench);
    const options = this.nodeOptions.length === 0 ? 'no options' : this.nodeOptions.join(' ');
    const machine = `${cpu?.model.trim() ?? 'Unknown processor'}, ${memory}, ${await kernel()}`;
    return `${await this.fixture.describe()}. ${machine}; ${version}; Node.js with ${options}.`;
  }

  private async readVersion(program: string): Promise<string> {
    const { stdout } = await runPostgresProgram(
      program,
      ['--version'],
      this.fixture.environment.DATABASE_URL,
    );
    return stdout.trim();
  }
}

async function kernel(): Promise<string> {
  const text = await readFile('/proc/sys/kernel/osrelease', 'utf8').catch(() => '');
  return text === '' ? process.platform : `Linux ${text.trim()}`;
}
