import { readFile } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import {
  type ClientOptions,
  createClient,
  events,
  EventsGoneError,
  type EventsOptions,
  itemsOf,
  untilClosed,
} from '../clients/typescript/src/index';
import { EventPageReader } from '../src/events';
import { outcomeOf } from './support/api-client';
import { eventually } from './support/built-service';
import { beforeClosing, forAllTests, forEachTest } from './support/fixtures';
import { listen } from './support/listen';
import { leaveOrderOpen } from './support/open-order';
import { checkNow } from './support/settlement-delay';
import { startTestService } from './support/test-service';

const PROJECT = join(__dirname, '..');
const CLIENT = join(PROJECT, 'clients', 'typescript');

async function startCuttingRelay(target: string, cuts: number): Promise<{ url: string; server: Server }> {
  const { hostname, port } = new URL(target);
  let left = cuts;
  const server = createServer((caller) => {
    const service = connect(Number(port), hostname);
    caller.on('error', () => service.destroy()).pipe(service);
    service.on('error', () => caller.destroy());
    service.on('data', (response) => {
      if (left === 0) return void caller.write(response);
      left -= 1;
      caller.destroy();
      service.destroy();
    });
    service.on('close', () => caller.end());
  });
  return { url: `http://127.0.0.1:${await listen(server)}`, server };
}

