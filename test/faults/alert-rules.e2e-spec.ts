import { runProgram } from '../../drills/support/daemon';
import { DEBIAN, missingPackages } from '../../drills/support/debian';
import { OPERATIONS } from '../support/operations';

if (missingPackages('promtool').length > 0) {
  it.skip('promtool: there is none (apt-get install prometheus)', () => undefined);
} else {
  it('promtool sees the rules pass their tests', async () => {
    const parameters = ['test', 'rules', 'alerts.test.yml'];
    const said = await runProgram({ program: DEBIAN.promtool.path, parameters, directory: OPERATIONS });
    expect(said).toContain('SUCCESS');
  });
}
