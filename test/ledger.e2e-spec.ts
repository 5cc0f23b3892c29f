import { Money } from '../src/common';
import { LedgerService } from '../src/ledger';
import type { BalanceChangeOut, BalanceChangesPage } from '../src/ledger/balance-change.dto';
import { BalanceHistoryService } from '../src/ledger/balance-history.service';
import { forAllTests } from './support/fixtures';
import { readPages } from './support/pages';
import { createStaff, type Json } from './support/staff';
import { unauditedTestService, type TestUser } from './support/test-service';

type Change = Json<BalanceChangeOut>;
type ChangesPage = Json<BalanceChangesPage>;

const COLUMNS = [
  'seq',
  'created_at',
  'kind',
  'order_id',
  'available_before',
  'available_delta',
  'available_after',
  'held_before',
  'held_delta',
  'held_after',
  'deposit_id',
] as const satisfies readonly (keyof Change)[];
const HEAD = COLUMNS.join(',');
let user: TestUser;
const service = forAllTests(unauditedTestService);
beforeEach(async () => {
  user = await service.createUser({ balance: '1000.00' });
});

const request = (query = '', headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(`${service.baseUrl}/ledger${query}`, {
    headers: { Authorization: `Bearer ${user.token}`, ...headers },
  });

async function readPage(query = ''): Promise<ChangesPage> {
  const response = await request(query);
  expect([query, response.status]).toEqual([query, 200]);
  return (await response.json()) as ChangesPage;
}

const readAll = (query: string): Promise<readonly Change[]> =>
  readPages((cursor) => readPage(`?${query}${cursor}`));

async function readCsv(query = '/csv'): Promise<readonly Change[]> {
  const response = await request(query);
  expect([query, response.status]).toEqual([query, 200]);
  const [head, ...lines] = (await response.text()).split('\r\n');
  expect([head, lines.pop()]).toEqual([HEAD, '']);
  return lines.map((line) => {
    const cells = Object.fromEntries(line.split(',').map((cell, n) => [COLUMNS[n], cell]));
    const { seq, order_id: order } = cells as Record<string, string>;
    return {
      ...cells,
      seq: Number(seq),
      order_id: order === '' ? null : Number(order),
      deposit_id: null,
    } as Change;
  });
}

const buy = () => user.buy();

const sum = (amounts: readonly string[]): string =>
  amounts.reduce((total, amount) => total.plus(Money.parse(amount)), Money.zero).toString();

function expectToAddUp(oldestFirst: readonly Change[]): void {
  const broken = oldestFirst.filter((change, at) => {
    const before = oldestFirst[at - 1];
    const follows =
      !before ||
      (change.seq === before.seq + 1 &&
        change.available_before === before.available_after &&
        change.held_before === before.held_after);
    return (
      !follows ||
      sum([change.available_before, change.available_delta]) !== change.available_after ||
      sum([change.held_before, change.held_delta]) !== change.held_after
    );
  });
  expect(broken).toEqual([]);
}

const post = (count: number, times = 'now()') =>
  service.dataSource.query(
    `INSERT INTO ledger_entries (user_id, seq, kind, available_delta, held_delta, available_after, held_after,
                                 reason, created_at)
     SELECT user_id, seq + n, 'topup', 1, 0, available + n, held, 'test', ${times}
       FROM accounts, generate_series(1, $2::integer) AS n WHERE user_id = $1`,
    [user.id, count],
  );

describe('GET /ledger', () => {
  it('names each change in plain words, with its order, and the balance before and after it', async () => {
    const { data } = await buy();
    const order = data?.order_id ?? 0;
    await service.control.addFault({ method: 'buy', kind: 'error', errorId: 300 });
    await buy();
    const staff = await createStaff(service);
    const reason = 'Looks like fraud, but let it go';
    for (const [path, body] of [
      [`users/${user.id}/debit`, { amount: '1.00', reason, reference: 'ticket 7' }],
      [`orders/${order}/refund`, { amount: '2.00', reason }],
    ] as const) {
      const response = await staff.post(`/staff/${path}`, body, {
        'Idempotency-Key': path.replaceAll('/', '-'),
      });
      expect([path, response.status]).toEqual([path, 200]);
    }
    const response = await request();
    const text = await response.text();
    const { items, next_cursor: next } = JSON.parse(text) as ChangesPage;
    const price = data?.price_charged ?? '';
    expect(items.map(({ kind, available_delta: delta, held_delta: held }) => [kind, delta, held])).toEqual([
      ['refund', '2.00', '0.00'],
      ['debit', '-1.00', '0.00'],
      ['release', price, `-${price}`],
      ['hold', `-${price}`, price],
      ['capture', '0.00', `-${price}`],
      ['hold', `-${price}`, price],
      ['credit', '1000.00', '0.00'],
    ]);
    expect(next).toBeNull();
    expect(items.map(({ order_id: id }) => id)).toEqual([
      order,
      null,
      order + 1,
      order + 1,
      order,
      order,
      null,
    ]);
    expect(items.map((item) => Object.keys(item))).toEqual(items.map(() => [...COLUMNS]));
    expect(items.every(({ created_at: at }) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(at))).toBe(
      true,
    );
    expectToAddUp(items.toReversed());
    expect(text).not.toMatch(/fraud|ticket|test/);
    expect(response.headers.get('Vary')).toContain('Accept');
  });

  it('has pages that add up to the balance of GET /me, with purchases while they are read', async () => {
    await post(100);
    const over = new AbortController();
    const buying = Promise.all(
      Array.from({ length: 3 }, async () => {
        for (let n = 0; n < 8; n += 1) await buy();
      }),
    ).finally(() => over.abort());
    do {
      const all = await readAll('limit=7');
      expectToAddUp(all.toReversed());
      expect(all.at(-1)).toMatchObject({ seq: 1, available_before: '0.00', held_before: '0.00' });
    } while (!over.signal.aborted);
    await buying;
    await service.untilSettled();
    const all = await readAll('limit=200');
    const { data: me } = await user.api.GET('/me');
    const { held } = await service.balanceOf(user);
    expect(all).toHaveLength(1 + 100 + 2 * 24);
    expect(sum(all.map(({ available_delta: delta }) => delta))).toBe(me?.balance);
    expect([all[0]?.available_after, all[0]?.held_after]).toEqual([me?.balance, held]);
    expect(sum(all.map(({ held_delta: delta }) => delta))).toBe(held);
  });

  it('finds changes by their kind, order and time, and finds nothing where there is nothing', async () => {
    const { data } = await buy();
    await post(300, `now() - interval '1 day' * (300 - n)`);
    const { items } = await readPage('?kind=hold');
    expect(items.map(({ kind, order_id: id }) => [kind, id])).toEqual([['hold', data?.order_id]]);
    expect((await readPage(`?order_id=${data?.order_id}`)).items.map(({ kind }) => kind)).toEqual([
      'capture',
      'hold',
    ]);
    expect(await readAll('kind=credit&limit=100')).toHaveLength(301);
    for (const nothing of ['kind=debit', 'order_id=9007199254740991', 'to=2001-01-01T00:00:00Z']) {
      expect(await readPage(`?${nothing}`)).toEqual({ items: [], next_cursor: null });
    }
    const [newest] = (await readPage('?kind=credit')).items;
    expect((await readPage(`?from=${newest?.created_at}&kind=credit`)).items).toContainEqual(newest);
    expect((await readPage('?from=2100-01-01T00:00:00Z')).items).toEqual([]);
    const other = await service.createUser();
    user = other;
    expect((await readPage(`?order_id=${data?.order_id}`)).items).toEqual([]);
  });

  it('keeps to the period exactly, also where entries have waited for each other', async () => {
    const start = Date.parse('2026-03-01T00:00:00.000Z');
    // The last of each ten has the earliest time.
    await post(
      2000,
      `'2026-03-01T00:00:00Z'::timestamptz + make_interval(secs => n / 10 * 10 + (10 - n % 10))`,
    );
    const all = (await readAll('kind=credit&limit=200')).filter(({ seq }) => seq > 1);
    expect(all).toHaveLength(2000);
    for (const [from, to] of [
      [0, 3000],
      [5, 995],
      [1003, 1004],
      [1003, 1013],
      [1999, 2100],
    ] as const) {
      const [first, end] = [from, to].map((seconds) => new Date(start + seconds * 1000).toISOString());
      const inPeriod = all.filter(({ created_at: at }) => at >= (first ?? '') && at < (end ?? ''));
      expect(inPeriod).not.toEqual([]);
      expect(await readAll(`from=${first}&to=${end}&limit=100`)).toEqual(inPeriod);
      expect(await readCsv(`/csv?from=${first}&to=${end}`)).toEqual(inPeriod.toReversed());
    }
  });

  it.each([
    ['kind=topup', 'string_pattern_mismatch', 'kind'],
    ['from=2026-11-31', 'datetime_parsing', 'from'],
    ['from=2026-11-01T00:00:00', 'timezone_aware', 'from'],
    ['order_id=0', 'greater_than', 'order_id'],
    ['limit=201', 'less_than_equal', 'limit'],
    ['format=xml', 'string_pattern_mismatch', 'format'],
    ['page=2', 'extra_forbidden', 'page'],
  ])('refuses %s', async (query, type, field) => {
    const response = await request(`?${query}`);
    expect([response.status, await response.json()]).toEqual([
      422,
      { detail: [expect.objectContaining({ type, loc: ['query', field] })] },
    ]);
  });

  it('refuses a period that ends before it begins, as a page and as a file', async () => {
    for (const format of ['json', 'csv']) {
      const response = await request(`?from=2026-11-02T00:00:00Z&to=2026-11-01T00:00:00Z&format=${format}`);
      expect([response.status, await response.json()]).toMatchObject([
        400,
        { detail: 'The period must end after it begins' },
      ]);
    }
  });
});

describe('GET /ledger as CSV', () => {
  it.each([
    ['', 'text/csv', 'text/csv'],
    ['', 'text/csv;q=0.9, application/json;q=0.1', 'text/csv'],
    ['?format=csv', 'application/json', 'text/csv'],
    ['/csv', 'application/json', 'text/csv'],
    ['?format=json', 'text/csv', 'application/json'],
    ['', '*/*', 'application/json'],
    ['', 'text/html, application/pdf', 'application/json'],
  ])('is chosen by the query before the header: %s %s', async (query, accept, type) => {
    const response = await request(query, { Accept: accept });
    expect([response.status, response.headers.get('Content-Type')]).toEqual([200, `${type}; charset=utf-8`]);
    const isFile = type === 'text/csv';
    expect(response.headers.get('Content-Disposition')).toBe(
      isFile ? 'attachment; filename="ledger.csv"' : null,
    );
    await response.text();
  });

  it('has the columns of the pages, oldest first, and no cell that a spreadsheet would execute', async () => {
    await buy();
    await post(2500);
    const file = await readCsv();
    expect(file).toEqual((await readAll('limit=200')).toReversed());
    expectToAddUp(file);
    const cells = (await (await request('?format=csv')).text()).split(/\r\n|,/);
    expect(cells.filter((cell) => !/^(-?\d+(\.\d\d)?|[a-z_]*|\d{4}-[\d:.T-]+Z)$/.test(cell))).toEqual([]);
    expect(await readCsv('/csv?kind=refund')).toEqual([]);
    const excel = Buffer.from(await (await request('/csv?excel=true')).arrayBuffer())
      .toString()
      .split('\r\n');
    expect(excel).toHaveLength(file.length + 2);
    expect(excel.slice(0, 2)).toEqual([
      `\uFEFF${HEAD.replaceAll(',', ';')}`,
      expect.stringMatching(/^1;"=""[^;]*Z""";credit;;0,00;1000,00;1000,00;0,00;0,00;0,00;$/),
    ]);
  });

  it('has what there was when it began, although its customer goes on buying', async () => {
    await post(3000);
    const [last] = (await readPage('?limit=1')).items;
    const file = service.app
      .get(BalanceHistoryService)
      .writeCsv(user.id, { from: null, to: null, kind: null, order_id: null });
    let text = String((await file.next()).value);
    await buy();
    for await (const lines of file) text += lines;
    const numbers = text
      .split('\r\n')
      .slice(1, -1)
      .map((line) => Number.parseInt(line));
    expect(numbers).toEqual(Array.from({ length: last?.seq ?? 0 }, (_, n) => n + 1));
  });
});

describe('Entries that many statements post', () => {
  it('become visible in the order of their numbers, so that a cursor skips none', async () => {
    const { id } = user;
    const ledger = service.app.get(LedgerService);
    const over = new AbortController();
    const posting = Promise.all(
      Array.from({ length: 100 }, () => ledger.credit(id, Money.parse('0.01'), 'test')),
    ).finally(() => over.abort());
    const gaps: number[] = [];
    while (!over.signal.aborted) {
      const [seen] = await service.dataSource.query<{ count: number; last: number }[]>(
        'SELECT count(*) AS count, max(seq) AS last FROM ledger_entries WHERE user_id = $1',
        [id],
      );
      if (seen?.count !== seen?.last) gaps.push(seen?.last ?? 0);
    }
    await posting;
    expect(gaps).toEqual([]);
    expect((await readPage('?limit=1')).items[0]?.seq).toBe(101);
  });
});
