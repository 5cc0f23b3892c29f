import 'reflect-metadata';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { comparePlot } from './reports/compare-plot';
import { compareMarkdown } from './reports/compare-report';
import { reachedText, type SingleMetrics, verdicts } from './reports/targets';
import { PROJECT } from './support/processes';
import { assertEquivalentResponses } from './workloads/equivalence';
import { measureInRounds, type WorkloadResult } from './workloads/rounds';
import { ComparisonSetup } from './workloads/setup';
import { measureExportGrowth, measureMemory, measureStart, measureStoring } from './workloads/single-metrics';
import { httpSubject, SERVICE } from './workloads/subjects';
import {
  dailyMixRequests,
  isWorkloadName,
  LARGEST_EXPORT,
  type WorkloadContext,
  type WorkloadName,
  WORKLOADS,
} from './workloads/workloads';

/**
 * The service beside the limits of what it stands on, in one run: `node dist/bench/compare.js`, three quarters of an hour;
 * `--seconds 1.5 --rounds 3 --minutes 0.5` some minutes; `--only me,proxies-100` those alone. A goal that is missed is shown; the exit code
 * tells of wrong answers.
 */

/** What is measured beside the paths. */
const SINGLE_METRICS = ['start', 'storing', 'export-memory', 'memory'] as const;
type SingleMetricName = (typeof SINGLE_METRICS)[number];

const STORED_PURCHASES = 20;
const SETTLE_TIMEOUT_MS = 10_000;
const READS_WHILE_STORING = 8;

interface Options {
  readonly seconds: number;
  readonly rounds: number;
  readonly minutes: number;
  readonly paths: readonly WorkloadName[];
  readonly singleMetrics: ReadonlySet<SingleMetricName>;
  readonly results: string;
}

const progress = (line: string): void => void process.stderr.write(`${line}\n`);

const isSingleMetricName = (name: string): name is SingleMetricName =>
  SINGLE_METRICS.some((one) => one === name);

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '5' },
      rounds: { type: 'string', default: '5' },
      minutes: { type: 'string', default: '10' },
      only: { type: 'string' },
      results: { type: 'string', default: join(PROJECT, 'bench', 'results') },
    },
  });
  const number = (name: 'seconds' | 'rounds' | 'minutes'): number => {
    const value = Number(values[name]);
    if (!(value > 0) || (name === 'rounds' && !Number.isInteger(value))) {
      throw new Error(`--${name} must be a number above 0`);
    }
    return value;
  };
  const names = values.only?.split(',') ?? [...Object.keys(WORKLOADS), ...SINGLE_METRICS];
  const unknown = names.filter((name) => !isWorkloadName(name) && !isSingleMetricName(name));
  if (unknown.length > 0) {
    throw new Error(
      `--only has no ${unknown.join(', ')}; there are ${[...Object.keys(WORKLOADS), ...SINGLE_METRICS].join(', ')}`,
    );
  }
  return {
    seconds: number('seconds'),
    rounds: number('rounds'),
    minutes: number('minutes'),
    paths: names.filter(isWorkloadName),
    singleMetrics: new Set(names.filter(isSingleMetricName)),
    results: values.results,
  };
}

async function measureWorkloads(context: WorkloadContext, options: Options): Promise<WorkloadResult[]> {
  const results: WorkloadResult[] = [];
  for (const [at, name] of options.paths.entries()) {
    progress(`${name} (${at + 1} of ${options.paths.length})`);
    const plan = await WORKLOADS[name](context);
    if (context.bare) await assertEquivalentResponses(context.service, context.bare, plan.equivalentRequests);
    const result = await measureInRounds({ name, title: plan.title }, plan.subjects, options);
    for (const note of result.notes) progress(`  ${note}`);
    results.push(result);
  }
  return results;
}

