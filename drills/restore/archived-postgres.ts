import { randomBytes } from 'node:crypto';
import { appendFile, chown, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServerAccount } from '../../src/local/postgres/embedded-account';
import { createDrillDirectory, databaseAccount, type DrillDirectory } from '../support/accounts';
import { type Daemon, runProgram, startDaemon } from '../support/daemon';
import { queryAt } from '../support/database';
import { DEBIAN, POSTGRES_BIN } from '../support/debian';
import { freePort, LOOPBACK } from '../support/ports';
import { processesIn } from '../support/processes';
import { until } from '../support/until';
import { type BackedUpServer, type MadeBackup, type Measured, PgBackRest } from './pgbackrest';

const SUPERUSER = 'postgres';
const DATA = 'data';

export interface RestorableDatabase {
  /** @param credentials those of the superuser if omitted */
  url(database: string, credentials?: { user: string; password: string }): string;
  backUp(type: 'full' | 'diff'): Promise<MadeBackup>;
  destroy(): Promise<void>;
  restore(target: Date): Promise<Measured>;
  startServer(): Promise<Measured>;
  close(): Promise<void>;
}

export class ArchivedPostgres implements RestorableDatabase {
  private server: Daemon | undefined;

  private constructor(
    private readonly directory: DrillDirectory,
    private readonly account: ServerAccount,
    private readonly password: string,
    private readonly place: BackedUpServer,
    private readonly pgbackrest: PgBackRest,
  ) {}

  static async start(archiveTimeoutSeconds: number): Promise<ArchivedPostgres> {
    const directory = await createDrillDirectory('restore');
    const account = await databaseAccount();
    const place = {
      data: await directory.create(DATA, account),
      port: await freePort(),
      sockets: await directory.create('sockets', account),
    };
    const password = randomBytes(24).toString('base64url');
    const passwordFile = join(directory.path, 'password');
    await writeFile(passwordFile, password, { mode: 0o600 });
    if (!account.isSelf) await chown(passwordFile, account.uid, account.gid);
    const pgbackrest = await PgBackRest.create(directory, account);
    const postgres = new ArchivedPostgres(directory, account, password, place, pgbackrest);
    try {
      await runProgram({
        program: join(POSTGRES_BIN, 'initdb'),
        parameters: [
          `--pgdata=${place.data}`,
          `--username=${SUPERUSER}`,
          `--pwfile=${passwordFile}`,
          '--encoding=UTF8',
          '--locale=C.UTF-8',
          '--auth-host=scram-sha-256',
          // pgBackRest uses the socket, in a directory that only this user can enter.
          '--auth-local=trust',
          '--data-checksums',
          '--no-sync',
        ],
        account,
      });
      await appendFile(
        join(place.data, 'postgresql.conf'),
        [
          `listen_addresses = '${LOOPBACK}'`,
          `port = ${place.port}`,
          `unix_socket_directories = '${place.sockets}'`,
          'max_connections = 100',
          'archive_mode = on',
          `archive_command = '${pgbackrest.archiveCommand}'`,
          `archive_timeout = ${archiveTimeoutSeconds}`,
          '',
        ].join('\n'),
      );
      await postgres.startServer();
      await queryAt(postgres.url('postgres'), 'CREATE DATABASE proxy_rental');
      await pgbackrest.createStanza(place);
      return postgres;
    } catch (error) {
      await postgres.close();
      throw error;
    }
  }

  url(database: string, { user, password } = { user: SUPERUSER, password: this.password }): string {
    return `postgres://${user}:${password}@${LOOPBACK}:${this.place.port}/${database}`;
  }

  async startServer(): Promise<Measured> {
    const startedAtMs = performance.now();
    this.server = await startDaemon({
      program: DEBIAN.postgres.path,
      parameters: ['-D', this.place.data],
      account: this.account,
      isReady: () => isWritable(this.url('postgres')),
      timeoutMs: 120_000,
    });
    return { seconds: (performance.now() - startedAtMs) / 1000 };
  }

  backUp(type: 'full' | 'diff'): Promise<MadeBackup> {
    return this.pgbackrest.backUp(this.place, type);
  }

  async destroy(): Promise<void> {
    await this.server?.stop({ signal: 'SIGKILL' });
    // The other processes of the server notice that the first one is gone.
    await until('the end of the server', () => processesIn(this.place.data).length === 0);
    await rm(this.place.data, { recursive: true });
  }

  async restore(target: Date): Promise<Measured> {
    await this.directory.create(DATA, this.account);
    return this.pgbackrest.restore(this.place, target);
  }

  async close(): Promise<void> {
    await this.server?.stop({ signal: 'SIGINT', patienceMs: 30_000 });
    await this.directory.remove();
  }
}

export async function isWritable(url: string): Promise<boolean> {
  try {
    const [row] = await queryAt<{ standby: boolean }>(url, 'SELECT pg_is_in_recovery() AS standby');
    return row?.standby === false;
  } catch {
    return false;
  }
}
