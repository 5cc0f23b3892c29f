import { Money } from '../src/common';
import { LedgerService } from '../src/ledger';
import type * as dto from '../src/staff/balances/staff-balances.dto';
import { refusalsOf, withFullDisk } from './support/audit-log';
import { forAllTests, forEachTest } from './support/fixtures';
import { readPages } from './support/pages';
import { createStaff, type Json } from './support/staff';
import { sharedTestService } from './support/test-service';

type LedgerPage = Json<dto.LedgerPage>;

const OWN_ACCOUNT = { detail: 'Staff cannot do this for their own account: ask a colleague' };
const service = forAllTests(sharedTestService);
const staff = forAllTests(() => createStaff(service));
const user = forEachTest(() => service.createUser({ balance: '0.00' }));
let keys = 0;
const post = (
  direction: 'credit' | 'debit',
  body: object,
  key: string | null = `posting-${(keys += 1)}`,
  by = staff,
) =>
  by.post<Json<dto.PostingOut> & { detail?: unknown }>(
    `/staff/users/${user.id}/${direction}`,
    { reason: 'test', ...body },
    key === null ? {} : { 'Idempotency-Key': key },
  );
const entriesOf = async () => (await staff.get<LedgerPage>(`/staff/users/${user.id}/ledger`)).body.items;
const linesOf = (action: string) =>
  service.dataSource.query<Record<string, unknown>[]>(
    `SELECT reason, before, after, idempotency_key FROM audit_log
       WHERE action = $1 AND target_id = $2 AND refusal IS NULL ORDER BY id`,
    [action, String(user.id)],
  );

describe('Credit and debit', () => {
  it('change a balance by an entry with its reason, reference and audit record', async () => {
    const key = `first-${user.id}`;
    const posting = { amount: '500', reason: 'Bank transfer', reference: 'invoice 7' };
    const credited = await post('credit', posting, key);
    expect([credited.status, credited.body]).toEqual([
      200,
      {
        id: expect.any(Number),
        user_id: user.id,
        kind: 'topup',
        amount: '500.00',
        reason: 'Bank transfer',
        reference: 'invoice 7',
        balance: '500.00',
        held: '0.00',
        created_at: expect.any(String),
        replayed: false,
      },
    ]);
    expect((await post('debit', { amount: 499.99, reason: 'Twice' })).body).toMatchObject({
      kind: 'adjustment',
      amount: '-499.99',
      balance: '0.01',
      reference: null,
    });
    expect(await service.balanceOf(user)).toEqual({ available: '0.01', held: '0.00' });
    expect(await linesOf('balance.credit')).toEqual([
      {
        reason: 'Bank transfer',
        before: { balance: '0.00', held: '0.00' },
        after: { balance: '500.00', held: '0.00' },
        idempotency_key: key,
      },
    ]);
    expect(await linesOf('balance.debit')).toMatchObject([
      { before: { balance: '500.00' }, after: { balance: '0.01' } },
    ]);
    await service.audit();
  });

  it('take no more than the balance; a refusal makes no entry, and is recorded', async () => {
    await post('credit', { amount: '1.00' });
    const { status, body } = await post('debit', { amount: '1.01' });
    expect([status, body]).toMatchObject([400, { detail: 'Insufficient balance' }]);
    expect((await post('credit', { amount: '100000000.01' })).status).toBe(400);
    expect(await linesOf('balance.debit')).toEqual([]);
    expect(await refusalsOf(service, 'balance.debit', user.id)).toEqual(['Insufficient balance']);
    expect(await entriesOf()).toHaveLength(1);
    const request = { amount: '1', reason: 'test' };
    const unknown = await staff.post('/staff/users/999999/credit', request, { 'Idempotency-Key': 'nobody' });
    expect([unknown.status, unknown.body]).toMatchObject([404, { detail: 'User not found' }]);
    expect(await refusalsOf(service, 'balance.credit', 999_999)).toEqual(['User not found']);
  });

  it.each(['credit', 'debit'] as const)(
    'are not made of their own balance by staff: %s',
    async (direction) => {
      const { id } = staff;
      await service.app.get(LedgerService).credit(id, Money.parse('10.00'), 'test');
      const { available } = await service.balanceOf({ id });
      const response = await staff.post(
        `/staff/users/${id}/${direction}`,
        { amount: '5.00', reason: 'test' },
        { 'Idempotency-Key': `own-${direction}` },
      );
      expect([response.status, response.body]).toMatchObject([403, OWN_ACCOUNT]);
      expect(await service.balanceOf({ id })).toMatchObject({ available });
      expect(await refusalsOf(service, `balance.${direction}`, id)).toEqual([OWN_ACCOUNT.detail]);
    },
  );

  it.each(['credit', 'debit'] as const)(
    'require an Idempotency-Key, as a refund does: %s',
    async (direction) => {
      await post('credit', { amount: '10.00' });
      const { status, body } = await post(direction, { amount: '5.00' }, null);
      expect([status, body.detail]).toEqual([
        422,
        [{ type: 'missing', loc: ['header', 'Idempotency-Key'], msg: 'Field required', input: null }],
      ]);
      expect(await entriesOf()).toHaveLength(1);
    },
  );

  it('are refused with a reason when no balance can be as large', async () => {
    await service.dataSource.query(
      `INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta)
       VALUES ($1, 'topup', 999999999999, 0)`,
      [user.id],
    );
    const { status, body } = await post('credit', { amount: '1.00' });
    expect([status, body.detail]).toEqual([409, 'The balance would exceed the maximum']);
    expect((await post('credit', { amount: '0.99' })).status).toBe(200);
  });

  it('never take a balance below zero, even concurrently', async () => {
    await post('credit', { amount: '10.00' });
    const responses = await Promise.all(Array.from({ length: 12 }, () => post('debit', { amount: '3.00' })));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(3);
    expect(await service.balanceOf(user)).toMatchObject({ available: '1.00' });
    expect(await linesOf('balance.debit')).toHaveLength(3);
    await service.audit();
  });

  it('are not made when the audit log cannot be written', async () => {
    await withFullDisk(service, ['balance.credit'], async () => {
      expect((await post('credit', { amount: '1.00' })).status).toBe(500);
    });
    expect(await service.balanceOf(user)).toMatchObject({ available: '0.00' });
  });

  it.each([
    [{ amount: '0' }, 'greater_than', 'amount'],
    [{ amount: '1.001' }, 'decimal_max_places', 'amount'],
    [{ amount: 'NaN' }, 'decimal_parsing', 'amount'],
    [{}, 'missing', 'amount'],
    [{ amount: '1', reason: '' }, 'string_too_short', 'reason'],
    [{ amount: '1', reason: ' ' }, 'string_pattern_mismatch', 'reason'],
  ])('are refused for %j', async (body, type, field) => {
    const response = await post('credit', body);
    expect(response.status).toBe(422);
    expect(response.body.detail).toEqual([expect.objectContaining({ type, loc: ['body', field] })]);
  });
});

