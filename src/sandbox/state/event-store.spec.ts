import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEFAULT_DIALECT } from '../dialect';
import { EventStore } from './event-store';
import type { SaleEvent } from './state-event';

let directory: string;
let journal: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sandbox-state-'));
  journal = join(directory, 'journal.jsonl');
});

afterEach(() => rm(directory, { recursive: true }));

const DAY_S = 86_400;
const nowMs = Date.now();

function saleOf(store: EventStore, delivered: number, descr: string): SaleEvent {
  return {
    kind: 'sold',
    orderId: store.state.nextOrderId(),
    atMs: nowMs,
    descr,
    country: 'nl',
    version: '4',
    type: 'http',
    periodDays: 7,
    count: delivered,
    delivered,
    firstProxyId: store.state.nextProxyId(),
    priceKopecks: 2800 * delivered,
    endsAtS: Math.floor(nowMs / 1000) + 7 * DAY_S,
  };
}

async function reopened<T>(read: (store: EventStore) => T): Promise<T> {
  const store = await EventStore.openIn(directory);
  const seen = read(store);
  await store.close();
  return seen;
}

const listOf = ({ state }: EventStore, descr: string | null, page = 1, limit = 1000) =>
  state.list({ state: 'all', descr, page, limit }, DEFAULT_DIALECT);

function snapshotOf(store: EventStore) {
  const { account, ports, balanceKopecks, clockOffsetMs, sales, prolongations, stock, prices } = store.state;
  const proxies = listOf(store, null);
  return { account, ports, balanceKopecks, clockOffsetMs, sales, prolongations, stock, prices, proxies };
}

test('durable events survive an unclean exit', async () => {
  const store = await EventStore.openIn(directory);
  store.record(saleOf(store, 3, 'kept'));
  await store.durable();

  const seen = await reopened((next) => [
    listOf(next, 'kept').length,
    next.state.balanceKopecks,
    next.state.nextOrderId(),
  ]);

  expect(seen).toEqual([3, 99_991_600, 7_400_002]);
  await store.close();
});

test('an incomplete last line is dropped, and the next line is not appended to it', async () => {
  const store = await EventStore.openIn(directory);
  store.record(saleOf(store, 1, 'whole'));
  await store.close();
  await appendFile(journal, '{"kind":"sold","orderId":74');

  await reopened((next) => next.record(saleOf(next, 1, 'after')));

  await expect(reopened((next) => next.state.sales.map(({ descr }) => descr))).resolves.toEqual([
    'whole',
    'after',
  ]);
});

test('an unreadable line in the middle is an error', async () => {
  await writeFile(journal, '{"kind":"clock","offsetMs":1}\nnonsense\n{"kind":"clock","offsetMs":2}\n');

  await expect(EventStore.openIn(directory)).rejects.toThrow('damaged in line 2');
});

test('concurrent callers share one write', async () => {
  const store = await EventStore.openIn(directory);
  const waiting = Array.from({ length: 500 }, (_, index) => {
    store.record(saleOf(store, 1, `tag:${index}`));
    return store.durable();
  });
  await Promise.all(waiting);

  expect(new Set(waiting).size).toBe(1);
  expect((await readFile(journal, 'utf8')).split('\n')).toHaveLength(501);
  await store.close();
});

test('every kind of event is read again as it was written', async () => {
  const store = await EventStore.openIn(directory);
  store.record({ kind: 'account', apiKey: 'key', secret: 'secret', userId: '1' });
  store.record({ kind: 'ports', http: 1, socks: 2 });
  store.record(saleOf(store, 4, 'first'));
  store.record(saleOf(store, 2, 'second'));
  const [a = 0, b = 0, c = 0, d = 0] = listOf(store, 'first').map(({ id }) => id);
  const endS = Math.floor(nowMs / 1000) + 7 * DAY_S;
  store.record({
    kind: 'prolonged',
    orderId: store.state.nextOrderId(),
    atMs: nowMs,
    periodDays: 7,
    priceKopecks: 5600,
    proxies: [a, b].map((id) => ({ id, fromS: endS, toS: endS + 7 * DAY_S, priceKopecks: 2800 })),
  });
  store.record({ kind: 'described', ids: [a], descr: 'second' });
  store.record({ kind: 'dated', id: b, endsAtS: endS + 5 });
  store.record({ kind: 'deleted', ids: [c], atMs: nowMs });
  store.record({ kind: 'retyped', ids: [d], type: 'socks' });
  store.record({ kind: 'moved', id: d, host: '127.0.0.9', port: 99 });
  store.record({ kind: 'price', version: '6', periodDays: 3, kopecks: null });
  store.record({ kind: 'stock', version: '4', country: 'nl', available: 0 });
  store.record({ kind: 'balance', kopecks: 123 });
  store.record({ kind: 'clock', offsetMs: 456 });
  await store.close();
  const before = snapshotOf(store);

  await expect(reopened(snapshotOf)).resolves.toEqual(before);
  await expect(reopened((next) => listOf(next, 'second').map(({ id }) => id))).resolves.toEqual([
    a,
    d + 1,
    d + 2,
  ]);
});

test('ten thousand sales of a thousand proxies are found quickly by tag and by id', async () => {
  const store = await EventStore.openIn(undefined);
  for (let order = 0; order < 10_000; order += 1) store.record(saleOf(store, 1000, `tag:${order}`));
  const before = process.cpuUsage();

  const [first] = listOf(store, 'tag:9998');
  const page = listOf(store, null, 9999, 1000);

  expect(page[0]).toEqual(first);
  expect(store.state.findProxy(first?.id ?? 0)).toEqual(first);
  expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
});
