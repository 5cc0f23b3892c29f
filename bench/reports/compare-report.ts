import { markdownTable, milliseconds } from '../support/markdown';
import type { Spread } from '../support/statistics';
import { RATES, ratioOf, valuesOf, type WorkloadResult } from '../workloads/rounds';
import { type Sample, SERVICE } from '../workloads/subjects';
import { reachedText, type SingleMetrics, times, type Verdict } from './targets';

export interface Report {
  /** The machine, the versions and the commit. */
  readonly circumstances: string;
  /** How the figures were measured. */
  readonly method: string;
  readonly verdicts: readonly Verdict[];
  readonly workloads: readonly WorkloadResult[];
  readonly singleMetrics: SingleMetrics;
  /** What was not measured, and why. */
  readonly notes: readonly string[];
}

export function compareMarkdown({
  circumstances,
  method,
  verdicts,
  workloads,
  singleMetrics,
  notes,
}: Report): string {
  const missing = [
    ...notes,
    ...workloads.flatMap((workload) => workload.notes.map((note) => `${workload.title}: ${note}`)),
  ];
  return [
    '# The service compared with its baselines',
    '',
    circumstances,
    '',
    method,
    '',
    '![throughput of each subject, as a share of the fastest](compare.svg)',
    '',
    '## Goals',
    '',
    markdownTable(
      ['', 'goal', 'measured', ''],
      verdicts.map((verdict) => [verdict.what, verdict.goal, verdict.measured, reachedText(verdict)]),
    ),
    '',
    '## Throughput in a closed loop',
    '',
    throughputTable(workloads),
    '',
    '## Latency at fixed rates',
    '',
    'Latency is counted from the time at which a request was due. The rates are shares of each subject’s own',
    'throughput.',
    '',
    latencyTable(workloads),
    ...memoryLines(singleMetrics),
    ...(missing.length === 0 ? [] : ['', '## Not measured', '', ...missing.map((note) => `- ${note}`)]),
    '',
  ].join('\n');
}

function throughputTable(workloads: readonly WorkloadResult[]): string {
  return markdownTable(
    [
      '',
      '',
      'per second',
      'service ÷ baseline',
      'median',
      'p99',
      'first byte',
      'peak memory',
      'CPU s per 1,000',
      'database CPU s per 1,000',
    ],
    workloads.flatMap((workload) =>
      workload.subjects.map((subject, at) => {
        const value = (name: keyof Sample): Spread => valuesOf(subject, name);
        const ratio = subject.name === SERVICE ? null : ratioOf(workload, SERVICE, subject.name);
        return [
          at === 0 ? `\`${workload.title}\`` : '',
          subject.name,
          withEnds(value('perSecond')),
          ratio ? times(ratio) : '',
          milliseconds(value('p50Ms').median),
          milliseconds(value('p99Ms').median),
          milliseconds(value('firstByteMs').median),
          megabytes(value('peakMb').max),
          decimals(value('cpuSecondsPer1000').median),
          decimals(value('databaseSecondsPer1000').median),
        ];
      }),
    ),
  );
}

function latencyTable(workloads: readonly WorkloadResult[]): string {
  const columns = RATES.flatMap(({ title }) => [title, 'p50', 'p99', 'p99.9']);
  return markdownTable(
    ['', '', ...columns],
    workloads.flatMap((workload) =>
      workload.subjects
        .filter(({ atRates }) => atRates.length > 0)
        .map((subject, at) => [
          at === 0 ? `\`${workload.title}\`` : '',
          subject.name,
          ...subject.atRates.flatMap(({ perSecond, p50Ms, p99Ms, p999Ms }) => [
            `${rounded(perSecond)} / s`,
            milliseconds(p50Ms),
            milliseconds(p99Ms),
            milliseconds(p999Ms),
          ]),
        ]),
    ),
  );
}

function memoryLines({ memory, storing, startMs }: SingleMetrics): string[] {
  const lines: string[] = [];
  if (memory) {
    lines.push(
      `Under a day's mix for ${memory.minutes} minutes, ${memory.requests} requests, resident memory ` +
        `peaked at ${megabytes(memory.peakMb)}; over the second half its slope was ` +
        `${memory.growthMbPerMinute.toFixed(2)} MB per minute.`,
    );
  }
  if (storing) {
    lines.push(
      `1,000 proxies of a purchase were stored ${storing.idle.length} times while idle and ` +
        `${storing.loaded.length} times under load.`,
    );
  }
  if (startMs) lines.push(`Starts took ${startMs.min.toFixed(0)} to ${startMs.max.toFixed(0)} ms.`);
  return lines.length === 0
    ? []
    : ['', '## Other measurements', '', ...lines.flatMap((line) => [line, ''])].slice(0, -1);
}

/** Used by the plot and the tables. */
export function rounded(value: number): string {
  if (Number.isNaN(value)) return '—';
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}

const withEnds = ({ median, min, max }: Spread): string =>
  `${rounded(median)} (${rounded(min)} – ${rounded(max)})`;

const megabytes = (value: number): string => (Number.isNaN(value) ? '—' : `${value.toFixed(0)} MB`);

const decimals = (value: number): string => (Number.isNaN(value) ? '—' : value.toFixed(3));
