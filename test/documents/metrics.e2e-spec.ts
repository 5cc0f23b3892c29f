import { join } from 'node:path';
import { type MetricDefinition, METRICS } from '../../src/metrics';
import { expectGenerated, withPart, wrapped } from '../support/generated';

const DOCUMENT = join(__dirname, '../../docs/metrics.md');
const BEGIN = '<!-- Generated from src/metrics/definitions.ts by `npm run generate:metrics`. -->\n';
const END = '<!-- End of the list. -->\n';

/** @param explained the last meaning of each label, to which this metric's are added */
function describeMetric(
  name: string,
  { help, labels, isShared }: MetricDefinition,
  explained: Map<string, string>,
): string {
  const meanings = Object.entries(labels)
    .filter(([label, meaning]) => explained.get(label) !== meaning)
    .map(([label, meaning]) => {
      explained.set(label, meaning);
      return ` \`${label}\`: ${meaning}.`;
    });
  const names = Object.keys(labels).join(',');
  const series = `\`${name}${names && `{${names}}`}\`${isShared ? ' (shared)' : ''}`;
  return `${wrapped(`${series}: ${help}${meanings.join('')}`, '-')}\n`;
}

function list(): string {
  const explained = new Map<string, string>();
  const entries = Object.entries<MetricDefinition>(METRICS).map(([name, definition]) =>
    describeMetric(name, definition, explained),
  );
  return `\n${entries.join('')}\n`;
}

describe('docs/metrics.md', () => {
  it('lists every metric, as it is defined (npm run generate:metrics)', () => {
    expectGenerated(DOCUMENT, 'UPDATE_METRICS', withPart(DOCUMENT, BEGIN, list(), END));
  });
});
