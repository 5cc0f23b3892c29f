import { markdownTable, milliseconds } from '../support/markdown';
import { ratioSpread, type Spread } from '../support/statistics';
import { type RoundOptions, type SubjectResult, valuesOf, type WorkloadResult } from '../workloads/rounds';
import { times } from './targets';

export interface GrowthSize {
  readonly users: number;
  readonly proxies: number;
}

const AT_MOST = 1.3;

const medians = ({ rounds }: SubjectResult): number[] => rounds.map(({ p50Ms }) => p50Ms);

/** How the medians of a size compare with those of the smallest, round by round. */
const growthOf = (size: SubjectResult, smallest: SubjectResult): Spread =>
  ratioSpread(medians(size), medians(smallest));

/** @param paths with a subject for each size, in their order, the smallest first */
export function growthMarkdown(
  circumstances: string,
  { sizes, seconds, rounds }: RoundOptions & { readonly sizes: readonly GrowthSize[] },
  paths: readonly WorkloadResult[],
): string {
  const names = sizes.map(({ users, proxies }) => `${grouped(users)} users, ${grouped(proxies)} proxies`);
  return [
    '# The same answers from larger databases',
    '',
    circumstances,
    '',
    `The median of an answer's time, ${rounds} rounds of ${seconds} s for each size, in turn; a few connections, each sending one request after the other.`,
    `Against the smallest it is to be at most ${AT_MOST} times: the median of the ratios of the rounds, with the least and the most.`,
    '',
    markdownTable(
      ['', ...names, ...names.slice(1).map((name) => `${name} ÷ smallest`), `within ${AT_MOST} ×`],
      paths.map(({ title, subjects }) => {
        const [smallest, ...larger] = subjects;
        const ratios = larger.map((size) => growthOf(size, smallest ?? size));
        return [
          `\`${title}\``,
          ...subjects.map((size) => milliseconds(valuesOf(size, 'p50Ms').median)),
          ...ratios.map(times),
          ratios.every(({ median }) => median <= AT_MOST) ? 'reached' : '**not reached**',
        ];
      }),
    ),
    '',
  ].join('\n');
}

const grouped = (value: number): string => value.toLocaleString('en').replaceAll(',', ' ');
