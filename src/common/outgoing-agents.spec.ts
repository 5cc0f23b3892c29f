import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { forAllTests, forEachTest } from '../../test/support/fixtures';
import { listen } from '../../test/support/listen';
import { openSilentPort } from '../../test/support/silent-port';
import { createOutgoingAgents } from './outgoing-agents';

/** Longer than the 250 ms that Node gives an address by default. */
const SLOW_MS = 300;

describe('Outgoing connections to a name with two addresses', () => {
  /** On 127.0.0.1 alone: nothing listens at the other address. */
  const silent = forEachTest(openSilentPort);
  afterEach(() => silent.close());
  const agents = forAllTests(() => createOutgoingAgents({ connectTimeoutMs: 5000, idleMs: 1000 }));

  async function request(): Promise<unknown> {
    const call = http.get({
      host: 'two.test',
      port: silent.port,
      agent: agents.httpAgent,
      lookup: (_name, _options, done) =>
        (done as (error: null, found: unknown) => void)(
          null,
          ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 })),
        ),
    });
    try {
      const [response] = (await once(call, 'response')) as [http.IncomingMessage];
      response.resume();
      return response.statusCode;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code;
    }
  }

  it('reach an address that is slow while the other one refuses', async () => {
    const response = request();
    await pause(SLOW_MS);
    silent.accept();
    expect(await response).toBe(200);
  });

  it('reach the second address when the first one is silent', async () => {
    const server = http.createServer((_, response) => response.end());
    await listen(server, silent.port, '127.0.0.2');
    expect(await request()).toBe(200);
    server.closeAllConnections();
    server.close();
  });

  it('fail before the limit when the first one is silent and the second one refuses', async () => {
    expect(await request()).toBe('ETIMEDOUT');
  });
});