async function measureSingleMetrics(
  setup: ComparisonSetup,
  context: WorkloadContext,
  { singleMetrics, rounds, minutes }: Options,
): Promise<SingleMetrics> {
  const { fixture, instruments, customerPool } = context;
  const alone = async <Result>(
    name: SingleMetricName,
    work: () => Promise<Result>,
  ): Promise<Result | null> => {
    if (!singleMetrics.has(name)) return null;
    progress(name);
    return work();
  };
  /** One that was just started, and is ended after. */
  const withService = async <Result>(work: (fresh: WorkloadContext) => Promise<Result>): Promise<Result> => {
    const service = await setup.startService();
    try {
      return await work({ ...context, service });
    } finally {
      await service.stop();
    }
  };
  return {
    startMs: await alone('start', () =>
      measureStart(setup.nodeOptions, { ...fixture.environment, MIGRATE_ON_START: 'true' }, rounds),
    ),
    storing: await alone('storing', async () => {
      const buyer = await customerPool.busyBuyer();
      const store = (): Promise<number[]> =>
        measureStoring(fixture, context.service, buyer, STORED_PURCHASES);
      const idle = await store();
      const reads = (await dailyMixRequests(context)).filter(({ body }) => body === undefined);
      const load = httpSubject(SERVICE, context.service, reads, instruments, {
        connections: READS_WHILE_STORING,
      });
      const storing = new AbortController();
      const loading = (async () => {
        while (!storing.signal.aborted) await load.measure(1);
      })();
      const loaded = await store().finally(() => storing.abort());
      await loading;
      return { idle, loaded };
    }),
    exportGrowthMb: await alone('export-memory', async () => {
      const [reader] = await customerPool.readersWith(LARGEST_EXPORT);
      return withService(({ service }) =>
        measureExportGrowth(
          service,
          ['json', 'txt'].map((format) =>
            httpSubject(
              SERVICE,
              service,
              [{ path: `/proxies/export?format=${format}`, token: reader?.token ?? '' }],
              instruments,
              { connections: 1 },
            ),
          ),
        ),
      );
    }),
    memory: await alone('memory', () =>
      withService(async (fresh) => {
        const day = httpSubject(SERVICE, fresh.service, await dailyMixRequests(fresh), instruments);
        return measureMemory(fresh.service, day, minutes);
      }),
    ),
  };
}

async function main(): Promise<void> {
  const options = readOptions();
  const setup = await ComparisonSetup.open();
  try {
    const context = await setup.customerPool({ beside: true });
    const paths = await measureWorkloads(context, options);
    const singleMetrics = await measureSingleMetrics(setup, context, options);
    const open = await setup.fixture.untilSettled(SETTLE_TIMEOUT_MS);
    const problems = await setup.fixture.audit({ withProvider: false });
    // A pgbench that broke off leaves orders that nobody goes on with.
    if (open > 0 && paths.every(({ notes }) => notes.length === 0)) {
      problems.push(`${open} orders did not come to an end`);
    }

    const reached = verdicts(paths, singleMetrics);
    const report = compareMarkdown({
      circumstances: await setup.describe(),
      method: describeMethod(options),
      verdicts: reached,
      paths,
      singleMetrics,
      notes: [
        ...(context.pgbench === null ? ['this machine has no pgbench: the limit of the database'] : []),
        ...(context.psql === null ? ['this machine has no psql: its COPY'] : []),
      ],
    });
    await mkdir(options.results, { recursive: true });
    await writeFile(join(options.results, 'compare.md'), report);
    await writeFile(join(options.results, 'compare.svg'), comparePlot(paths));
    process.stdout.write(`${report}\n`);
    for (const verdict of reached.filter(({ isReached }) => isReached === false)) {
      progress(`${reachedText(verdict)}: ${verdict.what}: ${verdict.measured}, to be ${verdict.goal}`);
    }
    for (const problem of problems) progress(`BROKEN: ${problem}`);
    if (problems.length > 0) process.exitCode = 1;
  } finally {
    await setup.close();
  }
}

function describeMethod({ seconds, rounds }: Options): string {
  return [
    `${rounds} rounds of ${seconds} s for each, in an order that turns round; medians, and the least and the most of the rounds. A ratio is the median`,
    'of the ratios of the rounds. 32 connections, each sending one request after the other, for an export one. Load, servers, database and sandbox are',
    'processes of their own. The service: `npm run start:prod`, one replica, LOG_LEVEL=error, no limit to the rate of calls; the sandbox answers at once.',
    'Bare node: `node:http` and `pg` with the same queries, each token looked up; its answers were compared with the service’s byte by byte.',
    '`pgbench -M prepared -c 32 -j 2`: the statements that the service sends for one order, recorded, each committed by itself; and the same work as',
    'three ordinary transactions, with the token looked up and the call kept. Purchases and prolongations of the service are whole requests, with',
    'the call to the sandbox, without Idempotency-Key.',
  ].join('\n');
}

main().catch((error: unknown) => {
  progress(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exitCode = 1;
});
