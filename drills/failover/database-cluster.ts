import { randomBytes } from 'node:crypto';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { databaseAccount, type DrillDirectory } from '../support/accounts';
import type { Daemon } from '../support/daemon';
import { freePorts } from '../support/ports';
import { PROJECT } from '../support/project';
import { until } from '../support/until';
import { Etcd } from './etcd';
import { startBalancer } from './haproxy';
import { DatabaseNode, type Member, type Passwords } from './patroni';

const NODES = 3;
const REPLICAS = 3;
const FILES = join(PROJECT, 'docker', 'cluster');

export interface ClusterPorts {
  readonly service: number;
  readonly database: number;
  readonly replicas: readonly number[];
}

/** The configuration files are those of `docker/cluster/`. */
export class DatabaseCluster {
  private constructor(
    readonly etcd: Etcd,
    readonly nodes: readonly DatabaseNode[],
    readonly balancer: Daemon,
    readonly ports: ClusterPorts,
    readonly passwords: Passwords,
    readonly files: string,
  ) {}

  /** @param closers receives functions to be called in reverse order, even if the start fails */
  static async start(
    directory: DrillDirectory,
    closers: (() => Promise<unknown>)[],
    onProgress: (line: string) => void,
    prepare: (files: string) => Promise<void> = async () => undefined,
  ): Promise<DatabaseCluster> {
    const ports = await freePorts(2 * NODES + 2 * NODES + REPLICAS + 3);
    const etcdPorts = ports.splice(0, 2 * NODES);
    const replicaPorts = ports.splice(0, REPLICAS);
    const [servicePort = 0, databasePort = 0, statePort = 0] = ports.splice(0, 3);

    // The user of the database may not enter this project, but can read a copy.
    const files = join(directory.path, 'files');
    await cp(FILES, files, { recursive: true });
    await prepare(files);
    onProgress('etcd');
    const members = [1, 2, 3].map((number) => directory.create(`etcd-${number}`));
    const etcd = await Etcd.start(await Promise.all(members), etcdPorts);
    closers.push(() => etcd.stop());

    onProgress('Patroni and PostgreSQL');
    const passwords = { superuser: draw(), replication: draw(), rewind: draw(), owner: draw() };
    const account = await databaseAccount();
    const nodes: DatabaseNode[] = [];
    for (let number = 1; number <= NODES; number += 1) {
      const name = `database-${number}`;
      const [database = 0, rest = 0] = ports.splice(0, 2);
      const node = new DatabaseNode({
        name,
        directory: await directory.create(name, account),
        databasePort: database,
        restPort: rest,
        etcdHosts: etcd.hosts,
        passwords,
        files,
        account,
      });
      nodes.push(node);
      closers.push(() => node.stop());
      await node.start();
      onProgress(name);
      // The first node creates the cluster, and the others copy it.
      if (number === 1) await until('the first primary', () => node.isPrimary(), { timeoutMs: 60_000 });
    }
    const balancer = await startBalancer({
      servicePort,
      databasePort,
      statePort,
      replicaPorts,
      nodes,
      files,
    });
    closers.push(() => balancer.stop());
    onProgress('balancer');
    const clusterPorts = { service: servicePort, database: databasePort, replicas: replicaPorts };
    const cluster = new DatabaseCluster(etcd, nodes, balancer, clusterPorts, passwords, files);
    await cluster.untilWhole();
    return cluster;
  }

  async readMembers(): Promise<readonly Member[]> {
    for (const node of this.nodes) {
      const members = await node.readCluster();
      if (members?.some(({ role }) => role === 'leader')) return members;
    }
    return [];
  }

  findPrimary(): Promise<DatabaseNode> {
    return this.findByRole('leader');
  }

  findSynchronousStandby(): Promise<DatabaseNode> {
    return this.findByRole('sync_standby');
  }

  async untilWhole(): Promise<void> {
    await until(
      'a cluster of which every node follows',
      async () => {
        const leader = (await this.readMembers()).find(({ role }) => role === 'leader');
        const standbys = await this.nodes.find(({ name }) => name === leader?.name)?.readStandbys();
        return standbys?.length === this.nodes.length - 1 && standbys.includes('sync');
      },
      { timeoutMs: 120_000, pollMs: 500 },
    );
  }

  private findByRole(role: string): Promise<DatabaseNode> {
    return until(
      `a ${role}`,
      async () => {
        const found = (await this.readMembers()).find((member) => member.role === role);
        return this.nodes.find(({ name }) => name === found?.name);
      },
      { timeoutMs: 60_000, pollMs: 500 },
    );
  }
}

export const draw = (): string => randomBytes(18).toString('base64url');
