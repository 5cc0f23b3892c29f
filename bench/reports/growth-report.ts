import { markdownTable, milliseconds } from '../support/markdown';
import { ratioSpread, type Spread, spread } from '../support/statistics';
import { type RoundOptions, type SubjectResult, type WorkloadResult } from '../workloads/rounds';
import { times } from './targets';

export interface GrowthSize {
  readonly users: number;
  readonly proxies: number;
}

const MAX_RATIO = 1.3;

const medians = ({ rounds }: SubjectResult): number[] => rounds.map(({ p50Ms }) => p50Ms);

/** CPU milliseconds of the service and of PostgreSQL for a request, round by round. */
const cpuMs = ({ rounds }: SubjectResult): number[] =>
  rounds.map(({ cpuSecondsPer1000, databaseSecondsPer1000 }) => cpuSecondsPer1000 + databaseSecondsPer1000);

type Measure = (size: SubjectResult) => number[];

/** One row for each workload: a measure at each size, and its ratios to the smallest, round by round. */
const growthTable = (names: readonly string[], workloads: readonly WorkloadResult[], of: Measure): string =>
  markdownTable(
    ['', ...names, ...names.slice(1).map((name) => `${name} ÷ smallest`), `within ${MAX_RATIO} ×`],
    workloads.map(({ title, subjects }) => {
      const [smallest, ...larger] = subjects;
      const ratios = larger.map((size): Spread => ratioSpread(of(size), of(smallest ?? size)));
      return [
        `\`${title}\``,
        ...subjects.map((size) => milliseconds(spread(of(size)).median)),
        ...ratios.map(times),
        ratios.every(({ median }) => median <= MAX_RATIO) ? 'reached' : '**not reached**',
      ];
    }),
  );

/** @param workloads each with one subject for each size, in the order of the sizes, the smallest first */
export function growthMarkdown(
  circumstances: string,
  { sizes, seconds, rounds }: RoundOptions & { readonly sizes: readonly GrowthSize[] },
  workloads: readonly WorkloadResult[],
): string {
  const names = sizes.map(({ users, proxies }) => `${grouped(users)} users, ${grouped(proxies)} proxies`);
  return [
    '# Response times by size of the database',
    '',
    circumstances,
    '',
    `${rounds} rounds of ${seconds} s for each size, in alternating order; four connections, each of which`,
    `sends one request after the other. The goal is at most ${MAX_RATIO} times that of the smallest size. A`,
    'ratio is the median of the ratios within each round, with the minimum and the maximum.',
    '',
    '## CPU time of a request, service and database together',
    '',
    growthTable(names, workloads, cpuMs),
    '',
    '## Median response times',
    '',
    'On a machine that is shared with other work, these vary much more than CPU time does.',
    '',
    growthTable(names, workloads, medians),
    '',
  ].join('\n');
}

const grouped = (value: number): string => value.toLocaleString('en').replaceAll(',', ' ');
