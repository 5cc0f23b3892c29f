import { median } from 'simple-statistics';
import type { FailoverReport, Round } from './run';

function faultRow(fault: string, rounds: readonly Round[]): string {
  const seconds = rounds.map(({ secondsWithoutWrites }) => secondsWithoutWrites);
  const [middle, most] = [median(seconds), Math.max(...seconds)].map((value) => value.toFixed(1));
  return `| ${fault} | ${seconds.length} | ${middle} | ${most} |`;
}

export function failoverMarkdown(report: FailoverReport): string {
  const {
    rounds,
    seconds,
    orders,
    responses,
    longestResponseSeconds,
    timelines,
    sales,
    unmatched,
    violations,
  } = report;
  const faults = [...new Set(rounds.map(({ fault }) => fault))];
  const all = rounds.map(({ secondsWithoutWrites }) => secondsWithoutWrites);
  return [
    `${rounds.length} rounds in ${(seconds / 60).toFixed(0)} minutes, ${timelines} timelines of PostgreSQL.`,
    '',
    '| fault | rounds | median, s without writes | most |',
    '| --- | ---: | ---: | ---: |',
    ...faults.map((name) =>
      faultRow(
        name,
        rounds.filter(({ fault }) => fault === name),
      ),
    ),
    faultRow('**all**', rounds),
    '',
    '| responses to purchases and prolongations | |',
    '| --- | ---: |',
    ...Object.entries(responses)
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([response, times]) => `| ${response} | ${times} |`),
    `| longest, s | ${longestResponseSeconds.toFixed(1)} |`,
    '',
    '| orders and books | |',
    '| --- | ---: |',
    `| orders acknowledged to clients | ${orders} |`,
    `| purchases at the provider | ${sales} |`,
    `| unmatched proxies | ${unmatched} |`,
    `| violations | ${violations.length} |`,
    `| longest without writes, s (30 at most) | ${Math.max(...all).toFixed(1)} |`,
    ...(violations.length > 0 ? ['', ...violations.map((violation) => `- ${violation}`)] : []),
  ].join('\n');
}
