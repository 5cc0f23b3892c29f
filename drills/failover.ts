import 'reflect-metadata';
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { Cluster } from './failover/cluster';
import { chooseFaults } from './failover/faults';
import { failoverMarkdown } from './failover/report';
import { runFailover } from './failover/run';
import { finish, progress, run } from './support/command';
import { requirePrograms } from './support/debian';

// `npm run drill:failover` causes one fault after the other under orders: three replicas behind HAProxy,
// PostgreSQL under Patroni with etcd. 30 rounds take 20 minutes; `-- --rounds 5` takes less.
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '30' },
      only: { type: 'string', default: '' },
      outputs: { type: 'string' },
    },
  });
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds must be a whole number above 0');
  requirePrograms('etcd', 'etcdctl', 'haproxy', 'patroni', 'postgres');
  const cluster = await Cluster.start(undefined, (part) => progress(`starting ${part}`));
  try {
    const faults = chooseFaults(rounds, values.only);
    const report = await runFailover(cluster, faults, { onProgress: progress });
    finish(failoverMarkdown(report), report.violations);
  } finally {
    if (values.outputs !== undefined) await writeFile(values.outputs, cluster.readOutputs());
    await cluster.close();
  }
}

void run(main);
