import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { queryAt } from '../drills/support/database';
import { until } from '../drills/support/until';
import { seedDatabase } from './seeding/seed-database';
import { print, progress, readCount, readNames, run } from './support/command';
import { CELLS, cellsOf, measureInRounds, methodOf, ratio, type Subject } from './support/load';
import { createCustomers, type OwnedDatabase, Place } from './support/place';
import { WORKLOAD_NAMES, WORKLOADS } from './support/workloads';

// `npm run bench:growth` measures how the cost of a request depends on the size of the database
// (users:proxies). `--directory` keeps the databases for the next run. `-- --sizes 1000:1000,1000:100000`
// takes minutes.

const SIZES = '1000:1000,1000:100000,1000000:10000000';
const ENTRIES_PER_USER = 10;
/** Few connections, so that a response time contains no queueing. */
const CONNECTIONS = 4;
const SUMMED_UP_TIMEOUT_MS = 1_800_000;

interface Size {
  readonly users: number;
  readonly proxies: number;
}

function readSizes(text: string): Size[] {
  return text.split(',').map((size) => {
    const [users = Number.NaN, proxies = Number.NaN] = size.split(':').map(Number);
    if (!Number.isInteger(users) || users < 1 || !Number.isInteger(proxies) || proxies < 0) {
      throw new Error(`--sizes must be users:proxies, separated by commas, not ${size}`);
    }
    return { users, proxies };
  });
}

async function openSize(place: Place, { users, proxies }: Size): Promise<OwnedDatabase> {
  const database = await place.openDatabase(`growth_${users}_${proxies}`);
  if ((await queryAt(database.ownerUrl, 'SELECT FROM users LIMIT 1')).length === 0) {
    progress(`filling a database with ${users} users and ${proxies} proxies`);
    await seedDatabase({
      databaseUrl: database.ownerUrl,
      users,
      entriesPerUser: ENTRIES_PER_USER,
      proxiesPerUser: proxies / users,
      seed: 1,
      onProgress: progress,
    });
  }
  return database;
}

/** A service that starts on a full database sums up its sales once, which is not measured. */
const untilSalesAreSummedUp = ({ ownerUrl }: OwnedDatabase): Promise<boolean> => {
  const isSummedUp = `SELECT FROM sales_rollup WHERE rolled_to >= (now() AT TIME ZONE 'UTC')::date - 1`;
  return until('the sales of the past days', async () => (await queryAt(ownerUrl, isSummedUp)).length > 0, {
    timeoutMs: SUMMED_UP_TIMEOUT_MS,
    pollMs: 500,
  });
};

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      sizes: { type: 'string', default: SIZES },
      seconds: { type: 'string', default: '3' },
      rounds: { type: 'string', default: '5' },
      only: { type: 'string' },
      directory: { type: 'string' },
    },
  });
  const sizes = readSizes(values.sizes);
  const [seconds, rounds] = [readCount('seconds', values.seconds), readCount('rounds', values.rounds)];
  const names = readNames(values.only, WORKLOAD_NAMES);
  const place = await Place.open(values.directory);
  try {
    const opened = [];
    for (const size of sizes) {
      const database = await openSize(place, size);
      const service = await place.startService(database);
      opened.push({ name: `${size.users}:${size.proxies}`, database, service });
    }
    await Promise.all(opened.map(({ database }) => untilSalesAreSummedUp(database)));
    const options = { connections: CONNECTIONS, rounds, seconds, postmasterPid: place.postmasterPid };
    const rows: string[][] = [];
    for (const name of names) {
      const { title, customers, proxies, request } = WORKLOADS[name];
      progress(title);
      const subjects: Subject[] = [];
      for (const { name: size, database, service } of opened) {
        const callers = await createCustomers(database, customers, proxies);
        subjects.push({ ...service, name: size, requests: callers.map(({ token }) => request(token)) });
      }
      const samples = await measureInRounds(subjects, options);
      for (const [at, taken] of samples.entries()) {
        const growth = at === 0 ? '' : ratio(taken, samples[0] ?? [], 'totalCpuMs');
        rows.push([at === 0 ? title : '', subjects[at]?.name ?? '', growth, ...cellsOf(taken)]);
      }
    }
    await print({
      method: methodOf(options),
      head: ['', 'users:proxies', 'CPU ÷ the first', ...CELLS],
      rows,
    });
  } finally {
    await place.close();
  }
}

void run(main);
