import { runProgram } from '../../drills/support/daemon';
import { DEBIAN, missingPackages } from '../../drills/support/debian';
import { OPERATIONS } from '../support/operations';
import { describeWith } from '../support/programs';

describeWith(missingPackages('promtool'), 'promtool', () => {
  it('sees the rules pass their tests', async () => {
    const parameters = ['test', 'rules', 'alerts.test.yml'];
    const said = await runProgram({ program: DEBIAN.promtool.path, parameters, directory: OPERATIONS });
    expect(said).toContain('SUCCESS');
  });
});
