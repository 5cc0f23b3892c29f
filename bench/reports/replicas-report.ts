import { markdownTable, milliseconds } from '../support/markdown';
import { ratioSpread, type Spread } from '../support/statistics';
import { type RoundOptions, type SubjectResult, valuesOf, type WorkloadResult } from '../workloads/rounds';
import type { Sample } from '../workloads/subjects';
import { times } from './targets';

/** What more replicas may lose by measuring noise. */
const LEAST_RATE = 0.95;

const ratioOf = (one: SubjectResult, other: SubjectResult, value: keyof Sample): Spread =>
  ratioSpread(
    one.rounds.map((sample) => sample[value]),
    other.rounds.map((sample) => sample[value]),
  );

/** @param workloads each with one subject for each number of replicas, the smallest number first */
export function replicasMarkdown(
  circumstances: string,
  { seconds, rounds }: RoundOptions,
  workloads: readonly WorkloadResult[],
): string {
  const each = (subject: SubjectResult, value: keyof Sample): string =>
    milliseconds(valuesOf(subject, value).median);
  return [
    '# Purchases with several replicas',
    '',
    circumstances,
    '',
    `${rounds} rounds of ${seconds} s for each number of replicas, in alternating order, with 32 connections`,
    'spread over the replicas and no limit on the rate of provider calls. All replicas run all the time; the',
    'first of them get the load. Medians of the rounds; a ratio is the median of the ratios within each',
    'round, with the minimum and the maximum. CPU times are for one purchase, of all replicas together and',
    `of PostgreSQL. The goal is at least ${LEAST_RATE} times the rate of one replica.`,
    '',
    markdownTable(
      [
        '',
        'a second',
        '÷ 1 replica',
        'median',
        'p99',
        'CPU',
        'database CPU',
        'CPU of both ÷ 1 replica',
        'goal',
      ],
      workloads.flatMap(({ title, subjects }) =>
        subjects.map((subject, at) => {
          const first = subjects[0] ?? subject;
          const rate = ratioOf(subject, first, 'perSecond');
          return [
            `\`${title}\`: ${subject.name}`,
            valuesOf(subject, 'perSecond').median.toFixed(0),
            at === 0 ? '' : times(rate),
            each(subject, 'p50Ms'),
            each(subject, 'p99Ms'),
            // CPU seconds of 1,000 requests are the milliseconds of one.
            `${valuesOf(subject, 'cpuSecondsPer1000').median.toFixed(2)} ms`,
            `${valuesOf(subject, 'databaseSecondsPer1000').median.toFixed(2)} ms`,
            at === 0 ? '' : times(bothRatio(subject, first)),
            at === 0 ? '' : rate.median >= LEAST_RATE ? 'reached' : '**not reached**',
          ];
        }),
      ),
    ),
    '',
  ].join('\n');
}

function bothRatio(one: SubjectResult, other: SubjectResult): Spread {
  const sums = ({ rounds }: SubjectResult): number[] =>
    rounds.map(({ cpuSecondsPer1000, databaseSecondsPer1000 }) => cpuSecondsPer1000 + databaseSecondsPer1000);
  return ratioSpread(sums(one), sums(other));
}
