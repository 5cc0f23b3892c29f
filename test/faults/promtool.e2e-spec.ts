import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { runProgram } from '../../drills/support/daemon';
import { DEBIAN, missingPackages } from '../../drills/support/debian';
import { forAllTests } from '../support/fixtures';
import { OPERATIONS, readDashboardQueries } from '../support/operations';
import { describeWith } from '../support/programs';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';

describeWith(missingPackages('promtool'), 'promtool', () => {
  const directory = forAllTests(
    async () => ({ path: await createTestDirectory() }),
    ({ path }) => removeTestDirectory(path),
  );
  const promtool = (...parameters: string[]) =>
    runProgram({ program: DEBIAN.promtool.path, parameters, directory: OPERATIONS });

  it('finds no fault in the configuration and the rules', async () => {
    expect(await promtool('check', 'config', 'prometheus.yml')).toContain('SUCCESS');
  });

  it('finds no fault in the configuration of the containers', async () => {
    const text = await readFile(join(OPERATIONS, '../docker/production/prometheus.yml'), 'utf8');
    const file = join(directory.path, 'prometheus.yml');
    await writeFile(file, text.replace('/etc/prometheus/rules', OPERATIONS));
    expect(await promtool('check', 'config', file)).toContain('SUCCESS: 1 rule files found');
  });

  it("finds no fault in the dashboard's queries", async () => {
    const queries = readDashboardQueries();
    expect(queries.length).toBeGreaterThan(30);
    const file = join(directory.path, 'queries.yml');
    const recorded = queries.map(({ expr }, at) => ({
      record: `query:${at}`,
      expr: expr.replaceAll('$__rate_interval', '1m'),
    }));
    await writeFile(file, stringify({ groups: [{ name: 'dashboard', rules: recorded }] }));
    expect(await promtool('check', 'rules', file)).toContain(`${queries.length} rules found`);
  });

  it('sees the rules pass their tests', async () => {
    expect(await promtool('test', 'rules', 'alerts.test.yml')).toContain('SUCCESS');
  });
});
