import { SandboxControl, startSandbox } from '../../src/sandbox';
import { forAllTests } from './fixtures';
import { WireClient } from './wire-client';

export function sandboxForAllTests() {
  const sandbox = forAllTests(() => startSandbox({ rateLimitPerSecond: null }));
  return {
    sandbox,
    client: forAllTests(() => new WireClient(sandbox.baseUrl, sandbox.apiKey)),
    control: forAllTests(() => new SandboxControl(sandbox)),
  };
}
