import 'reflect-metadata';
import { comparePlot } from './reports/compare-plot';
import { compareMarkdown } from './reports/compare-report';
import { reachedText, type SingleMetrics, verdicts } from './reports/targets';
import {
  parseOptions,
  progress,
  readNames,
  readPositive,
  reportProblems,
  RESULTS,
  run,
  writeResult,
} from './support/command';
import { assertEquivalentResponses } from './workloads/equivalence';
import { measureInRounds, type WorkloadResult } from './workloads/rounds';
import { ComparisonSetup } from './workloads/setup';
import { measureExportGrowth, measureMemory, measureStart, measureStoring } from './workloads/single-metrics';
import { httpSubject, SERVICE } from './workloads/subjects';
import {
  dailyMixRequests,
  isWorkloadName,
  LARGEST_EXPORT,
  WORKLOAD_NAMES,
  type WorkloadContext,
  type WorkloadName,
  WORKLOADS,
} from './workloads/workloads';

/**
 * `npm run bench`: measures the service and its baselines side by side in one run. Takes 45 minutes;
 * `-- --seconds 1.5 --rounds 3 --minutes 0.5` takes some minutes, and `--only me,proxies-100` restricts it to
 * those. A missed goal is reported; only wrong responses and broken books fail the run.
 */

/** Metrics that are not throughput or latency of a workload. */
const SINGLE_METRICS = ['start', 'storing', 'export-memory', 'memory'] as const;
type SingleMetricName = (typeof SINGLE_METRICS)[number];

const STORED_PURCHASES = 20;
const SETTLE_TIMEOUT_MS = 10_000;
const READS_WHILE_STORING = 8;

interface Options {
  readonly seconds: number;
  readonly rounds: number;
  /** Duration of the memory measurement. */
  readonly minutes: number;
  readonly workloads: readonly WorkloadName[];
  readonly singleMetrics: ReadonlySet<SingleMetricName>;
  readonly results: string;
}

const isSingleMetricName = (name: string): name is SingleMetricName =>
  SINGLE_METRICS.some((one) => one === name);

function readOptions(): Options {
  const values = parseOptions({
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '5' },
    minutes: { type: 'string', default: '10' },
    only: { type: 'string' },
    results: { type: 'string', default: RESULTS },
  });
  const names = readNames(values.only, [...WORKLOAD_NAMES, ...SINGLE_METRICS]);
  return {
    seconds: readPositive('seconds', values.seconds),
    rounds: readPositive('rounds', values.rounds, { whole: true }),
    minutes: readPositive('minutes', values.minutes),
    workloads: names.filter(isWorkloadName),
    singleMetrics: new Set(names.filter(isSingleMetricName)),
    results: values.results,
  };
}

async function measureWorkloads(context: WorkloadContext, options: Options): Promise<WorkloadResult[]> {
  const results: WorkloadResult[] = [];
  for (const [at, name] of options.workloads.entries()) {
    progress(`${name} (${at + 1} of ${options.workloads.length})`);
    const { title, subjects, equivalentRequests } = await WORKLOADS[name](context);
    if (context.bare) await assertEquivalentResponses(context.service, context.bare, equivalentRequests);
    const result = await measureInRounds({ name, title }, subjects, options);
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
  const measureIfChosen = async <Result>(
    name: SingleMetricName,
    work: () => Promise<Result>,
  ): Promise<Result | null> => {
    if (!singleMetrics.has(name)) return null;
    progress(name);
    return work();
  };
  /** Runs the work against a freshly started service. */
  const withService = async <Result>(work: (fresh: WorkloadContext) => Promise<Result>): Promise<Result> => {
    const service = await setup.startService();
    try {
      return await work({ ...context, service });
    } finally {
      await service.stop();
    }
  };
  return {
    startMs: await measureIfChosen('start', () =>
      measureStart(setup.nodeOptions, { ...fixture.environment, MIGRATE_ON_START: 'true' }, rounds),
    ),
    storing: await measureIfChosen('storing', async () => {
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
    exportGrowthMb: await measureIfChosen('export-memory', async () => {
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
    memory: await measureIfChosen('memory', () =>
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
    const context = await setup.createContext({ withBaselines: true });
    const workloads = await measureWorkloads(context, options);
    const singleMetrics = await measureSingleMetrics(setup, context, options);
    const open = await setup.fixture.untilSettled(SETTLE_TIMEOUT_MS);
    const problems = await setup.fixture.audit({ withProvider: false });
    // An aborted pgbench leaves open orders that no dispatcher handles.
    if (open > 0 && workloads.every(({ notes }) => notes.length === 0)) {
      problems.push(`${open} orders were still open at the end`);
    }

    const reached = verdicts(workloads, singleMetrics);
    const report = compareMarkdown({
      circumstances: await setup.describe(),
      method: describeMethod(options),
      verdicts: reached,
      workloads,
      singleMetrics,
      notes: [
        ...(context.pgbench === null ? ['the database baselines: this machine has no pgbench'] : []),
        ...(context.psql === null ? ['the COPY baseline: this machine has no psql'] : []),
      ],
    });
    await writeResult(options.results, 'compare.md', report);
    await writeResult(options.results, 'compare.svg', comparePlot(workloads));
    process.stdout.write(`${report}\n`);
    for (const verdict of reached.filter(({ isReached }) => isReached === false)) {
      progress(`${reachedText(verdict)}: ${verdict.what}: ${verdict.measured}; the goal is ${verdict.goal}`);
    }
    reportProblems(problems);
  } finally {
    await setup.close();
  }
}

function describeMethod({ seconds, rounds }: Options): string {
  return [
    `${rounds} rounds of ${seconds} s for each subject, in alternating order; medians, with the minimum`,
    'and maximum of the rounds. A ratio is the median of the ratios within each round. Reads and orders',
    'use 32 connections, each of which sends one request after the other; an export uses one. Load',
    'generator, servers, database and sandbox are separate processes. The service runs as `npm run',
    'start:prod` with one replica, LOG_LEVEL=error and no limit on the rate of provider calls; the',
    'sandbox responds at once. Bare node is `node:http` and `pg` with the same queries, including a',
    'token look-up for each request; its responses were compared with the service’s byte by byte.',
    '`pgbench -M prepared -c 32 -j 2` runs the statements that the service sends for one order,',
    'recorded and each committed by itself; and what one would write instead, on plain tables in a',
    'database of their own. Its first three seconds do not count. Purchases and prolongations of the',
    'service are whole requests, including the call to the sandbox, without Idempotency-Key.',
  ].join('\n');
}

void run(main);
