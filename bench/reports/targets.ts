import { milliseconds } from '../support/markdown';
import { type Spread, spread } from '../support/statistics';
import { findSubject, ratioOf, valuesOf, type WorkloadResult } from '../workloads/rounds';
import type { MemoryMetrics } from '../workloads/single-metrics';
import { BARE_NODE, COPY, ORDINARY_TRANSACTIONS, SERVICE } from '../workloads/subjects';
import type { WorkloadName } from '../workloads/workloads';

/** Measurements besides the workloads. Null: not measured. */
export interface SingleMetrics {
  readonly startMs: Spread | null;
  /** Peak memory of a freshly started service over one export of each format, above its idle memory. */
  readonly exportGrowthMb: number | null;
  /** Milliseconds in the database for storing 1,000 proxies. */
  readonly storing: { readonly idle: readonly number[]; readonly loaded: readonly number[] } | null;
  readonly memory: MemoryMetrics | null;
}

/** A goal, and whether the run reached it. */
export interface Verdict {
  readonly what: string;
  readonly goal: string;
  readonly measured: string;
  /** Null: not measured. */
  readonly isReached: boolean | null;
}

/** Goals for the service's throughput relative to a baseline, or to itself in another workload. */
const RATIOS: readonly {
  readonly workload: WorkloadName;
  readonly against: string;
  /** Default: the same workload. */
  readonly inWorkload?: WorkloadName;
  readonly atLeast: number;
}[] = [
  { workload: 'me', against: BARE_NODE, atLeast: 0.65 },
  { workload: 'countries', against: SERVICE, inWorkload: 'me', atLeast: 1 },
  { workload: 'price', against: SERVICE, inWorkload: 'me', atLeast: 1 },
  { workload: 'proxies-100', against: BARE_NODE, atLeast: 3 },
  { workload: 'proxies-1000', against: BARE_NODE, atLeast: 8 },
  { workload: 'export-json', against: BARE_NODE, atLeast: 1 },
  { workload: 'export-txt', against: COPY, atLeast: 0.7 },
  { workload: 'buy-1', against: ORDINARY_TRANSACTIONS, atLeast: 0.5 },
  { workload: 'buy-1-busy', against: ORDINARY_TRANSACTIONS, atLeast: 0.8 },
  { workload: 'buy-100', against: ORDINARY_TRANSACTIONS, atLeast: 0.5 },
  { workload: 'buy-100-busy', against: ORDINARY_TRANSACTIONS, atLeast: 0.8 },
];

const EXPORT_FIRST_BYTE_MS = 50;
const EXPORT_GROWTH_MB = 30;
const STORING_MS = 25;
const RESIDENT_MB = 170;
/** Slopes up to this count as flat. */
const GROWTH_MB_PER_MINUTE = 1;
const MEMORY_MINUTES = 10;
const START_MS = 1500;

export function verdicts(workloads: readonly WorkloadResult[], singleMetrics: SingleMetrics): Verdict[] {
  const find = (name: WorkloadName): WorkloadResult | undefined =>
    workloads.find((workload) => workload.name === name);
  return [
    ...RATIOS.map(({ workload, against, inWorkload = workload, atLeast }) => {
      const result = find(workload);
      const ratio = ratioOf(result, SERVICE, against, find(inWorkload));
      return verdict(
        result?.title ?? workload,
        `at least ${atLeast} × ${inWorkload === workload ? against : `GET /${inWorkload}`}`,
        ratio && times(ratio),
        ratio && ratio.median >= atLeast,
      );
    }),
    ...(['export-json', 'export-txt'] as const).map((workload) => {
      const result = find(workload);
      const firstByte = result ? valuesOf(findSubject(result, SERVICE), 'firstByteMs') : null;
      return verdict(
        `${result?.title ?? workload}: first byte`,
        `within ${EXPORT_FIRST_BYTE_MS} ms`,
        firstByte &&
          `${milliseconds(firstByte.median)} ` +
            `(${milliseconds(firstByte.min)} – ${milliseconds(firstByte.max)})`,
        firstByte && firstByte.median <= EXPORT_FIRST_BYTE_MS,
      );
    }),
    below('an export of each format: memory over idle', singleMetrics.exportGrowthMb, EXPORT_GROWTH_MB, 'MB'),
    ...(['idle', 'loaded'] as const).map((state) =>
      below(
        `storing 1,000 proxies of a purchase, in the database, ${state}`,
        singleMetrics.storing && spread(singleMetrics.storing[state]).median,
        STORING_MS,
        'ms',
      ),
    ),
    below("resident under a day's mix", singleMetrics.memory?.peakMb ?? null, RESIDENT_MB, 'MB'),
    below(
      `growth of resident memory in half of ${singleMetrics.memory?.minutes ?? MEMORY_MINUTES} minutes`,
      singleMetrics.memory?.growthMbPerMinute ?? null,
      GROWTH_MB_PER_MINUTE,
      'MB a minute',
    ),
    below('start to the first response', singleMetrics.startMs?.median ?? null, START_MS, 'ms'),
  ];
}

function below(what: string, value: number | null, limit: number, unit: string): Verdict {
  return verdict(
    what,
    `under ${limit} ${unit}`,
    value === null ? null : `${value.toFixed(1)} ${unit}`,
    value === null ? null : value < limit,
  );
}

function verdict(what: string, goal: string, measured: string | null, isReached: boolean | null): Verdict {
  const isMeasured = measured !== null && !/NaN|^—/.test(measured);
  return { what, goal, measured: isMeasured ? measured : '—', isReached: isMeasured ? isReached : null };
}

export const times = ({ median, min, max }: Spread): string =>
  `${median.toFixed(2)} × (${min.toFixed(2)} – ${max.toFixed(2)})`;

export function reachedText({ isReached }: Verdict): string {
  if (isReached === null) return 'not measured';
  return isReached ? 'reached' : '**not reached**';
}
