import { execFile } from 'node:child_process';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { forAllTests } from '../support/fixtures';
import { listen } from '../support/listen';
import { sharedTestService } from '../support/test-service';

const PROGRAM = join(__dirname, '../../node_modules/@modelcontextprotocol/conformance/dist/index.js');
/** The other scenarios call tools, prompts and resources that only a server made for them has. */
const SCENARIOS = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'];
const service = forAllTests(sharedTestService);
const user = forAllTests(() => service.createUser());

/** The conformance tests cannot send a token. */
const withToken = forAllTests(
  async () => {
    const server = createServer((incoming, response) => {
      const { method, headers } = incoming;
      const sent = request(`${service.baseUrl}/mcp`, {
        ...(method && { method }),
        headers: { ...headers, authorization: `Bearer ${user.token}` },
      });
      sent.once('response', (received) => {
        response.writeHead(received.statusCode ?? 0, received.headers);
        received.pipe(response);
      });
      sent.once('error', () => response.destroy());
      incoming.pipe(sent);
    });
    return { server, port: await listen(server) };
  },
  ({ server }) => server.close(),
);

it('The conformance tests of MCP pass', async () => {
  const url = `http://localhost:${withToken.port}/mcp`;
  // One start for all: loading the program takes longer than its work. It fails, as other scenarios do.
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, 'server', '--url', url], {
    timeout: 100_000,
  }).catch((failure: unknown) => failure as { stdout: string });
  for (const scenario of SCENARIOS) {
    expect(stdout).toMatch(new RegExp(`^✓ ${scenario}: [1-9]\\d* passed, 0 failed$`, 'm'));
  }
});
