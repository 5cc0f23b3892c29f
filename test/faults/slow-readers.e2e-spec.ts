import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import {
  BUILD_TIMEOUT_MS,
  type BuiltService,
  residentMb,
  SHIPPED_NODE_OPTIONS,
} from '../support/built-service';
import { forAllTests } from '../support/fixtures';
import { inLongForm } from '../support/long-form';
import { insertProxies } from '../support/proxy-rows';
import { type Customer, Replicas } from '../support/replicas';

const PROXY_COUNT = 32_000;
const PATHS = ['/proxies', '/proxies/export'];
/** Whole responses for 30 of them would take 240 MB. */
const READER_COUNT = inLongForm(200, 30);
/** 200 kB for each reader, and what the young generation takes with them. */
const MAX_GROWTH_MB = 60;
const PIPELINED_REQUESTS = inLongForm(20_000, 300);
/** The responses that another client gets meanwhile. */
const FEWEST_MEANWHILE = 20;
/** In /proc/net/tcp. */
const ESTABLISHED = '01';

jest.setTimeout(300_000);

const ending = (port: number): string => `:${port.toString(16).toUpperCase().padStart(4, '0')}`;

async function countConnections({ baseUrl }: BuiltService, ports: readonly number[]): Promise<number> {
  const address = ending(Number(new URL(baseUrl).port));
  const readers = new Set(ports.map(ending));
  const lines = (await readFile('/proc/net/tcp', 'utf8')).split('\n');
  return lines.filter((line) => {
    const [, local = '', remote = '', state] = line.trim().split(/\s+/);
    return local.endsWith(address) && readers.has(remote.slice(-5)) && state === ESTABLISHED;
  }).length;
}

const requestText = (path: string, { token }: Customer): string =>
  `GET ${path} HTTP/1.1\r\nHost: service\r\nAuthorization: Bearer ${token}\r\n\r\n`;

describe('Clients that do not read', () => {
  const sockets: Socket[] = [];

  const replicas = forAllTests(() =>
    Replicas.open({ environment: { NODE_OPTIONS: SHIPPED_NODE_OPTIONS }, tuning: { readerIdleMs: 3000 } }),
  );
  const service = forAllTests(
    () => replicas.start(),
    (opened) => opened.stop(),
  );
  const customer = forAllTests(() => replicas.createCustomer());
  beforeAll(async () => {
    await insertProxies(replicas, customer.id, PROXY_COUNT);
    await replicas.query('ANALYZE proxies');
  }, BUILD_TIMEOUT_MS);
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  async function request(path: string): Promise<{ status: number; length: number }> {
    const headers = { Authorization: `Bearer ${customer.token}` };
    const response = await fetch(service.baseUrl + path, { headers });
    const { length } = await response.text();
    return { status: response.status, length };
  }

  /** One after the other, because each takes memory. */
  async function requestAll(): Promise<number[]> {
    const lengths = [];
    for (const path of PATHS) {
      const { status, length } = await request(path);
      expect(status).toBe(200);
      lengths.push(length);
    }
    return lengths;
  }

  async function open(): Promise<Socket> {
    const { hostname, port } = new URL(service.baseUrl);
    const socket = connect(Number(port), hostname);
    sockets.push(socket);
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  }

  it('cost little memory and are soon gone', async () => {
    await requestAll();
    const lengths = await requestAll();
    const beforeMb = await residentMb(service);
    const ports: number[] = [];
    for (let n = 0; n < READER_COUNT; n += 1) {
      const socket = await open();
      // A slow machine opens the last when the first is gone.
      ports.push(socket.localPort ?? 0);
      socket.write(requestText(PATHS[n % PATHS.length] ?? '', customer));
      // Waits for the first bytes, because concurrent requests would share a response.
      await once(socket, 'readable');
    }
    let mostMb = 0;
    while ((await countConnections(service, ports)) > 0) {
      expect(await request('/me')).toMatchObject({ status: 200 });
      mostMb = Math.max(mostMb, await residentMb(service));
      await pause(200);
    }
    expect(mostMb - beforeMb).toBeLessThan(MAX_GROWTH_MB);
    expect(await requestAll()).toEqual(lengths);
  });

  it('delay no other client with requests that they pipeline', async () => {
    const socket = await open();
    let responded = 0;
    socket.setEncoding('latin1').on('data', (text: string) => {
      responded += text.split('HTTP/1.1 200').length - 1;
    });
    socket.write(requestText('/me', customer).repeat(PIPELINED_REQUESTS));
    // A status line may come in two pieces.
    const isOver = (): boolean => responded > 0.99 * PIPELINED_REQUESTS;
    let others = 0;
    for (; !isOver(); others += 1) {
      expect((await request('/me')).status).toBe(200);
      expect(socket.destroyed).toBe(false);
    }
    expect(others).toBeGreaterThan(FEWEST_MEANWHILE);
  });
});
