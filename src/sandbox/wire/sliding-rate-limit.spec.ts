import { SandboxControl, startSandbox } from '..';
import { forEachTest } from '../../../test/support/fixtures';
import { WireClient } from '../../../test/support/wire-client';
import { SlidingRateLimit } from './sliding-rate-limit';

test('at most three requests are admitted within any second', () => {
  const limit = new SlidingRateLimit(3);
  const admitted = [0, 400, 800, 999, 1000, 1100, 1399, 1400].filter((nowMs) => limit.admits(nowMs));

  expect(admitted).toEqual([0, 400, 800, 1000, 1400]);
});

describe('over HTTP', () => {
  const sandbox = forEachTest(startSandbox);

  afterEach(() => sandbox.close());

  test('the fourth call within a second gets 429 with a text and has no effect', async () => {
    const client = new WireClient(sandbox.baseUrl, sandbox.apiKey);
    const calls = ['', 'getcountry', 'getcount?country=ru', 'buy?count=1&period=7&country=ru&descr=surplus'];
    const responses = await Promise.all(calls.map((call) => client.send(call)));
    const refused = responses.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(1);
    expect(refused[0]?.headers['content-type']).toContain('text/plain');
    const control = new SandboxControl(sandbox);
    const [surplus] = await control.getCalls('buy');
    expect((await control.getState()).sales).toHaveLength(surplus?.status === 429 ? 0 : 1);
  });

  test('the limit can be disabled and enabled at run time', async () => {
    const client = new WireClient(sandbox.baseUrl, sandbox.apiKey);
    const control = new SandboxControl(sandbox);
    const statusesOf = async (calls: number) =>
      new Set(
        (await Promise.all(Array.from({ length: calls }, () => client.send('')))).map(({ status }) => status),
      );

    await control.setRateLimit(null);
    await expect(statusesOf(20)).resolves.toEqual(new Set([200]));
    await control.setRateLimit(1);
    await expect(statusesOf(3)).resolves.toContain(429);
  });
});
