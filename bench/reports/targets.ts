import { milliseconds } from '../support/markdown';
import { type Spread, spread } from '../support/statistics';
import { findSubject, ratioOf, valuesOf, type WorkloadResult } from '../workloads/rounds';
import type { MemoryMetrics } from '../workloads/single-metrics';
import { BARE_NODE, COPY, HEALTH, SERVICE, THREE_TRANSACTIONS } from '../workloads/subjects';
import type { WorkloadName } from '../workloads/workloads';

/** What is measured beside the paths. Null: it was not. */
export interface SingleMetrics {
  readonly startMs: Spread | null;
  /** Of a service that was just started, over one export of each format. */
  readonly exportGrowthMb: number | null;
  /** Milliseconds in the database. */
  readonly storing: { readonly idle: readonly number[]; readonly loaded: readonly number[] } | null;
  readonly memory: MemoryMetrics | null;
}

/** A goal, and how near the run came. */
export interface Verdict {
  readonly what: string;
  readonly goal: string;
  readonly measured: string;
  /** Null: it was not measured. */
  readonly isReached: boolean | null;
}

/** So many times as many a second as somebody else. */
const RATIOS: readonly {
  readonly path: WorkloadName;
  readonly against: string;
  readonly atLeast: number;
}[] = [
  { path: 'me', against: BARE_NODE, atLeast: 0.65 },
  { path: 'countries', against: HEALTH, atLeast: 0.9 },
  { path: 'price', against: HEALTH, atLeast: 0.9 },
  { path: 'proxies-100', against: BARE_NODE, atLeast: 3 },
  { path: 'proxies-1000', against: BARE_NODE, atLeast: 8 },
  { path: 'export-json', against: COPY, atLeast: 0.7 },
  { path: 'export-txt', against: COPY, atLeast: 0.7 },
  { path: 'buy-1', against: THREE_TRANSACTIONS, atLeast: 0.5 },
  { path: 'buy-1-busy', against: THREE_TRANSACTIONS, atLeast: 0.8 },
  { path: 'buy-100', against: THREE_TRANSACTIONS, atLeast: 0.5 },
  { path: 'buy-100-busy', against: THREE_TRANSACTIONS, atLeast: 0.8 },
];

const EXPORT_FIRST_BYTE_MS = 100;
const EXPORT_GROWTH_MB = 30;
const STORING_MS = 25;
const RESIDENT_MB = 180;
/** What counts as flat. */
const GROWTH_MB_PER_MINUTE = 1;
const MEMORY_MINUTES = 10;
const START_MS = 2000;

export function verdicts(paths: readonly WorkloadResult[], singleMetrics: SingleMetrics): Verdict[] {
  const find = (name: WorkloadName): WorkloadResult | undefined => paths.find((path) => path.name === name);
  return [
    ...RATIOS.map(({ path, against, atLeast }) => {
      const result = find(path);
      const ratio = ratioOf(result, SERVICE, against);
      return verdict(
        result?.title ?? path,
        `at least ${atLeast} × ${against}`,
        ratio && times(ratio),
        ratio && ratio.median >= atLeast,
      );
    }),
    ...(['export-json', 'export-txt'] as const).map((path) => {
      const result = find(path);
      const firstByte = result ? valuesOf(findSubject(result, SERVICE), 'firstByteMs') : null;
      return verdict(
        `${result?.title ?? path}: first byte`,
        `within ${EXPORT_FIRST_BYTE_MS} ms`,
        firstByte &&
          `${milliseconds(firstByte.median)} (${milliseconds(firstByte.min)} – ${milliseconds(firstByte.max)})`,
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
      `its growth, in the second half of ${singleMetrics.memory?.minutes ?? MEMORY_MINUTES} minutes`,
      singleMetrics.memory?.growthMbPerMinute ?? null,
      GROWTH_MB_PER_MINUTE,
      'MB a minute',
    ),
    below('start to the first answer', singleMetrics.startMs?.median ?? null, START_MS, 'ms'),
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
