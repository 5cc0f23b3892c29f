import { markdownTable, milliseconds } from '../support/markdown';
import { ratioSpread, type Spread } from '../support/statistics';
import { type RoundOptions, type SubjectResult, valuesOf, type WorkloadResult } from '../workloads/rounds';
import { times } from './targets';

export interface GrowthSize {
  readonly users: number;
  readonly proxies: number;
}

const MAX_RATIO = 1.3;

const medians = ({ rounds }: SubjectResult): number[] => rounds.map(({ p50Ms }) => p50Ms);

/** Ratio of a size's medians to those of the smallest size, round by round. */
const growthOf = (size: SubjectResult, smallest: SubjectResult): Spread =>
  ratioSpread(medians(size), medians(smallest));

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
    `Median response times: ${rounds} rounds of ${seconds} s for each size,
    in alternating order; four connections,`,
    'each of which sends one request after the other. The goal is a median of at most',
    `${MAX_RATIO} times that of the smallest size. A ratio is the median of the ratios within each round,
    with the`,
    'minimum and the maximum.',
    '',
    markdownTable(
      ['', ...names, ...names.slice(1).map((name) => `${name} ÷ smallest`), `within ${MAX_RATIO} ×`],
      workloads.map(({ title, subjects }) => {
        const [smallest, ...larger] = subjects;
        const ratios = larger.map((size) => growthOf(size, smallest ?? size));
        return [
          `\`${title}\``,
          ...subjects.map((size) => milliseconds(valuesOf(size, 'p50Ms').median)),
          ...ratios.map(times),
          ratios.every(({ median }) => median <= MAX_RATIO) ? 'reached' : '**not reached**',
        ];
      }),
    ),
    '',
  ].join('\n');
}

const grouped = (value: number): string => value.toLocaleString('en').replaceAll(',', ' ');