describe('With an Idempotency-Key a credit', () => {
  it('is executed once, even by concurrent requests, with the same response', async () => {
    const responses = await Promise.all(
      Array.from({ length: 8 }, () => post('credit', { amount: '5.00' }, `once-${user.id}`)),
    );
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
    expect(new Set(responses.map(({ body }) => JSON.stringify({ ...body, replayed: null }))).size).toBe(1);
    const replays = responses.filter(({ headers }) => headers.get('Idempotency-Replayed') === 'true');
    expect(replays).toHaveLength(7);
    expect(responses.filter(({ body }) => body.replayed)).toEqual(replays);
    expect(await service.balanceOf(user)).toMatchObject({ available: '5.00' });
    // Each request is recorded, but only one changed something.
    const lines = await linesOf('balance.credit');
    expect(lines).toHaveLength(8);
    expect(lines.filter(({ after }) => after !== null)).toHaveLength(1);
    await service.audit();
  });

  it('is refused when the key was used with another request or is malformed', async () => {
    const key = `other-${user.id}`;
    await post('credit', { amount: '5.00' }, key);
    for (const [direction, body] of [
      ['credit', { amount: '5.01' }],
      ['credit', { amount: '5.00', reference: 'x' }],
      ['debit', { amount: '5.00' }],
    ] as const) {
      const response = await post(direction, body, key);
      expect([response.status, response.body.detail]).toEqual([
        422,
        [expect.objectContaining({ type: 'idempotency_key_reused' })],
      ]);
    }
    expect((await post('credit', { amount: '5' }, key)).headers.get('Idempotency-Replayed')).toBe('true');
    expect((await post('credit', { amount: '5.00' }, 'two words')).body.detail).toEqual([
      expect.objectContaining({ type: 'idempotency_key_invalid' }),
    ]);
    expect(await service.balanceOf(user)).toMatchObject({ available: '5.00' });
  });

  it('does not share its key with colleagues, and can use it again after a refusal', async () => {
    const key = `shared-${user.id}`;
    expect((await post('debit', { amount: '5.00' }, key)).status).toBe(400);
    expect((await post('credit', { amount: '5.00' }, key)).status).toBe(200);
    expect((await post('credit', { amount: '5.00' }, key, await createStaff(service))).status).toBe(200);
    expect(await service.balanceOf(user)).toMatchObject({ available: '10.00' });
  });
});

