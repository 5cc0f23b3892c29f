import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type MetricDefinition, METRICS, PREFIX } from '../src/metrics';
import { wrapped } from './support/wrapped';

const DOCUMENT = join(__dirname, '../docs/metrics.md');
const BEGIN = '<!-- Generated from src/metrics/definitions.ts by `npm run generate:metrics`. -->\n';
const END = '<!-- End of the list. -->\n';

function describeMetric(name: string, { type, help, labels, isShared }: MetricDefinition): string {
  const values = Object.entries(labels).map(([label, meaning]) =>
    wrapped(`\`${label}\`: ${meaning}.`, '  -'),
  );
  const kind = isShared ? `${type}, shared` : type;
  const indented = values.map((text) => text.replaceAll('\n  ', '\n    '));
  return [wrapped(`\`${PREFIX}${name}\` (${kind}): ${help}`, '-'), ...indented, ''].join('\n');
}

const list = (): string =>
  `${BEGIN}\n${Object.entries<MetricDefinition>(METRICS)
    .map(([name, definition]) => describeMetric(name, definition))
    .join('')}\n${END}`;

describe('docs/metrics.md', () => {
  it('lists every metric, as it is defined (npm run generate:metrics)', () => {
    const document = readFileSync(DOCUMENT, 'utf8');
    const [before, rest = ''] = document.split(BEGIN);
    const after = rest.split(END)[1] ?? '';
    const expected = `${before}${list()}${after}`;
    if (process.env['UPDATE_METRICS'] === '1') writeFileSync(DOCUMENT, expected);
    expect(readFileSync(DOCUMENT, 'utf8')).toBe(expected);
  });
});
