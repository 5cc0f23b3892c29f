import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServerAccount } from '../../src/local/postgres/embedded-account';
import { DatabaseCluster } from '../failover/database-cluster';
import type { DatabaseNode } from '../failover/patroni';
import { closeAll, createDrillDirectory, databaseAccount } from '../support/accounts';
import { runProgram, startDaemon } from '../support/daemon';
import { DEBIAN } from '../support/debian';
import { LOOPBACK } from '../support/ports';
import { until } from '../support/until';
import { isWritable, type RestorableDatabase } from './archived-postgres';
import { type BackedUpServer, type MadeBackup, type Measured, PgBackRest } from './pgbackrest';

const SCOPE = 'proxy-rental';

export class ArchivedCluster implements RestorableDatabase {
  private constructor(
    private readonly cluster: DatabaseCluster,
    private readonly pgbackrest: PgBackRest,
    private readonly account: ServerAccount,
    readonly close: () => Promise<void>,
  ) {}

  static async start(archiveTimeoutSeconds: number): Promise<ArchivedCluster> {
    const closers: (() => Promise<unknown>)[] = [];
    const close = (): Promise<void> => closeAll(closers);
    try {
      const directory = await createDrillDirectory('restore');
      closers.push(() => directory.remove());
      const account = await databaseAccount();
      const pgbackrest = await PgBackRest.create(directory, account);
      const archive = [
        "archive_mode: 'on'",
        `archive_command: '${pgbackrest.archiveCommand}'`,
        `archive_timeout: ${archiveTimeoutSeconds}`,
      ];
      const cluster = await DatabaseCluster.start(
        directory,
        closers,
        () => undefined,
        async (files) => {
          const path = join(files, 'patroni.yml');
          const text = (await readFile(path, 'utf8'))
            .replace(
              /^( +)max_connections:/m,
              (line, indent) => `${archive.map((one) => `${indent}${one}\n`).join('')}${line}`,
            )
            // pgBackRest uses a socket in the data directory, which only this user can enter.
            .replace("unix_socket_directories: ''", 'unix_socket_directories: .')
            .replace('- local all all scram-sha-256', '- local all all trust');
          await writeFile(path, text);
        },
      );
      await pgbackrest.createStanza(serverOf(await cluster.findPrimary()));
      return new ArchivedCluster(cluster, pgbackrest, account, close);
    } catch (error) {
      await close();
      throw error;
    }
  }

  url(
    database: string,
    { user, password } = { user: 'postgres', password: this.cluster.passwords.superuser },
  ): string {
    return `postgres://${user}:${password}@${LOOPBACK}:${this.cluster.ports.database}/${database}`;
  }

  async backUp(type: 'full' | 'diff'): Promise<MadeBackup> {
    return this.pgbackrest.backUp(serverOf(await this.cluster.findPrimary()), type);
  }

  async destroy(): Promise<void> {
    await Promise.all(this.cluster.nodes.map((node) => node.kill()));
    await Promise.all(this.cluster.nodes.map((node) => rm(node.dataDirectory, { recursive: true })));
  }

  async restore(target: Date): Promise<Measured> {
    await this.forgetCluster();
    const place = serverOf(this.first);
    const { data, port } = place;
    const restored = await this.pgbackrest.restore(place, target);
    const server = await startDaemon({
      program: DEBIAN.postgres.path,
      // The backup contains the settings of that time's leader.
      parameters: [
        '-D',
        data,
        `--port=${port}`,
        `--hba_file=${data}/pg_hba.conf`,
        `--ident_file=${data}/pg_ident.conf`,
      ],
      account: this.account,
      isReady: () => isWritable(this.url('postgres').replace(/:\d+\/postgres$/, `:${port}/postgres`)),
      timeoutMs: 120_000,
    });
    await server.stop({ signal: 'SIGINT', patienceMs: 30_000 });
    return restored;
  }

  async startServer(): Promise<Measured> {
    const startedAtMs = performance.now();
    await this.first.start();
    await until('the restored primary', () => this.first.isPrimary(), { timeoutMs: 60_000 });
    for (const node of this.cluster.nodes.slice(1)) await node.start();
    await this.cluster.untilWhole();
    await until('writes', () => isWritable(this.url('postgres')));
    return { seconds: (performance.now() - startedAtMs) / 1000 };
  }

  /** `patronictl remove` wants the leader's name until its lease has ended. */
  private async forgetCluster(): Promise<void> {
    const responses = String.raw`printf '${SCOPE}\nYes I am aware\n'`;
    const remove = `${DEBIAN.patronictl.path} -c ${join(this.cluster.files, 'patroni.yml')} remove ${SCOPE}`;
    await until(
      'an empty state of the cluster',
      async () => {
        await runProgram({
          program: '/bin/sh',
          parameters: ['-c', `${responses} | ${remove}`],
          environment: { PATRONI_ETCD_HOSTS: this.cluster.etcd.hosts },
        });
        return true;
      },
      { timeoutMs: 60_000, pollMs: 1000 },
    );
  }

  private get first(): DatabaseNode {
    const [first] = this.cluster.nodes;
    if (!first) throw new Error('a cluster without a node');
    return first;
  }
}

const serverOf = ({ dataDirectory, databasePort }: DatabaseNode): BackedUpServer => ({
  data: dataDirectory,
  port: databasePort,
  sockets: dataDirectory,
});
