import 'reflect-metadata';
import { setTimeout as pause } from 'node:timers/promises';
import { growthMarkdown, type GrowthSize } from './reports/growth-report';
import { showProgress } from './seeding/progress';
import { seedDatabase } from './seeding/seed-database';
import {
  parseOptions,
  progress,
  readNames,
  readPositive,
  RESULTS,
  run,
  writeResult,
} from './support/command';
import type { Fixture } from './support/fixture';
import { readPostmasterPid } from './support/process-usage';
import { measureInRounds, type WorkloadResult } from './workloads/rounds';
import { ComparisonSetup } from './workloads/setup';
import { WORKLOAD_NAMES, type WorkloadContext, type WorkloadName, WORKLOADS } from './workloads/workloads';

/**
 * `npm run bench:growth`: measures how response times depend on the size of the database. Takes hours, most
 * of them to seed the largest database; `-- --sizes 1000:1000,1000:100000` takes some minutes. A size is
 * users:proxies. Each has its own database and service; the requesting customers are the same in all.
 *
 * `--database-urls` names a database for each size, in the same order, so that a large one is filled once:
 * an empty one is filled, a filled one is migrated and used again. They belong on one server.
 */

const SIZES = '1000:1000,1000:100000,1000000:10000000';
const ENTRIES_PER_USER = 10;
/** So few that a response time is work and not queueing. */
const CONNECTIONS = 4;
const JOBS_TIMEOUT_MS = 1_800_000;
const POLL_MS = 500;

interface Options {
  readonly sizes: readonly GrowthSize[];
  readonly seconds: number;
  readonly rounds: number;
  readonly workloads: readonly WorkloadName[];
  readonly results: string;
  /** In the order of the sizes; empty: databases of the run's own. */
  readonly databaseUrls: readonly string[];
}

function readOptions(): Options {
  const values = parseOptions({
    sizes: { type: 'string', default: SIZES },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '5' },
    only: { type: 'string' },
    results: { type: 'string', default: RESULTS },
    'database-urls': { type: 'string' },
  });
  const sizes = values.sizes.split(',').map((size) => {
    const [users = Number.NaN, proxies = Number.NaN] = size.split(':').map(Number);
    if (!Number.isInteger(users) || users < 1 || !Number.isInteger(proxies) || proxies < 0) {
      throw new Error(`--sizes must be users:proxies, separated by commas, not ${size}`);
    }
    return { users, proxies };
  });
  if (sizes.length < 2) throw new Error('--sizes must name at least two sizes, the smallest first');
  const databaseUrls = values['database-urls']?.split(',') ?? [];
  if (databaseUrls.length > 0 && databaseUrls.length !== sizes.length) {
    throw new Error('--database-urls must name one database for each size');
  }
  const withoutMix = WORKLOAD_NAMES.filter((name) => name !== 'mix');
  return {
    sizes,
    seconds: readPositive('seconds', values.seconds),
    rounds: readPositive('rounds', values.rounds, { whole: true }),
    workloads: readNames(values.only, WORKLOAD_NAMES, withoutMix),
    results: values.results,
    databaseUrls,
  };
}

/** Waits for the one-off work of a service that starts on a full database, so that it is not measured. */
async function untilSalesAreSummedUp(fixture: Fixture): Promise<void> {
  const deadlineMs = performance.now() + JOBS_TIMEOUT_MS;
  for (;;) {
    const [row] = await fixture.query<{ done: boolean }>(
      `SELECT EXISTS (SELECT FROM sales_rollup WHERE rolled_to >= (now() AT TIME ZONE 'UTC')::date - 1)
         AS done`,
    );
    if (row?.done) return;
    if (performance.now() > deadlineMs) throw new Error('The sales were not summed up in time');
    await pause(POLL_MS);
  }
}

/** Opens the database of a size, and fills it when it is empty. */
async function openSize(setup: ComparisonSetup, size: GrowthSize, url: string | undefined): Promise<Fixture> {
  const { users, proxies } = size;
  const begunMs = performance.now();
  const fixture = await (url === undefined
    ? setup.fixture.createSibling(`growth_${users}_${proxies}`)
    : setup.fixture.openDatabase({ url, ownerUrl: url }));
  progress(`${users} users with ${proxies} proxies: migrated in ${secondsSince(begunMs)} s`);
  try {
    const [{ isFilled } = { isFilled: false }] = await fixture.query<{ isFilled: boolean }>(
      'SELECT EXISTS (SELECT FROM users) AS "isFilled"',
    );
    if (!isFilled) {
      await seedDatabase({
        users,
        proxiesPerUser: proxies / users,
        entriesPerUser: ENTRIES_PER_USER,
        seed: 1,
        databaseUrl: fixture.environment.DATABASE_OWNER_URL,
        onProgress: showProgress(process.stderr),
      });
    }
    return fixture;
  } catch (error) {
    await fixture.close();
    throw error;
  }
}

const secondsSince = (begunMs: number): string => ((performance.now() - begunMs) / 1000).toFixed(1);

async function compareSizes(setup: ComparisonSetup, options: Options): Promise<WorkloadResult[]> {
  const contexts: { readonly name: string; readonly context: WorkloadContext }[] = [];
  const fixtures: Fixture[] = [];
  try {
    for (const [at, size] of options.sizes.entries()) {
      const fixture = await openSize(setup, size, options.databaseUrls[at]);
      fixtures.push(fixture);
      const context = await setup.createContext({ fixture, withBaselines: false });
      contexts.push({
        name: `${size.users}:${size.proxies}`,
        context: {
          ...context,
          instruments: {
            ...context.instruments,
            postmasterPid: await readPostmasterPid(await fixture.dataDirectory()),
            connections: CONNECTIONS,
          },
        },
      });
    }
    await Promise.all(fixtures.map(untilSalesAreSummedUp));
    const results: WorkloadResult[] = [];
    for (const [at, workload] of options.workloads.entries()) {
      progress(`${workload} (${at + 1} of ${options.workloads.length})`);
      const subjects = [];
      let title = '';
      for (const { name, context } of contexts) {
        const created = await WORKLOADS[workload](context);
        title = created.title;
        const [service] = created.subjects;
        if (service) subjects.push({ name, measure: service.measure.bind(service) });
      }
      results.push(await measureInRounds({ name: workload, title }, subjects, options));
    }
    return results;
  } finally {
    for (const fixture of fixtures.toReversed()) await fixture.close();
  }
}

async function main(): Promise<void> {
  const options = readOptions();
  const setup = await ComparisonSetup.open();
  try {
    const workloads = await compareSizes(setup, options);
    const report = growthMarkdown(await setup.describe(), options, workloads);
    await writeResult(options.results, 'growth.md', report);
    process.stdout.write(`${report}\n`);
  } finally {
    await setup.close();
  }
}

void run(main);
