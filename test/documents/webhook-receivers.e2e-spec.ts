import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { generateWebhookSecret, signPayload } from '../../src/webhooks/signing';

const PROJECT = join(__dirname, '../..');
const SECRET = generateWebhookSecret();
const hasPython = spawnSync('python3', ['--version']).status === 0;

describe.each([
  ['Node', ['node', 'docs/examples/receiver.mjs'], true],
  ['Python', ['python3', 'docs/examples/receiver.py'], hasPython],
] as const)('The receiver of the documentation for %s', (_, [command, ...args], isThere) => {
  const testIf = isThere ? it : it.skip;
  let running: ChildProcess | undefined;
  afterEach(() => running?.kill('SIGKILL'));

  testIf('takes what was signed with the secret, each event once, and refuses the rest', async () => {
    const receiver = spawn(command, args, {
      cwd: PROJECT,
      env: { PATH: process.env['PATH'], WEBHOOK_SECRET: SECRET, PORT: '0' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    running = receiver;
    const lines: string[] = [];
    const reader = createInterface({ input: receiver.stdout });
    const [greeting] = (await once(reader, 'line')) as [string];
    reader.on('line', (line) => lines.push(line));
    const url = `http://127.0.0.1:${greeting.split(' ').at(-1)}`;

    const send = async (id: string, { secret = SECRET, seconds = 0, added = '' } = {}): Promise<number> => {
      const timestamp = Math.floor(Date.now() / 1000) - seconds;
      const body = JSON.stringify({ id, type: 'order.completed', data: { price: '25.08', from: 'Köln' } });
      const old = signPayload(generateWebhookSecret(), id, timestamp, body);
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'webhook-id': id,
          'webhook-timestamp': String(timestamp),
          'webhook-signature': `${old} ${signPayload(secret, id, timestamp, body)}`,
        },
        body: body + added,
      });
      return response.status;
    };
    expect([await send('evt_1'), await send('evt_1'), await send('evt_2')]).toEqual([204, 204, 204]);
    expect(await send('evt_3', { secret: generateWebhookSecret() })).toBe(400);
    expect([await send('evt_4', { added: ' ' }), await send('evt_5', { seconds: 600 })]).toEqual([400, 400]);
    const ended = once(reader, 'close');
    receiver.kill('SIGKILL');
    await ended;
    expect(lines.map((line) => line.split(' ')[0])).toEqual(['order.completed', 'order.completed']);
  });
});
