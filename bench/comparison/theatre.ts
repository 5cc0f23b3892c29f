import { readFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { Generator } from '../generator/generator';
import { findPostgresProgram, runPostgresProgram } from '../support/postgres-tools';
import { productionOptions, startServer } from '../support/processes';
import { Stage } from '../support/stage';
import { readPostmasterPid } from '../support/usage';
import { Cast } from './cast';
import type { Instruments, Server } from './contestants';
import type { Kit } from './paths';

const BARE_SERVER = join(__dirname, '..', 'bare', 'main.js');
const CONNECTIONS = 32;
const NEVER_SECONDS = '86400';
const BYTES_PER_GIGABYTE = 2 ** 30;

/** The provider does not know the proxies that were written for the bench: a sweep would call them withdrawn. */
export const SERVICE_SETTINGS = { SWEEP_INTERVAL_SECONDS: NEVER_SECONDS };
/** One order a call, so that what is recorded of one is one order's. */
const RECORDED_SETTINGS = { ...SERVICE_SETTINGS, ORDERS_PER_CALL: '1' };

/** A stage with everybody on it, and what they are measured with. */
export class Theatre {
  private constructor(
    readonly stage: Stage,
    readonly instruments: Instruments,
    readonly pgbench: string | null,
    readonly psql: string | null,
    readonly nodeOptions: readonly string[],
    private readonly closers: (() => Promise<unknown>)[],
  ) {}

  static async open(): Promise<Theatre> {
    const closers: (() => Promise<unknown>)[] = [];
    try {
      const stage = await Stage.open(0);
      closers.push(() => stage.close());
      const generator = new Generator();
      closers.push(() => generator.close());
      const postmasterPid = await readPostmasterPid(await stage.dataDirectory());
      return new Theatre(
        stage,
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

  /** The service as it runs in production, one replica, started anew. */
  async startService(
    stage = this.stage,
    moreOptions: readonly string[] = [],
  ): Promise<Server & { stop(): Promise<void> }> {
    const replicas = await stage.startReplicas(1, SERVICE_SETTINGS, [...this.nodeOptions, ...moreOptions]);
    return {
      baseUrl: replicas.baseUrls[0] ?? '',
      pid: replicas.pids[0] ?? 0,
      stop: () => replicas.stop(),
    };
  }

  /** @param beside what the paths are compared with */
  async cast({ stage = this.stage, beside }: { stage?: Stage; beside: boolean }): Promise<Kit> {
    const cast = new Cast(stage);
    await cast.prepare();
    const service = await this.startService(stage);
    let bare: Server | null = null;
    if (beside) {
      const server = await startServer(BARE_SERVER, { DATABASE_URL: stage.environment.DATABASE_URL });
      this.closers.push(() => server.stop());
      bare = server;
    }
    return {
      stage,
      cast,
      service,
      bare,
      instruments: this.instruments,
      pgbench: beside ? this.pgbench : null,
      psql: beside ? this.psql : null,
      recordedEnvironment: { ...stage.environment, ...RECORDED_SETTINGS },
    };
  }

  /** The machine, the versions and the commit, in a line. */
  async describe(): Promise<string> {
    const [cpu] = cpus();
    const memory = `${Math.round(totalmem() / BYTES_PER_GIGABYTE)} GB`;
    const version = this.pgbench === null ? 'no pgbench' : await this.readVersion(this.pgbench);
    const options = this.nodeOptions.length === 0 ? 'no options' : this.nodeOptions.join(' ');
    return `${await this.stage.describe()}. ${cpu?.model.trim() ?? 'An unknown processor'}, ${memory}, ${await kernel()}; ${version}; Node.js with ${options}.`;
  }

  private async readVersion(program: string): Promise<string> {
    const { stdout } = await runPostgresProgram(program, ['--version'], this.stage.environment.DATABASE_URL);
    return stdout.trim();
  }
}

async function kernel(): Promise<string> {
  const text = await readFile('/proc/sys/kernel/osrelease', 'utf8').catch(() => '');
  return text === '' ? process.platform : `Linux ${text.trim()}`;
}
