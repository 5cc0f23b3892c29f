import 'reflect-metadata';
import { readEnvironment } from '../src/config';
import { migrate } from '../src/database';
import { acquireResources } from '../src/local';
import { showProgress } from './seeding/progress';
import { seedDatabase, type SeedOptions } from './seeding/seed-database';
import { parseOptions, progress, run } from './support/command';

/**
 * `npm run bench:seed -- --users 1000000 --proxies 10000000`: fills the service's database, or that of
 * `--database-url`, with realistic users, orders, proxies and ledger entries. The provider does not know
 * these proxies and a sweep would mark them withdrawn, so set a long SWEEP_INTERVAL_SECONDS for a service on
 * it.
 */

const MEGABYTE = 1024 * 1024;
const NO_PROVIDER = { provider: false };

function readOptions(): { databaseUrl: string | undefined; seeding: Omit<SeedOptions, 'databaseUrl'> } {
  const values = parseOptions({
    users: { type: 'string', default: '1000' },
    'entries-per-user': { type: 'string', default: '10' },
    'proxies-per-user': { type: 'string' },
    proxies: { type: 'string' },
    seed: { type: 'string', default: '1' },
    append: { type: 'boolean', default: false },
    'database-url': { type: 'string' },
  });
  const number = (
    name: 'users' | 'entries-per-user' | 'proxies-per-user' | 'proxies' | 'seed',
    most: number,
  ): number => {
    const value = Number(values[name]);
    if (!Number.isInteger(value) || value < (name === 'users' ? 1 : 0) || value > most) {
      throw new Error(`--${name} must be a whole number up to ${most}`);
    }
    return value;
  };
  const users = number('users', 100_000_000);
  if (values.proxies !== undefined && values['proxies-per-user'] !== undefined) {
    throw new Error('--proxies and --proxies-per-user exclude each other');
  }
  values['proxies-per-user'] ??= '10';
  return {
    databaseUrl: values['database-url'],
    seeding: {
      users,
      entriesPerUser: number('entries-per-user', 5000),
      proxiesPerUser:
        values.proxies === undefined
          ? number('proxies-per-user', 100_000)
          : number('proxies', 1_000_000_000) / users,
      seed: number('seed', Number.MAX_SAFE_INTEGER),
      append: values.append,
    },
  };
}

async function main(): Promise<void> {
  const { databaseUrl, seeding } = readOptions();
  const environment = readEnvironment(undefined, NO_PROVIDER);
  const database = {
    ...environment.database,
    ...(databaseUrl !== undefined && { url: databaseUrl, ownerUrl: undefined }),
  };
  const resources = await acquireResources({ ...environment, database }, NO_PROVIDER, progress);
  try {
    const { url, ownerUrl = url } = resources.config.database;
    await migrate({ url, ownerUrl });
    const startedAtMs = performance.now();
    const { rows, databaseBytes, sample } = await seedDatabase({
      ...seeding,
      databaseUrl: ownerUrl,
      onProgress: showProgress(process.stderr),
    });
    const result = {
      seconds: Math.round((performance.now() - startedAtMs) / 100) / 10,
      rows,
      database_mb: Math.round(databaseBytes / MEGABYTE),
      sample_user: { id: sample.userId, proxies: sample.proxies, token: sample.token },
    };
    process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  } finally {
    await resources.release();
  }
}

void run(main);
