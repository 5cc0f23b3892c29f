import { once } from 'node:events';
import { get } from 'node:http';
import { SandboxControl, startSandbox } from '../..';
import { forEachTest } from '../../../../test/support/fixtures';
import { WireClient } from '../../../../test/support/wire-client';

const sandbox = forEachTest(() => startSandbox({ rateLimitPerSecond: null }));
const client = forEachTest(() => new WireClient(sandbox.baseUrl, sandbox.apiKey));
const control = forEachTest(() => new SandboxControl(sandbox));

afterEach(() => sandbox.close());

const BUY = 'buy?count=1&period=7&country=nl&version=4&descr=gated';
const sales = async (): Promise<number> => (await control.getState()).sales.length;

test('received: the call has had no effect, and continues when the gate opens', async () => {
  const gate = await control.addGate({ method: 'buy', stage: 'received', match: { descr: 'gated' } });
  const response = client.call(BUY);

  await expect(control.untilGateReached(gate)).resolves.toMatchObject({ descr: 'gated' });
  await expect(sales()).resolves.toBe(0);
  await control.openGate(gate);

  await expect(response).resolves.toMatchObject({ status: 'yes' });
  await expect(sales()).resolves.toBe(1);
});

test('received and dropped: the call has no effect, and the connection closes', async () => {
  const gate = await control.addGate({ method: 'buy', stage: 'received' });
  const response = client.call(BUY).catch((error: unknown) => String(error));
  await control.untilGateReached(gate);

  await control.openGate(gate, 'drop');

  await expect(response).resolves.toContain('socket hang up');
  await expect(sales()).resolves.toBe(0);
});

test('a request takes effect even if its client disconnects at the gate', async () => {
  const gate = await control.addGate({ method: 'buy', stage: 'received' });
  const request = get(`${sandbox.baseUrl}/api/${sandbox.apiKey}/${BUY}`, { agent: false });
  request.on('error', () => undefined);
  await control.untilGateReached(gate);
  request.destroy();
  const executed = await control.addGate({ method: 'buy', stage: 'executed' });

  await control.openGate(gate);
  await control.untilGateReached(executed);

  await expect(sales()).resolves.toBe(1);
});

test('executed: the call has taken effect, and no byte of the response was sent', async () => {
  const gate = await control.addGate({ method: 'buy', stage: 'executed' });
  const response = client.call(BUY);

  await control.untilGateReached(gate);
  await expect(sales()).resolves.toBe(1);
  expect((await control.getCalls('buy'))[0]?.status).toBeNull();
  await control.openGate(gate);

  await expect(response).resolves.toMatchObject({ status: 'yes' });
});

test('half-sent: half of the body was sent', async () => {
  const gate = await control.addGate({ method: 'buy', stage: 'half-sent' });
  const request = get(`${sandbox.baseUrl}/api/${sandbox.apiKey}/${BUY}`, { agent: false });
  const received = new Promise<string>((resolve) => {
    request.once('response', (response) =>
      response.once('data', (chunk: Buffer) => resolve(chunk.toString())),
    );
  });

  await control.untilGateReached(gate);
  expect(await received).toMatch(/^\{"status":"yes".*[^}]$/);
  const closed = once(request, 'close');
  await control.openGate(gate, 'drop');
  await closed;
});

test('a gate holds only one request, and waiting for it times out', async () => {
  const gate = await control.addGate({ method: 'buy', stage: 'received' });
  await expect(control.untilGateReached(gate, 10)).rejects.toThrow('408');
  const held = client.call(BUY);
  await control.untilGateReached(gate);

  await expect(client.call(BUY)).resolves.toMatchObject({ status: 'yes' });
  await control.openGate(gate);
  await expect(held).resolves.toMatchObject({ status: 'yes' });
});

test('closing the sandbox ends held and hanging requests', async () => {
  await control.addFault({ method: 'getcountry', kind: 'hang' });
  const gate = await control.addGate({ method: 'buy', stage: 'received' });
  const calls = Promise.allSettled([client.call(BUY), client.call('getcountry')]);
  await control.untilGateReached(gate);

  await sandbox.close();

  expect((await calls).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});