describe('The ledger of a user', () => {
  it('shows what caused every change, and the balance after it', async () => {
    await post('credit', { amount: '100.00', reason: 'Bank transfer', reference: 'invoice 8' });
    const { data } = await user.buy();
    const entries = await entriesOf();
    expect(entries.map(({ kind, seq }) => [seq, kind])).toEqual([
      [3, 'capture'],
      [2, 'hold'],
      [1, 'topup'],
    ]);
    for (const entry of entries.slice(0, 2)) {
      expect(entry).toMatchObject({
        order: { id: data?.order_id, kind: 'purchase', state: 'completed' },
        action: null,
      });
    }
    expect(entries[2]).toMatchObject({
      order: null,
      action: { id: expect.any(Number), via: 'api', user_id: staff.id },
      reason: 'Bank transfer',
      reference: 'invoice 8',
      available_delta: '100.00',
      available_after: '100.00',
    });
    expect(entries[0]?.available_after).toBe((await service.balanceOf(user)).available);
  });

  it('is paged from the newest to the oldest', async () => {
    for (let n = 1; n <= 5; n += 1) await post('credit', { amount: String(n) });
    const ledger = `/staff/users/${user.id}/ledger?limit=2`;
    const seen = await readPages(async (cursor) => (await staff.get<LedgerPage>(ledger + cursor)).body);
    expect(seen.map(({ seq }) => seq)).toEqual([5, 4, 3, 2, 1]);
    expect((await staff.get('/staff/users/999999/ledger')).status).toBe(404);
  });
});

describe('A statement', () => {
  const statement = (from: string, to: string, more = '') =>
    staff.get<string>(
      `/staff/users/${user.id}/statement?${String(new URLSearchParams({ from, to }))}${more}`,
    );

  it('has the entries of its period as CSV that is safe to open in a spreadsheet', async () => {
    await post('credit', { amount: '10', reason: 'says "hello", twice', reference: 'a;=1+1' });
    await post('debit', { amount: '4' });
    const { headers, body } = await statement('2020-01-01T00:00:00Z', '2100-01-01T00:00:00Z');
    expect(headers.get('Content-Type')).toBe('text/csv; charset=utf-8');
    expect(headers.get('Content-Disposition')).toBe(`attachment; filename="statement-${user.id}.csv"`);
    const [head, ...lines] = body.split('\r\n');
    expect(head).toBe(
      'seq,created_at,kind,available_delta,held_delta,available_after,held_after,order_id,reference,reason',
    );
    expect(lines).toEqual([
      expect.stringMatching(
        /^1,\d{4}-.*Z,topup,10\.00,0\.00,10\.00,0\.00,,a;'=1\+1,"says ""hello"", twice"$/,
      ),
      expect.stringMatching(/^2,\d{4}-.*Z,adjustment,-4\.00,0\.00,6\.00,0\.00,,,test$/),
      '',
    ]);
    expect((await statement('2020-01-01T00:00:00Z', '2020-02-01T00:00:00Z')).body).toBe(`${head}\r\n`);
    expect(
      (await staff.get('/staff/users/999999/statement?from=2020-01-01T00:00:00Z&to=2020-01-01T00:00:00Z'))
        .status,
    ).toBe(404);
    const excel = (await statement('2020-01-01T00:00:00Z', '2100-01-01T00:00:00Z', '&excel=true')).body;
    expect(excel.split('\r\n').slice(0, 2)).toEqual([
      head?.replaceAll(',', ';'),
      expect.stringMatching(
        /^1;"=""\d{4}-.*Z""";topup;10,00;0,00;10,00;0,00;;"=""a;'=1\+1""";"=""says """"hello"""", twice"""$/,
      ),
    ]);
    expect((await statement('2020-01-01', '2020-02-01T00:00:00')).status).toBe(422);
  });

  it('has each entry once, even when there are many of the same time', async () => {
    await service.dataSource.query(
      `INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta, reason)
       SELECT $1, 'topup', 1, 0, 'test' FROM generate_series(1, 2500)`,
      [user.id],
    );
    const numbers = (await statement('2020-01-01T00:00:00Z', '2100-01-01T00:00:00Z')).body
      .trimEnd()
      .split('\r\n')
      .slice(1)
      .map((line) => Number(line.split(',')[0]));
    expect(numbers).toEqual(Array.from({ length: 2500 }, (_, n) => n + 1));
  });

  it('runs in the order of the entries, also when one waited while others were made', async () => {
    await post('credit', { amount: '10', reason: 'test' });
    await service.owner.transaction(async (slow) => {
      // An entry's time is the begin of its transaction.
      await slow.query('SELECT now()');
      await post('credit', { amount: '5', reason: 'test' });
      await slow.query(
        `INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta, reason)
         VALUES ($1, 'adjustment', -4, 0, 'test')`,
        [user.id],
      );
    });
    const { body } = await statement('2020-01-01T00:00:00Z', '2100-01-01T00:00:00Z');
    const lines = body.trimEnd().split('\r\n').slice(1);
    expect(lines.map((line) => line.split(',')[0])).toEqual(['1', '2', '3']);
    expect(lines.map((line) => line.split(',')[5])).toEqual(['10.00', '15.00', '11.00']);
  });
});
