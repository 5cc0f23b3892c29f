import { markdownTable, milliseconds } from '../support/markdown';
import type { Spread } from '../support/statistics';
import { RATES, ratioOf, valuesOf, type WorkloadResult } from '../workloads/rounds';
import { type Sample, SERVICE } from '../workloads/subjects';
import { reachedText, type SingleMetrics, times, type Verdict } from './targets';

export interface Report {
  /** The machine, the versions and the commit. */
  readonly circumstances: string;
  /** What was measured how. */
  readonly method: string;
  readonly verdicts: readonly Verdict[];
  readonly paths: readonly WorkloadResult[];
  readonly singleMetrics: SingleMetrics;
  /** What was left out, and why. */
  readonly notes: readonly string[];
}

export function compareMarkdown({
  circumstances,
  method,
  verdicts,
  paths,
  singleMetrics,
  notes,
}: Report): string {
  const missing = [...notes, ...paths.flatMap((path) => path.notes.map((note) => `${path.title}: ${note}`))];
  return [
    '# The service beside the limits of what it stands on',
    '',
    circumstances,
    '',
    method,
    '',
    '![requests a second, as a share of the fastest](compare.svg)',
    '',
    '## To reach',
    '',
    markdownTable(
      ['', 'goal', 'measured', ''],
      verdicts.map((verdict) => [verdict.what, verdict.goal, verdict.measured, reachedText(verdict)]),
    ),
    '',
    '## As fast as it goes',
    '',
    throughputTable(paths),
    '',
    '## At a fixed rate',
    '',
    'Latency from the moment at which each request was to be sent. The rates are those of each by itself.',
    '',
    latencyTable(paths),
    ...memoryLines(singleMetrics),
    ...(missing.length === 0 ? [] : ['', '## Not measured', '', ...missing.map((note) => `- ${note}`)]),
    '',
  ].join('\n');
}

function throughputTable(paths: readonly WorkloadResult[]): string {
  return markdownTable(
    [
      '',
      '',
      'a second',
      'service ÷ it',
      'median',
      'p99',
      'first byte',
      'peak memory',
      'CPU s a 1,000',
      'database CPU s a 1,000',
    ],
    paths.flatMap((path) =>
      path.subjects.map((subject, at) => {
        const value = (name: keyof Sample): Spread => valuesOf(subject, name);
        const ratio = subject.name === SERVICE ? null : ratioOf(path, SERVICE, subject.name);
        return [
          at === 0 ? `\`${path.title}\`` : '',
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

function latencyTable(paths: readonly WorkloadResult[]): string {
  const columns = RATES.flatMap(({ title }) => [title, 'p50', 'p99', 'p99.9']);
  return markdownTable(
    ['', '', ...columns],
    paths.flatMap((path) =>
      path.subjects
        .filter(({ atRates }) => atRates.length > 0)
        .map((subject, at) => [
          at === 0 ? `\`${path.title}\`` : '',
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
      `Under a day's mix for ${memory.minutes} minutes, ${memory.requests} requests, at most ${megabytes(memory.peakMb)} were resident; ` +
        `over the second half that changed by ${memory.growthMbPerMinute.toFixed(2)} MB a minute.`,
    );
  }
  if (storing) {
    lines.push(
      `1,000 proxies of a purchase were stored ${storing.idle.length} times while idle, ${storing.loaded.length} times under load.`,
    );
  }
  if (startMs) lines.push(`Starts took ${startMs.min.toFixed(0)} to ${startMs.max.toFixed(0)} ms.`);
  return lines.length === 0
    ? []
    : ['', '## Besides', '', ...lines.flatMap((line) => [line, ''])].slice(0, -1);
}

/** Shown in the plot and the table alike. */
export function rounded(value: number): string {
  if (Number.isNaN(value)) return '—';
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}

const withEnds = ({ median, min, max }: Spread): string =>
  `${rounded(median)} (${rounded(min)} – ${rounded(max)})`;

const megabytes = (value: number): string => (Number.isNaN(value) ? '—' : `${value.toFixed(0)} MB`);

const decimals = (value: number): string => (Number.isNaN(value) ? '—' : value.toFixed(3));
