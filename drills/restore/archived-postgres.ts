import { randomBytes } from 'node:crypto';
import { appendFile, chown, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import type { ServerAccount } from '../../src/local/postgres/embedded-account';
import { createDrillDirectory, databaseAccount, type DrillDirectory } from '../support/accounts';
import { type Daemon, runProgram, startDaemon } from '../support/daemon';
import { DEBIAN, POSTGRES_BIN } from '../support/debian';
import { freePort, LOOPBACK } from '../support/ports';
import { PROJECT } from '../support/project';
import { until } from '../support/until';

const STANZA = 'proxy-rental';
const SUPERUSER = 'postgres';
const EXAMPLE = join(PROJECT, 'operations', 'pgbackrest.conf');
const DATA = 'data';

export interface Measured {
  readonly seconds: number;
}

export interface MadeBackup extends Measured {
  /** The size of the database, what was copied of it, and what that takes in the repository. */
  readonly databaseBytes: number;
  readonly copiedBytes: number;
  readonly repositoryBytes: number;
}

/** What `pgbackrest info --output=json` tells, as far as it is read here. */
type Info = readonly {
  readonly backup: readonly {
    readonly info: {
      readonly size: number;
      readonly delta: number;
      readonly repository: { readonly delta: number };
    };
  }[];
}[];

/**
 * Debian's PostgreSQL 15, whose log pgBackRest archives, set up as `operations/backup.md` says, with
 * `operations/pgbackrest.conf`, in directories of its own.
 */
export class ArchivedPostgres {
  private server: Daemon | undefined;

  private constructor(
    private readonly directory: DrillDirectory,
    private readonly account: ServerAccount,
    private readonly port: number,
    private readonly password: string,
    private readonly dataDirectory: string,
    private readonly configFile: string,
  ) {}

  /** @param archiveTimeoutSeconds after so long, a part of the log is archived that is not full */
  static async start(archiveTimeoutSeconds: number): Promise<ArchivedPostgres> {
    const directory = await createDrillDirectory('restore');
    const account = await databaseAccount();
    const port = await freePort();
    const places = {
      data: await directory.create(DATA, account),
      sockets: await directory.create('sockets', account),
      repository: await directory.create('repository', account),
      logs: await directory.create('logs', account),
      locks: await directory.create('locks', account),
    };
    const password = randomBytes(24).toString('base64url');
    const [passwordFile, configFile] = ['password', 'pgbackrest.conf'].map((name) =>
      join(directory.path, name),
    ) as [string, string];
    const example = await readFile(EXAMPLE, 'utf8');
    const files = {
      [passwordFile]: password,
      [configFile]: example
        .replace(/^repo1-path=.*$/m, `repo1-path=${places.repository}`)
        .replace(/^repo1-cipher-pass=.*$/m, `repo1-cipher-pass=${randomBytes(36).toString('base64')}`)
        .replace(/^log-level-console=/m, `log-path=${places.logs}\nlock-path=${places.locks}\n$&`)
        .replace(
          /^pg1-path=.*$/m,
          `pg1-path=${places.data}\npg1-port=${port}\npg1-socket-path=${places.sockets}`,
        )
        .concat(`pg1-user=${SUPERUSER}\n`),
    };
    for (const [file, text] of Object.entries(files)) {
      await writeFile(file, text, { mode: 0o600 });
      if (!account.isSelf) await chown(file, account.uid, account.gid);
    }
    const postgres = new ArchivedPostgres(directory, account, port, password, places.data, configFile);
    try {
      await postgres.run(join(POSTGRES_BIN, 'initdb'), [
        `--pgdata=${places.data}`,
        `--username=${SUPERUSER}`,
        `--pwfile=${passwordFile}`,
        '--encoding=UTF8',
        '--locale=C.UTF-8',
        '--auth-host=scram-sha-256',
        // pgBackRest comes by the socket, in a directory that only this user can enter.
        '--auth-local=trust',
        '--data-checksums',
        '--no-sync',
      ]);
      await appendFile(
        join(places.data, 'postgresql.conf'),
        [
          `listen_addresses = '${LOOPBACK}'`,
          `port = ${port}`,
          `unix_socket_directories = '${places.sockets}'`,
          'max_connections = 100',
          'archive_mode = on',
          `archive_command = '${postgres.pgbackrestCommand().join(' ')} archive-push %p'`,
          `archive_timeout = ${archiveTimeoutSeconds}`,
          '',
        ].join('\n'),
      );
      await postgres.startServer();
      await postgres.pgbackrest(['stanza-create']);
      await postgres.pgbackrest(['check']);
      return postgres;
    } catch (error) {
      await postgres.close();
      throw error;
    }
  }

  /** @param user left out: the superuser */
  url(database: string, { user = SUPERUSER, password = this.password } = {}): string {
    return `postgres://${user}:${password}@${LOOPBACK}:${this.port}/${database}`;
  }

  /** Starts the server, and waits until it takes writes: after a restore it has replayed its log then. */
  async startServer(): Promise<Measured> {
    const startedAtMs = performance.now();
    this.server = await startDaemon({
      program: DEBIAN.postgres.path,
      parameters: ['-D', this.dataDirectory],
      account: this.account,
      isReady: () => this.isWritable(),
      timeoutMs: 120_000,
    });
    return { seconds: (performance.now() - startedAtMs) / 1000 };
  }

  /** Backs up beside whoever uses the database. */
  async backUp(type: 'full' | 'diff' | 'incr'): Promise<MadeBackup> {
    const startedAtMs = performance.now();
    await this.pgbackrest([`--type=${type}`, 'backup']);
    const seconds = (performance.now() - startedAtMs) / 1000;
    const info = JSON.parse(await this.pgbackrest(['--output=json', 'info'])) as Info;
    const made = info[0]?.backup.at(-1)?.info;
    if (!made) throw new Error('pgBackRest names no backup');
    const { size: databaseBytes, delta: copiedBytes, repository } = made;
    return { seconds, databaseBytes, copiedBytes, repositoryBytes: repository.delta };
  }

  /** Kills the server as a power cut does, and removes its data. */
  async destroy(): Promise<void> {
    await this.server?.stop({ signal: 'SIGKILL' });
    // The other processes of the server notice that the first one is gone.
    await until('the end of the server', async () => (await this.findProcesses()).length === 0);
    await rm(this.dataDirectory, { recursive: true });
  }

  /** Restores the data as of a moment, from the backups and the archive. The server does not run then. */
  async restore(target: Date, options: readonly string[] = []): Promise<Measured> {
    await this.directory.create(DATA, this.account);
    const startedAtMs = performance.now();
    await this.pgbackrest([
      '--type=time',
      `--target=${target.toISOString().replace('T', ' ').replace('Z', '+00')}`,
      '--target-action=promote',
      ...options,
      'restore',
    ]);
    return { seconds: (performance.now() - startedAtMs) / 1000 };
  }

  async query<Row>(statement: string, parameters: unknown[] = [], database = 'postgres'): Promise<Row[]> {
    const client = new Client({ connectionString: this.url(database) });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query(statement, parameters)).rows as Row[];
    } finally {
      await client.end();
    }
  }

  pgbackrest(parameters: readonly string[]): Promise<string> {
    const [program = '', ...options] = this.pgbackrestCommand();
    return this.run(program, [...options, ...parameters]);
  }

  output(): string {
    return this.server?.output() ?? '';
  }

  async close(): Promise<void> {
    await this.server?.stop({ signal: 'SIGINT', patienceMs: 30_000 });
    await this.directory.remove();
  }

  private pgbackrestCommand(): string[] {
    return [DEBIAN.pgbackrest.path, `--config=${this.configFile}`, `--stanza=${STANZA}`];
  }

  private run(program: string, parameters: readonly string[]): Promise<string> {
    return runProgram({ program, parameters, account: this.account });
  }

  private async isWritable(): Promise<boolean> {
    try {
      const [row] = await this.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby');
      return row?.standby === false;
    } catch {
      return false;
    }
  }

  /** The processes whose working directory is the data. */
  private async findProcesses(): Promise<string[]> {
    const found: string[] = [];
    for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
      if ((await readlink(`/proc/${pid}/cwd`).catch(() => '')) === this.dataDirectory) found.push(pid);
    }
    return found;
  }
}
