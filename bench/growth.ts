import 'reflect-metadata';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { growthMarkdown, type GrowthSize } from './reports/growth-report';
import { showProgress } from './seeding/progress';
import { seedDatabase } from './seeding/seed-database';
import type { Fixture } from './support/fixture';
import { PROJECT } from './support/processes';
import { measureInRounds, type WorkloadResult } from './workloads/rounds';
import { ComparisonSetup } from './workloads/setup';
import { isWorkloadName, type WorkloadContext, type WorkloadName, WORKLOADS } from './workloads/workloads';

/**
 * Whether an answer takes longer when there is more of everything: `node dist/bench/growth.js`, hours, most of them for
 * filling the largest database; `--sizes 1000:1000,1000:100000` some minutes. Sizes are users:proxies, each a database of its own with a
 * service of its own; those who ask are the same in all of them.
 */

const SIZES = '1000:1000,1000:100000,1000000:10000000';
const ENTRIES_PER_USER = 10;
/** So few that an answer's time is that of the work, not of the line. */
const CONNECTIONS = 4;
const MIX: WorkloadName = 'mix';
const JOBS_TIMEOUT_MS = 1_800_000;
const POLL_MS = 500;

interface Options {
  readonly sizes: readonly GrowthSize[];
  readonly seconds: number;
  readonly rounds: number;
  readonly paths: readonly WorkloadName[];
  readonly results: string;
}

const progress = (line: string): void => void process.stderr.write(`${line}\n`);

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      sizes: { type: 'string', default: SIZES },
      seconds: { type: 'string', default: '5' },
      rounds: { type: 'string', default: '5' },
      only: { type: 'string' },
      results: { type: 'string', default: join(PROJECT, 'bench', 'results') },
    },
  });
  const sizes = values.sizes.split(',').map((size) => {
    const [users = Number.NaN, proxies = Number.NaN] = size.split(':').map(Number);
    if (!Number.isInteger(users) || users < 1 || !Number.isInteger(proxies) || proxies < 0) {
      throw new Error(`--sizes must be users:proxies, and others behind commas, not ${size}`);
    }
    return { users, proxies };
  });
  if (sizes.length < 2) throw new Error('--sizes must be at least two, the smallest first');
  const [seconds, rounds] = [Number(values.seconds), Number(values.rounds)];
  if (!(seconds > 0)) throw new Error('--seconds must be a number above 0');
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds must be a whole number from 1');
  const names = values.only?.split(',') ?? Object.keys(WORKLOADS).filter((name) => name !== MIX);
  const unknown = names.filter((name) => !isWorkloadName(name));
  if (unknown.length > 0) {
    throw new Error(`--only has no ${unknown.join(', ')}; there are ${Object.keys(WORKLOADS).join(', ')}`);
  }
  return { sizes, seconds, rounds, paths: names.filter(isWorkloadName), results: values.results };
}

/** What the service does once with a database that it finds full is no part of its answers. */
async function untilSummedUp(fixture: Fixture): Promise<void> {
  const deadlineMs = performance.now() + JOBS_TIMEOUT_MS;
  for (;;) {
    const [row] = await fixture.query<{ done: boolean }>(
      `SELECT EXISTS (SELECT FROM sales_rollup WHERE rolled_to >= (now() AT TIME ZONE 'UTC')::date - 1) AS done`,
    );
    if (row?.done) return;
    if (performance.now() > deadlineMs) throw new Error('the sales were not summed up in time');
    await pause(POLL_MS);
  }
}

async function compareSizes(setup: ComparisonSetup, options: Options): Promise<WorkloadResult[]> {
  const contexts: { readonly name: string; readonly context: WorkloadContext }[] = [];
  const fixtures: Fixture[] = [];
  try {
    for (const { users, proxies } of options.sizes) {
      const name = `growth_${users}_${proxies}`;
      progress(`${users} users with ${proxies} proxies`);
      const fixture = await setup.fixture.beside(name);
      fixtures.push(fixture);
      const seeding = { users, proxiesPerUser: proxies / users, entriesPerUser: ENTRIES_PER_USER, seed: 1 };
      await seedDatabase({
        ...seeding,
        databaseUrl: fixture.environment.DATABASE_URL,
        onProgress: showProgress(process.stderr),
      });
      const context = await setup.customerPool({ fixture, beside: false });
      contexts.push({
        name,
        context: { ...context, instruments: { ...context.instruments, connections: CONNECTIONS } },
      });
    }
    await Promise.all(fixtures.map(untilSummedUp));
    const results: WorkloadResult[] = [];
    for (const [at, path] of options.paths.entries()) {
      progress(`${path} (${at + 1} of ${options.paths.length})`);
      const subjects = [];
      let title = '';
      for (const { name, context } of contexts) {
        const plan = await WORKLOADS[path](context);
        title = plan.title;
        const [service] = plan.subjects;
        if (service) subjects.push({ name, measure: service.measure.bind(service) });
      }
      results.push(await measureInRounds({ name: path, title }, subjects, options));
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
    const paths = await compareSizes(setup, options);
    const report = growthMarkdown(await setup.describe(), options, paths);
    await mkdir(options.results, { recursive: true });
    await writeFile(join(options.results, 'growth.md'), report);
    process.stdout.write(`${report}\n`);
  } finally {
    await setup.close();
  }
}

main().catch((error: unknown) => {
  progress(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exitCode = 1;
});
