import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { migrate } from '../src/database';
import { seedDatabase } from './seeding/seed-database';
import { progress, readCount, run } from './support/command';

// `npm run bench:seed -- --database-url "$URL" --users 1000000 --proxies-per-user 10` migrates an empty
// database and fills it with a history of two years. The provider does not know these proxies: without a long
// SWEEP_INTERVAL_SECONDS, a sweep would mark them as withdrawn.

const MEGABYTE = 2 ** 20;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      'database-url': { type: 'string' },
      users: { type: 'string', default: '1000' },
      'entries-per-user': { type: 'string', default: '10' },
      'proxies-per-user': { type: 'string', default: '10' },
      seed: { type: 'string', default: '1' },
    },
  });
  const url = values['database-url'];
  if (url === undefined) throw new Error('--database-url must name a database, as the owner of its tables');
  const options = {
    databaseUrl: url,
    users: readCount('users', values.users),
    entriesPerUser: readCount('entries-per-user', values['entries-per-user'], 0),
    proxiesPerUser: readCount('proxies-per-user', values['proxies-per-user'], 0),
    seed: readCount('seed', values.seed, 0),
  };
  await migrate({ url, ownerUrl: url });
  const { rows, databaseBytes, sample } = await seedDatabase({ ...options, onProgress: progress });
  const database_mb = Math.round(databaseBytes / MEGABYTE);
  process.stdout.write(`${JSON.stringify({ rows, database_mb, sample_user: sample }, null, 2)}\n`);
}

void run(main);
