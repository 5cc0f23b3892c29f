import type { RestoreReport } from './run';

const seconds = (value: number): string => value.toFixed(1);
const megabytes = (bytes: number): string => (bytes / 1_000_000).toFixed(1);

export function restoreMarkdown(report: RestoreReport): string {
  const { backups, decided, secondsUntil, orders, soldSince, responses, violations } = report;
  return [
    '| backup, beside the sales | s | database, MB | copied, MB | in the repository, MB |',
    '| --- | ---: | ---: | ---: | ---: |',
    ...Object.entries(backups).map(
      ([name, made]) =>
        `| ${name} | ${seconds(made.seconds)} | ${megabytes(made.databaseBytes)} | ` +
        `${megabytes(made.copiedBytes)} | ${megabytes(made.repositoryBytes)} |`,
    ),
    '',
    '| restore | |',
    '| --- | ---: |',
    `| from the restored moment to the destruction, s | ${seconds(report.secondsLost)} |`,
    `| what a lost disk costs: log that was not archived yet, s | ${seconds(report.secondsNotArchived)} |`,
    `| copying the backup back, s | ${seconds(report.restoreSeconds)} |`,
    `| replaying the log, s | ${seconds(report.replaySeconds)} |`,
    `| from the destruction until reads return, s | ${seconds(secondsUntil.read)} |`,
    `| from the destruction until orders are open, s | ${seconds(secondsUntil.ordered)} |`,
    '',
    '| orders and books | |',
    '| --- | ---: |',
    `| orders with a response | ${orders.confirmed} |`,
    `| of them forgotten by the restored database | ${orders.lost} |`,
    `| sold since that moment: proxies · prolongations | ${soldSince.proxies} · ${soldSince.prolongations} |`,
    `| decided: unmatched proxies · found prolongations | ${decided.unmatched} · ${decided.prolongations} |`,
    `| orders after the opening | ${orders.afterwards} |`,
    ...Object.entries(responses)
      .toSorted(([one], [other]) => one.localeCompare(other))
      .map(([response, times]) => `| responses: ${response} | ${times} |`),
    `| violations | ${violations.length} |`,
    ...(violations.length > 0 ? ['', ...violations.map((violation) => `- ${violation}`)] : []),
  ].join('\n');
}
