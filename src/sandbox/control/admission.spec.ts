import { request } from 'node:http';
import { PaymentsSandbox, SandboxControl, startSandbox } from '..';
import { forAllTests } from '../../../test/support/fixtures';

const sandbox = forAllTests(startSandbox);
const payments = forAllTests(() => PaymentsSandbox.start());

/** Gives the status; `fetch` would not send these headers. */
function statusOf(method: string, path: string, headers: Record<string, string> = {}): Promise<number> {
  const { hostname, port } = new URL(sandbox.controlUrl);
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, method, path, headers, agent: false }, (response) => {
      resolve(response.statusCode ?? 0);
      response.destroy();
    });
    sent.on('error', reject).end();
  });
}

const authorization = () => ({ authorization: `Bearer ${sandbox.controlSecret}` });
const port = () => new URL(sandbox.controlUrl).port;

const ROUTES = [
  ['GET', '/state'],
  ['GET', '/calls'],
  ['GET', '/nothing'],
  ['POST', '/balance'],
  ['DELETE', '/gates'],
] as const;

test.each(ROUTES)('%s %s is refused without the secret', async (method, path) => {
  for (const headers of [
    {},
    { authorization: 'Bearer wrong' },
    { authorization: `Basic ${sandbox.controlSecret}` },
    { authorization: sandbox.controlSecret },
    { authorization: `Bearer ${sandbox.apiKey}` },
  ]) {
    expect([headers, await statusOf(method, path, headers)]).toEqual([headers, 401]);
  }
});

test.each([...ROUTES, ['GET', '/'] as const])(
  '%s %s is refused to a page in a browser',
  async (method, path) => {
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: sandbox.controlUrl },
      { host: `evil.example:${port()}` },
      { host: 'evil.example' },
      { host: '127.0.0.1' },
      { host: '127.0.0.1:1' },
      { host: `127.0.0.1.evil.example:${port()}` },
    ]) {
      expect([headers, await statusOf(method, path, { ...authorization(), ...headers })]).toEqual([
        headers,
        403,
      ]);
    }
  },
);

test('the secret opens it under each name of this machine', async () => {
  for (const name of ['127.0.0.1', 'localhost', 'LOCALHOST', '[::1]']) {
    expect(await statusOf('GET', '/state', { ...authorization(), host: `${name}:${port()}` })).toBe(200);
  }
});

test('each sandbox has a secret of its own', async () => {
  const other = await startSandbox();
  expect(other.controlSecret).not.toBe(sandbox.controlSecret);
  const { controlUrl } = sandbox;
  const { controlSecret } = other;
  await expect(new SandboxControl({ controlUrl, controlSecret }).getState()).rejects.toThrow('response 401');
  await other.close();
});

test.each([
  ['not JSON', '{', 'The body is not JSON'],
  ['too long', ' '.repeat(1_000_001), 'The body is longer than 1000000 bytes'],
])('a body that is %s is refused', async (_, body, error) => {
  const response = await fetch(`${sandbox.controlUrl}/balance`, {
    method: 'POST',
    headers: authorization(),
    body,
  });
  expect([response.status, await response.json()]).toEqual([400, { error }]);
});

it('Clients reuse idle connections to each server of the sandbox for more than a minute', async () => {
  const servers = [sandbox.controlUrl, sandbox.baseUrl, payments.baseUrl];
  const kept = servers.map(async (url) => (await fetch(url)).headers.get('Keep-Alive'));
  expect(await Promise.all(kept)).toEqual(['timeout=75', 'timeout=75', 'timeout=75']);
});
