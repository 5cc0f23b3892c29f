import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../support/until';
import type { Cluster, ServiceReplica } from './cluster';
import type { DatabaseNode } from './patroni';

type Fault = (cluster: Cluster) => Promise<() => Promise<void>>;

const SWITCHOVER_TIMEOUT_MS = 60_000;
/** Longer than HAProxy waits for a silent replica. */
const REPLICA_FROZEN_MS = 8000;

const untilReplaced = (cluster: Cluster, former: DatabaseNode): Promise<unknown> =>
  until(
    'another primary',
    async () => {
      const others = cluster.database.nodes.filter((node) => node !== former);
      return (await Promise.all(others.map((node) => node.isPrimary()))).some(Boolean);
    },
    { timeoutMs: 90_000, pollMs: 500 },
  );

let turn = 0;

function nextReplica({ replicas }: Cluster): ServiceReplica {
  const replica = replicas[turn % replicas.length];
  turn += 1;
  if (!replica) throw new Error('there is no replica');
  return replica;
}

export const FAULTS = {
  'kill -9 of the primary, with its machine': async (cluster) => {
    const primary = await cluster.database.findPrimary();
    await primary.kill();
    await untilReplaced(cluster, primary);
    return () => primary.start();
  },
  'freeze of the primary': async (cluster) => {
    const primary = await cluster.database.findPrimary();
    primary.freeze();
    await untilReplaced(cluster, primary);
    return async () => primary.thaw();
  },
  'planned switchover': async (cluster) => {
    const [primary, candidate] = [
      await cluster.database.findPrimary(),
      await cluster.database.findSynchronousStandby(),
    ];
    const response = await fetch(`${primary.restUrl}/switchover`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ leader: primary.name, candidate: candidate.name }),
      signal: AbortSignal.timeout(SWITCHOVER_TIMEOUT_MS),
    });
    if (!response.ok) throw new Error(`switchover: ${response.status}: ${await response.text()}`);
    return async () => undefined;
  },
  'etcd loses its leader': (cluster) => cluster.database.etcd.killLeader(),
  'freeze of a replica of the service': async (cluster) => {
    const replica = nextReplica(cluster);
    replica.signal('SIGSTOP');
    await pause(REPLICA_FROZEN_MS);
    return async () => replica.signal('SIGCONT');
  },
  'kill -9 of the primary alone, beside Patroni': async (cluster) => {
    const primary = await cluster.database.findPrimary();
    primary.killPostgres();
    return async () => undefined;
  },
  'freeze of the synchronous standby': async (cluster) => {
    const standby = await cluster.database.findSynchronousStandby();
    standby.freeze();
    return async () => standby.thaw();
  },
  'kill -9 of a replica of the service': async (cluster) => {
    const replica = nextReplica(cluster);
    await replica.kill();
    return () => replica.start();
  },
} satisfies Record<string, Fault>;

export type FaultName = keyof typeof FAULTS;

export function chooseFaults(rounds: number, only = ''): FaultName[] {
  const all: FaultName[] = [
    'kill -9 of the primary, with its machine',
    'freeze of a replica of the service',
    'freeze of the primary',
    'etcd loses its leader',
    'planned switchover',
    'kill -9 of the primary alone, beside Patroni',
    'freeze of the synchronous standby',
    'kill -9 of the primary, with its machine',
    'kill -9 of a replica of the service',
    'freeze of the primary',
  ];
  const cycle = all.filter((name) => name.includes(only));
  return Array.from({ length: rounds }, (_, at) => cycle[at % cycle.length] ?? 'planned switchover');
}
