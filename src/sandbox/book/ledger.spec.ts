import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SaleEvent } from './book-event';
import { Ledger } from './ledger';

let directory: string;
let journal: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sandbox-ledger-'));
  journal = join(directory, 'journal.jsonl');
});

afterEach(() => rm(directory, { recursive: true }));

const DAY_S = 86_400;
const nowMs = Date.now();

function saleOf(ledger: Ledger, delivered: number, descr: string): SaleEvent {
  return {
    kind: 'sold',
    orderId: ledger.book.nextOrderId(),
    atMs: nowMs,
    descr,
    country: 'nl',
    version: '4',
    type: 'http',
    periodDays: 7,
    count: delivered,
    delivered,
    firstProxyId: ledger.book.nextProxyId(),
    priceKopecks: 2800 * delivered,
    endsAtS: Math.floor(nowMs / 1000) + 7 * DAY_S,
  };
}

async function reopened<T>(look: (ledger: Ledger) => T): Promise<T> {
  const ledger = await Ledger.openIn(directory);
  const seen = look(ledger);
  await ledger.close();
  return seen;
}

const listOf = ({ book }: Ledger, descr: string | null, page = 1, limit = 1000) =>
  book.list({ state: 'all', descr, page, limit }, nowMs);

function pictureOf(ledger: Ledger) {
  const { account, ports, balanceKopecks, clockOffsetMs, sales, prolongations, stock, prices } = ledger.book;
  const proxies = listOf(ledger, null);
  return { account, ports, balanceKopecks, clockOffsetMs, sales, prolongations, stock, prices, proxies };
}

test('what was durable is there without a clean end', async () => {
  const ledger = await Ledger.openIn(directory);
  ledger.record(saleOf(ledger, 3, 'kept'));
  await ledger.durable();

  const seen = await reopened((next) => [
    listOf(next, 'kept').length,
    next.book.balanceKopecks,
    next.book.nextOrderId(),
  ]);

  expect(seen).toEqual([3, 99_991_600, 7_400_002]);
  await ledger.close();
});

test('a last line that was cut off is dropped, and the next one does not run into it', async () => {
  const ledger = await Ledger.openIn(directory);
  ledger.record(saleOf(ledger, 1, 'whole'));
  await ledger.close();
  await appendFile(journal, '{"kind":"sold","orderId":74');

  await reopened((next) => next.record(saleOf(next, 1, 'after')));

  await expect(reopened((next) => next.book.sales.map(({ descr }) => descr))).resolves.toEqual([
    'whole',
    'after',
  ]);
});

test('a line in the middle that can’t be read is not passed over', async () => {
  await writeFile(journal, '{"kind":"clock","offsetMs":1}\nnonsense\n{"kind":"clock","offsetMs":2}\n');

  await expect(Ledger.openIn(directory)).rejects.toThrow('damaged in line 2');
});

test('those who wait at the same moment share a write', async () => {
  const ledger = await Ledger.openIn(directory);
  const waiting = Array.from({ length: 500 }, (_, index) => {
    ledger.record(saleOf(ledger, 1, `tag:${index}`));
    return ledger.durable();
  });
  await Promise.all(waiting);

  expect(new Set(waiting).size).toBe(1);
  expect((await readFile(journal, 'utf8')).split('\n')).toHaveLength(501);
  await ledger.close();
});

test('a long journal is rewritten shorter, and says the same', async () => {
  const ledger = await Ledger.openIn(directory);
  ledger.record({ kind: 'account', apiKey: 'key', secret: 'secret', userId: '1' });
  ledger.record({ kind: 'ports', http: 1, socks: 2 });
  ledger.record(saleOf(ledger, 4, 'first'));
  ledger.record(saleOf(ledger, 2, 'second'));
  const [a = 0, b = 0, c = 0, d = 0] = listOf(ledger, 'first').map(({ id }) => id);
  const endS = Math.floor(nowMs / 1000) + 7 * DAY_S;
  ledger.record({
    kind: 'prolonged',
    orderId: ledger.book.nextOrderId(),
    atMs: nowMs,
    periodDays: 7,
    priceKopecks: 5600,
    proxies: [a, b].map((id) => ({ id, fromS: endS, toS: endS + 7 * DAY_S, priceKopecks: 2800 })),
  });
  ledger.record({ kind: 'described', ids: [a], descr: 'second' });
  ledger.record({ kind: 'dated', id: b, endsAtS: endS + 5 });
  ledger.record({ kind: 'deleted', ids: [c], atMs: nowMs });
  ledger.record({ kind: 'retyped', ids: [d], type: 'socks' });
  ledger.record({ kind: 'moved', id: d, host: '127.0.0.9', port: 99 });
  ledger.record({ kind: 'price', version: '6', periodDays: 3, kopecks: null });
  for (let available = 6000; available >= 0; available -= 1) {
    ledger.record({ kind: 'stock', version: '4', country: 'nl', available });
  }
  ledger.record({ kind: 'balance', kopecks: 123 });
  ledger.record({ kind: 'clock', offsetMs: 456 });
  await ledger.close();
  const before = pictureOf(ledger);

  await expect(reopened(pictureOf)).resolves.toEqual(before);
  expect((await readFile(journal, 'utf8')).split('\n').length).toBeLessThan(200);
  await expect(reopened((next) => listOf(next, 'second').map(({ id }) => id))).resolves.toEqual([
    a,
    d + 1,
    d + 2,
  ]);
});

test('ten thousand sales of a thousand proxies are found by tag and by id at once', async () => {
  const ledger = await Ledger.openIn(undefined);
  for (let order = 0; order < 10_000; order += 1) ledger.record(saleOf(ledger, 1000, `tag:${order}`));
  const startedAt = performance.now();

  const [first] = listOf(ledger, 'tag:9998');
  const page = listOf(ledger, null, 9999, 1000);

  expect(page[0]).toEqual(first);
  expect(ledger.book.findProxy(first?.id ?? 0, nowMs)).toEqual(first);
  expect(performance.now() - startedAt).toBeLessThan(500);
});
