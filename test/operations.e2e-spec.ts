import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type MetricDefinition, Metrics, METRICS, METRIC_PREFIX } from '../src/metrics';
import {
  OPERATIONS,
  readAlertRules,
  readDashboardQueries,
  readRuleTests,
  selectorsOf,
} from './support/operations';

const rules = readAlertRules();
const names = rules.map(({ alert }) => alert);
const document = readFileSync(join(OPERATIONS, '..', 'docs', 'runbook.md'), 'utf8');
const readRunbook = (): string[] => [...document.matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading);

describe('Each alert', () => {
  it('has a chapter in the runbook, which has no others, and links to it', () => {
    expect(readRunbook()).toEqual(names);
    expect(rules.map(({ annotations }) => annotations.runbook_url)).toEqual(
      names.map((name) => `{{ $externalLabels.runbooks }}#${name.toLowerCase()}`),
    );
  });

  it('is in the index of the runbook, under its severity, with its effect and the first command', () => {
    const [, critical = '', warnings = ''] =
      /^Each alert.*?\*\*Critical\*\*(.*?)^\*\*Warnings\*\*(.*?)^## /ms.exec(document) ?? [];
    const namesIn = (list: string) =>
      [...list.matchAll(/^- \[(\w+)\]\(#(\w+)\): .+; .+$/gm)].map(([, name, anchor]) => [name, anchor]);
    const namesOf = (severity: string) =>
      rules
        .filter(({ labels }) => labels.severity === severity)
        .map(({ alert }) => [alert, alert.toLowerCase()]);
    expect(namesIn(critical)).toEqual(namesOf('critical'));
    expect(namesIn(warnings)).toEqual(namesOf('warning'));
  });

  it('says how urgent it is, what is wrong and what that means', () => {
    expect(rules.length).toBeGreaterThan(10);
    for (const { labels, annotations } of rules) {
      expect(['critical', 'warning']).toContain(labels.severity);
      expect(Object.keys(annotations)).toEqual(['summary', 'description', 'runbook_url']);
    }
  });

  it('is seen both firing and silent by the tests of the rules', () => {
    const { firing, silent } = readRuleTests();
    expect([...firing].toSorted()).toEqual(names.toSorted());
    expect([...silent].toSorted()).toEqual(names.toSorted());
  });
});

/** The labels of each series, without `job` and `instance`, which Prometheus adds itself. */
async function readSeries(): Promise<Map<string, string[]>> {
  const series = new Map([
    ['node_filesystem_avail_bytes', ['mountpoint', 'device', 'fstype']],
    ['node_filesystem_size_bytes', ['mountpoint', 'device', 'fstype']],
    ['up', []],
    // Written by the backups' cron job, read by node exporter.
    ['proxy_rental_full_backup_timestamp_seconds', []],
  ]);
  for (const [name, { type, labels }] of Object.entries<MetricDefinition>(METRICS)) {
    for (const suffix of type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']) {
      series.set(METRIC_PREFIX + name + suffix, [
        ...Object.keys(labels),
        ...(suffix === '_bucket' ? ['le'] : []),
      ]);
    }
  }
  const exposed = await (await Metrics.open(true)).render();
  for (const [, name = ''] of exposed.matchAll(/^# TYPE ((?:nodejs|process)_\w+)/gm)) series.set(name, []);
  return series;
}

describe('The rules and the dashboard', () => {
  const queries = [
    ...rules.map(({ alert, expr }) => ({ name: alert, expr })),
    ...readDashboardQueries().map(({ panel, expr }) => ({ name: panel, expr })),
  ];

  it('read metrics of the service, by labels that it has', async () => {
    const series = await readSeries();
    const unknown = queries.flatMap(({ name, expr }) => {
      const selectors = selectorsOf(expr);
      const known = new Set([
        'job',
        'instance',
        ...selectors.flatMap(({ metric }) => series.get(metric) ?? []),
      ]);
      const grouped = [...expr.matchAll(/\b(?:by|on)\s*\(([^)]*)\)/g)].flatMap(([, labels = '']) =>
        labels.split(/,\s*/).filter((label) => label !== ''),
      );
      return [
        ...selectors.filter(({ metric }) => !series.has(metric)).map(({ metric }) => `${name}: ${metric}`),
        ...selectors
          .flatMap(({ labels }) => labels)
          .concat(grouped)
          .filter((label) => !known.has(label))
          .map((label) => `${name}: ${label}`),
      ];
    });
    expect(queries.length).toBeGreaterThan(50);
    expect(unknown).toEqual([]);
  });

  it('show every metric of the service', () => {
    const read = new Set(queries.flatMap(({ expr }) => selectorsOf(expr).map(({ metric }) => metric)));
    const isRead = (name: string) =>
      ['', '_bucket'].some((suffix) => read.has(`${METRIC_PREFIX}${name}${suffix}`));
    expect(Object.keys(METRICS).filter((name) => !isRead(name))).toEqual([]);
  });
});
