import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { restoreMarkdown } from './restore/report';
import { runRestore } from './restore/run';
import { finish, progress, run } from './support/command';
import { requirePrograms } from './support/debian';

// `npm run drill:restore` sells and backs up, destroys the database, restores it to five minutes earlier, and
// reopens. It takes 10 minutes; `-- --minutes 0.5` takes two. `--patroni` uses three nodes under Patroni.
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      /** From the restored moment to the destruction. */
      minutes: { type: 'string', default: '5' },
      customers: { type: 'string', default: '8' },
      patroni: { type: 'boolean', default: false },
    },
  });
  const [minutes, customers] = [Number(values.minutes), Number(values.customers)];
  if (!(minutes > 0)) throw new Error('--minutes must be a number above 0');
  if (!Number.isInteger(customers) || customers < 1) throw new Error('--customers must be a whole number');
  requirePrograms('postgres', 'pgbackrest');
  if (values.patroni) requirePrograms('etcd', 'etcdctl', 'haproxy', 'patroni', 'patronictl');
  const report = await runRestore({
    patroni: values.patroni,
    replicas: 2,
    customers,
    pauseMs: 200,
    secondsBetween: Math.min(60, 20 * minutes),
    secondsLost: 60 * minutes,
    archiveTimeoutSeconds: Math.ceil(Math.min(60, 20 * minutes)),
    onProgress: progress,
  });
  finish(restoreMarkdown(report), report.violations);
}

void run(main);
