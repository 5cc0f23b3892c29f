import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { runProgram } from '../drills/support/daemon';
import { DEBIAN, missingPackages } from '../drills/support/debian';
import { OPERATIONS, readAlertRules, readDashboardQueries, readRuleTests } from './support/operations';

const rules = readAlertRules();
const names = rules.map(({ alert }) => alert);

/** The headings of the chapter `## Alerts`. */
function readRunbook(): string[] {
  const document = readFileSync(join(OPERATIONS, '..', 'docs', 'operations.md'), 'utf8');
  const chapter = /^## Alerts$(.*?)(?=^## |$(?![\s\S]))/ms.exec(document)?.[1] ?? '';
  return [...chapter.matchAll(/^### (.+)$/gm)].map(([, heading = '']) => heading);
}

describe('Each alert', () => {
  it('has a chapter in the runbook, which has no others, and links to it', () => {
    expect(readRunbook()).toEqual(names);
    expect(rules.map(({ annotations }) => annotations.runbook_url)).toEqual(
      names.map((name) => `docs/operations.md#${name.toLowerCase()}`),
    );
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

if (missingPackages('promtool').length > 0) {
  it.skip('promtool: there is none (apt-get install prometheus)', () => undefined);
} else {
  describe('promtool', () => {
    const promtool = (...parameters: string[]) =>
      runProgram({ program: DEBIAN.promtool.path, parameters, directory: OPERATIONS });

    it('finds no fault in the configuration and the rules', async () => {
      expect(await promtool('check', 'config', 'prometheus.yml')).toContain('SUCCESS');
    });

    it('sees the rules pass their tests', async () => {
      expect(await promtool('test', 'rules', 'alerts.test.yml')).toContain('SUCCESS');
    });

    it("finds no fault in the dashboard's queries", async () => {
      const queries = readDashboardQueries();
      expect(queries.length).toBeGreaterThan(30);
      const directory = await mkdtemp(join(tmpdir(), 'proxy-rental-dashboard-'));
      const file = join(directory, 'queries.yml');
      const recorded = queries.map(({ expr }, at) => ({
        record: `query:${at}`,
        expr: expr.replaceAll('$__rate_interval', '1m'),
      }));
      await writeFile(file, stringify({ groups: [{ name: 'dashboard', rules: recorded }] }));
      expect(await promtool('check', 'rules', file)).toContain(`${queries.length} rules found`);
      await rm(directory, { recursive: true });
    });
  });
}