describe('The TypeScript client', () => {
  // The replica loses events, and the test counts waiting requests.
  const service = forAllTests(startTestService);
  const user = forEachTest(() => service.createUser());
  afterEach(async () => {
    await service.control.resetFaults();
    await service.untilSettled();
  });
  beforeClosing(() => service.audit({ withProvider: true }));

  const clientOf = (options: Partial<ClientOptions> = {}) =>
    createClient({ baseUrl: service.baseUrl, token: user.token, ...options });
  const buy = (client: ReturnType<typeof createClient>, key?: string) =>
    client.POST('/proxies/buy', {
      body: { country: 'ru', period: 30 },
      ...(key !== undefined && { params: { header: { 'Idempotency-Key': key } } }),
    });
  const balance = async () => (await service.balanceOf(user)).available;

  it('buys once although the connection is cut in the middle of the purchase, twice', async () => {
    const relay = await startCuttingRelay(service.baseUrl, 2);
    const { data, response } = await buy(clientOf({ baseUrl: relay.url }), 'cut');
    expect(data).toMatchObject({ price_charged: '25.08', proxies: [{ country: 'ru' }] });
    expect([response.headers.get('Idempotency-Replayed'), await balance()]).toEqual(['true', '9974.92']);
    relay.server.close();
  });

  it('sends a purchase without a key once', async () => {
    const relay = await startCuttingRelay(service.baseUrl, 1);
    await expect(buy(clientOf({ baseUrl: relay.url }))).rejects.toThrow('fetch failed');
    expect((await clientOf().GET('/orders')).data?.items).toHaveLength(1);
    relay.server.close();
  });

  it('waits for the end of an order that is being confirmed', async () => {
    await leaveOrderOpen(service, user);
    await service.control.addFault({ method: 'buy', kind: 'response-lost' });
    const requested: string[] = [];
    const client = clientOf({
      fetch: async (request) => {
        requested.push(`${request.method} ${new URL(request.url).pathname}`);
        const response = await fetch(request);
        if (response.status === 503) {
          await service.control.resetFaults();
          await checkNow(service);
        }
        return response;
      },
    });
    const { data } = await buy(client, 'unknown');
    expect(data).toMatchObject({ proxies: [{ country: 'ru' }] });
    const order = data?.order_id ?? 0;
    expect(requested).toEqual(['POST /proxies/buy', `GET /orders/${order}`, 'POST /proxies/buy']);
    expect(await untilClosed(client, order)).toMatchObject({ id: order, state: 'completed' });
    // Pays for this order and the one left open earlier.
    expect(await balance()).toBe('9949.84');
  });

  it('retries after 429 and 503 once Retry-After is over, and returns final responses', async () => {
    const retry = async (first: number): Promise<void> => {
      const responses = [first, 400].map(
        (status) =>
          new Response(JSON.stringify({ detail: String(status) }), {
            status,
            headers: { 'Content-Type': 'application/json', ...(status !== 400 && { 'Retry-After': '1' }) },
          }),
      );
      const keys: (string | null)[] = [];
      const client = clientOf({
        baseUrl: 'http://127.0.0.1:1',
        fetch: async (request) => {
          keys.push(request.headers.get('Idempotency-Key'));
          return responses.shift() ?? Response.error();
        },
      });
      const startedAtMs = performance.now();
      expect([(await buy(client, 'same')).error, keys]).toEqual([{ detail: '400' }, ['same', 'same']]);
      expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(995);
    };
    await Promise.all([retry(429), retry(503)]);
  });

  it('does not repeat an order that costs more than its max_price', async () => {
    const refused = await clientOf().POST('/proxies/buy', {
      params: { header: { 'Idempotency-Key': 'too-dear' } },
      body: { country: 'ru', period: 30, max_price: '1.00' },
    });
    expect(outcomeOf(refused)).toEqual([409, { detail: 'The price is 25.08, above the max_price of 1.00' }]);
  });

  it('gives up after the time that it has, with the last failure', async () => {
    const client = clientOf({ baseUrl: 'http://127.0.0.1:1', patienceMs: 100 });
    await expect(buy(client, 'nobody')).rejects.toThrow('fetch failed');
  });

  it('asks only whether lists and exports have changed since it read them', async () => {
    const statuses: number[] = [];
    const counted = async (request: Request) => {
      const response = await fetch(request);
      statuses.push(response.status);
      return response;
    };
    const client = clientOf({ fetch: counted });
    await buy(client);
    const read = async () => [
      (await client.GET('/proxies')).data,
      (await client.GET('/proxies', { params: { query: { country: 'ru', limit: 1 } } })).data,
      (await client.GET('/proxies/lists/clash', { parseAs: 'text' })).data,
    ];
    const first = await read();
    expect(first).toMatchObject([
      [{ country: 'ru' }],
      [{ country: 'ru' }],
      expect.stringMatching(/\nproxies:\n  - /),
    ]);
    expect([await read(), statuses.splice(0)]).toEqual([first, [200, 200, 200, 200, 304, 304, 304]]);
    await buy(client);
    expect((await read())[0]).toHaveLength(2);
    expect(statuses.splice(0)).toEqual([200, 200, 200, 200]);
    // The caller handles a condition of their own.
    const { response } = await client.GET('/proxies', { params: { header: { 'If-None-Match': '*' } } });
    expect(response.status).toBe(304);
    const forgetful = clientOf({ fetch: counted, keptResponses: 0 });
    for (let n = 0; n < 2; n += 1) await forgetful.GET('/proxies');
    expect(statuses).toEqual([304, 200, 200]);
  });

  it('gives the items of all pages', async () => {
    const client = clientOf();
    for (const key of ['a', 'b', 'c']) await buy(client, key);
    const keys: (string | null)[] = [];
    const orders = itemsOf((cursor) =>
      client.GET('/orders', { params: { query: { limit: 2, ...(cursor !== undefined && { cursor }) } } }),
    );
    for await (const { idempotency_key: key } of orders) keys.push(key);
    expect(keys).toEqual(['c', 'b', 'a']);
  });

  describe('for events', () => {
    async function take(
      count: number,
      options: EventsOptions = {},
      client = clientOf(),
    ): Promise<{ types: string[]; ids: number[]; cursors: string[] }> {
      const taken = { types: [] as string[], ids: [] as number[], cursors: [] as string[] };
      const ended = new AbortController();
      const onCursor = (cursor: string) => {
        taken.cursors.push(cursor);
        if (taken.types.length >= count) ended.abort();
      };
      for await (const { id, type } of events(client, { ...options, onCursor, signal: ended.signal })) {
        taken.types.push(type);
        taken.ids.push(Number(id.replace('evt_', '')));
      }
      return taken;
    }

    it('returns them as they happen, in their order, and goes on from the stored cursor', async () => {
      const types = ['order.completed', 'proxy.withdrawn'] as const;
      const taking = take(1, { types });
      await buy(clientOf());
      const first = await taking;
      expect(first.types).toEqual(['order.completed']);
      await buy(clientOf());
      await buy(clientOf());
      const after = first.cursors.at(-1) ?? '';
      const more = await take(2, { types, after });
      expect(more.types).toEqual(['order.completed', 'order.completed']);
      const ids = [...first.ids, ...more.ids];
      expect(ids).toEqual([...new Set(ids)].toSorted((one, other) => one - other));
    });

    it('goes on after lost connections and a service that cannot respond, and misses none', async () => {
      await buy(clientOf());
      const relay = await startCuttingRelay(service.baseUrl, 1);
      let left = 1;
      const failures: unknown[] = [];
      const client = clientOf({
        baseUrl: relay.url,
        patienceMs: 1,
        fetch: async (request) => {
          if (left === 0) return fetch(request);
          left -= 1;
          return new Response('{"detail":"Service temporarily unavailable"}', { status: 503 });
        },
      });
      const onFailure = (failure: unknown) => void failures.push(failure);
      const { types } = await take(1, { types: ['order.completed'], onFailure }, client);
      expect(types).toEqual(['order.completed']);
      expect(failures.map(String)).toEqual([
        expect.stringContaining('events: 503'),
        'TypeError: fetch failed',
      ]);
      relay.server.close();
    });

    it('ends a poll that waits when its signal is aborted', async () => {
      const waits = service.app.get(EventPageReader).awaited;
      const ended = new AbortController();
      // Events of earlier purchases may be published only now.
      const options: EventsOptions = { after: 'now', types: ['proxy.withdrawn'], signal: ended.signal };
      const reading = events(clientOf(), options).next();
      await eventually(() => Promise.resolve(waits.count() === 1));
      ended.abort();
      expect(await reading).toEqual({ done: true, value: undefined });
      await eventually(() => Promise.resolve(waits.count() === 0));
    });

    it('says so when events were missed, and when the token may not read them', async () => {
      await service.owner.query(
        `INSERT INTO retention_marks (name, last_id) VALUES ('events', 5)
         ON CONFLICT (name) DO UPDATE SET last_id = 5`,
      );
      await expect(take(1, { after: 'evt_3' })).rejects.toThrow(EventsGoneError);
      await expect(take(1, { after: 'evt_3' })).rejects.toThrow('without `after`');
      const other = await service.createUser({ scopes: ['profile:read'] });
      await expect(take(1, {}, clientOf({ token: other.token }))).rejects.toThrow('events: 403');
    });
  });

  it('has the version of openapi-fetch that it is tested with', async () => {
    const [client, project] = await Promise.all(
      [CLIENT, PROJECT].map(
        async (folder) =>
          JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Record<
            'version' | 'dependencies' | 'devDependencies',
            Record<string, string>
          >,
      ),
    );
    expect(client?.dependencies).toEqual({ 'openapi-fetch': project?.devDependencies['openapi-fetch'] });
    expect(client?.version).toBe(project?.version);
  });
});
