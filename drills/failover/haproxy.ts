import { join } from 'node:path';
import { type Daemon, startDaemon } from '../support/daemon';
import { DEBIAN } from '../support/debian';
import { isListening, LOOPBACK } from '../support/ports';

export interface BalancerOptions {
  readonly servicePort: number;
  readonly databasePort: number;
  readonly statePort: number;
  readonly replicaPorts: readonly number[];
  readonly nodes: readonly { readonly databasePort: number; readonly restPort: number }[];
  readonly files: string;
}

export function startBalancer(options: BalancerOptions): Promise<Daemon> {
  const { servicePort, databasePort, statePort, replicaPorts, nodes, files } = options;
  const environment: Record<string, string> = {
    CLUSTER_FILES: files,
    SERVICE_BIND: `${LOOPBACK}:${servicePort}`,
    DATABASE_BIND: `${LOOPBACK}:${databasePort}`,
    STATE_BIND: `${LOOPBACK}:${statePort}`,
  };
  for (const [at, port] of replicaPorts.entries()) environment[`REPLICA_${at + 1}`] = `${LOOPBACK}:${port}`;
  for (const [at, node] of nodes.entries()) {
    environment[`DATABASE_${at + 1}`] = `${LOOPBACK}:${node.databasePort}`;
    environment[`PATRONI_${at + 1}_PORT`] = String(node.restPort);
  }
  return startDaemon({
    name: 'haproxy',
    program: DEBIAN.haproxy.path,
    parameters: ['-db', '-f', join(files, 'haproxy.cfg')],
    environment,
    isReady: async () => (await isListening(servicePort)) && (await isListening(databasePort)),
  });
}
