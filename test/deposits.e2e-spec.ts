import { randomUUID } from 'node:crypto';
import { ALL_PAYMENT_SCOPES, ALL_SCOPES, TokensService } from '../src/auth';
import { Money } from '../src/common';
import { AppConfig } from '../src/config';
import { queryRows } from '../src/database';
import { LedgerService } from '../src/ledger';
import { Metrics, METRIC_PREFIX } from '../src/metrics';
import { PaymentProvider, WAITING_PAYMENTS } from '../src/payments';
import { PaymentSync } from '../src/payments/deposits/payment-sync';
import { DepositRecords } from '../src/payments/records/deposit-records';
import { PaymentsSandbox } from '../src/sandbox';
import { connectAgent } from './support/agent';
import { fetchAs } from './support/api-client';
import { eventually } from './support/built-service';
import { beforeClosing, forAllTests, forEachTest } from './support/fixtures';
import { captureLog } from './support/log-capture';
import { withReplica } from './support/replica';
import { createStaff, type StaffResponse, staffWith } from './support/staff';
import { lockRow, untilWaiting } from './support/table-lock';
import { startTestService, type TestUser } from './support/test-service';

// Unlike the shared service, this one accepts payments.

interface Deposit {
  readonly id: number;
  readonly state: string;
  readonly amount: string;
  readonly payment_url: string | null;
  readonly refunded: string;
}

type SandboxPayment = ReturnType<PaymentsSandbox['shop']['payment']>;

const payments = forAllTests(() => PaymentsSandbox.start());
const log = forAllTests(captureLog, (capture) => capture.stop());
const service = forAllTests(() =>
  startTestService({
    payments,
    environment: { YOOKASSA_RECEIPT: 'shop@example.com:4', LOG_LEVEL: 'info', METRICS_PORT: '0' },
    jobIntervalsMs: { 'read-deposits': 200, 'deposit-refunds': 200 },
  }),
);
beforeClosing(() => service.audit());
const createUser = () =>
  service.createUser({ balance: '0.00', scopes: [...ALL_SCOPES, ...ALL_PAYMENT_SCOPES] });
const customer = forEachTest(createUser);
afterEach(async () => {
  payments.resetFaults();
  restartWith({});
  // Hides these payments from the checks and comparisons of later tests.
  await service.dataSource.query('UPDATE deposits SET next_read_at = NULL WHERE next_read_at IS NOT NULL');
  for (const payment of payments.shop.payments.values()) {
    Object.assign(payment, { created_at: LONG_AGO, ...(payment.captured_at && { captured_at: LONG_AGO }) });
  }
  for (const refund of payments.shop.refunds.values()) Object.assign(refund, { created_at: LONG_AGO });
});

const hoursAgo = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString();

/** Earlier than any time that a comparison lists. */
const LONG_AGO = hoursAgo(12);
let keys = 0;

async function call<Body>(
  path: string,
  {
    of = customer,
    at = service,
    body,
    headers,
  }: {
    of?: TestUser;
    at?: { readonly baseUrl: string };
    body?: object;
    headers?: Record<string, string>;
  } = {},
): Promise<StaffResponse<Body>> {
  const response = await fetchAs(of, body ? 'POST' : 'GET', at.baseUrl + path, body, headers);
  return { status: response.status, headers: response.headers, body: (await response.json()) as Body };
}

const deposit = (
  amount: unknown,
  key = `key-${(keys += 1)}`,
  at: { readonly baseUrl: string } = service,
): Promise<StaffResponse<Deposit>> =>
  call<Deposit>('/deposits', { at, body: { amount }, headers: { 'Idempotency-Key': key } });

/** No check claims another provider's deposits. */
const addPending = (count: number) =>
  service.owner.query(
    `INSERT INTO deposits (user_id, provider, amount, idempotency_key, request_hash, expires_at)
     SELECT $1, 'other', 100, 'pending-' || n, '', now() + interval '1 hour'
       FROM generate_series(1, $2) AS n`,
    [customer.id, count],
  );

const read = async (id: number, query = ''): Promise<Deposit> =>
  (await call<Deposit>(`/deposits/${id}${query}`)).body;

const paymentOf = ({ payment_url: url }: Deposit): string => url?.split('/').at(-1) ?? '';

const untilState = (id: number, state: string) =>
  eventually(async () => (await read(id, '?wait=10')).state === state);

const checkNow = () =>
  service.dataSource.query(`UPDATE deposits SET next_read_at = now() WHERE next_read_at IS NOT NULL`);

/** Leaves the deposits' outcomes to the comparison. */
const letBe = () =>
  service.dataSource.query('UPDATE deposits SET next_read_at = NULL WHERE user_id = $1', [customer.id]);

const available = async () => (await service.balanceOf(customer)).available;

async function counted(series: string): Promise<number> {
  const text = await service.app.get(Metrics).render();
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${METRIC_PREFIX}${series} `))
      ?.split(' ')[1],
  );
}

/** Changes the receipt settings, as a restart would. */
function restartWith(settings: object): void {
  const config = service.app.get<AppConfig>(AppConfig);
  const changed = { ...config, payments: { ...config.payments, ...settings } };
  Object.assign(service.app.get(PaymentProvider, { strict: false }), { config: changed });
}

const payLate = (payment: SandboxPayment) =>
  Object.assign(payment, { status: 'succeeded', captured_at: new Date().toISOString() });

const lastPayment = (): SandboxPayment => [...payments.shop.payments.values()].at(-1) as SandboxPayment;

describe('A deposit', () => {
  it('is paid on the page of the provider, and credited after its notification', async () => {
    const { status, body } = await deposit('1000.00');
    expect([status, body]).toEqual([
      201,
      {
        id: expect.any(Number),
        state: 'pending',
        amount: '1000.00',
        currency: 'RUB',
        payment_url: expect.stringContaining('/pay/'),
        refunded: '0.00',
        receipt_email: null,
        created_at: expect.any(String),
        expires_at: expect.any(String),
        closed_at: null,
      },
    ]);
    const page = await fetch(body.payment_url ?? '');
    expect(await page.text()).toContain('1000.00 RUB');
    const waiting = read(body.id, '?wait=30');
    // No check is due, so only the notification can have the payment read.
    await service.dataSource.query(`UPDATE deposits SET next_read_at = now() + interval '1 hour'
                                     WHERE next_read_at IS NOT NULL`);
    await fetch(`${body.payment_url}/pay`, { method: 'POST' });
    expect(await waiting).toMatchObject({ state: 'succeeded', payment_url: null });
    expect(await available()).toBe('1000.00');
    const known = 'payment_notifications_total{outcome="known"}';
    await eventually(async () => (await counted(known)) > 0);
  });

  it('is shown in the ledger and in events', async () => {
    const { body } = await deposit(250);
    payments.pay(paymentOf(body));
    await untilState(body.id, 'succeeded');
    expect((await call<{ items: object[] }>('/ledger')).body.items).toEqual([
      expect.objectContaining({ kind: 'credit', available_delta: '250.00', deposit_id: body.id }),
    ]);
    expect((await call<{ items: object[] }>('/events?wait=5&type=deposit.succeeded')).body.items).toEqual([
      expect.objectContaining({ data: { deposit_id: body.id, state: 'succeeded', amount: '250.00' } }),
    ]);
    const csv = await fetchAs(customer, 'GET', `${service.baseUrl}/ledger/csv`);
    expect(await csv.text()).toMatch(new RegExp(`,deposit_id\r\n.*,${body.id}\r\n$`));
  });

  it('is one for each key, however often the request is sent', async () => {
    const responses = await Promise.all(Array.from({ length: 4 }, () => deposit('300', 'same')));
    expect(new Set(responses.map(({ body }) => body.id)).size).toBe(1);
    const again = await deposit('300.00', 'same');
    expect([again.headers.get('Idempotency-Replayed'), again.body]).toEqual(['true', responses[0]?.body]);
    expect((await deposit('301', 'same')).status).toBe(422);
  });

  it('has bounds, needs a key, and is one of a few that are pending', async () => {
    expect(await deposit('99.99')).toMatchObject({
      status: 400,
      body: { detail: 'The amount must be from 100.00 to 100000.00' },
    });
    expect((await deposit('100000.01')).status).toBe(400);
    expect((await call('/deposits', { body: { amount: '500' } })).status).toBe(422);
    await addPending(19);
    expect([(await deposit('100')).status, (await deposit('100')).status]).toEqual([201, 429]);
    await service.owner.query(`DELETE FROM deposits WHERE provider = 'other'`);
  });

  it('is one of a few that are pending, even when two replicas create one at the same moment', async () => {
    await addPending(19);
    await withReplica(service, {}, async (replica) => {
      const lock = await lockRow(service.owner, `SELECT FROM users WHERE id = ${customer.id} FOR UPDATE`);
      const created = [service, replica].map((at) => deposit('100', `at-${at.baseUrl}`, at));
      await untilWaiting(service.owner, '', 2);
      await lock.release();
      const statuses = (await Promise.all(created)).map(({ status }) => status);
      expect(statuses.sort((a, b) => a - b)).toEqual([201, 429]);
    });
    await service.owner.query(`DELETE FROM deposits WHERE provider = 'other'`);
  });

  it('is found by its key after the bounds changed; a refused request uses no key', async () => {
    await withReplica(service, { payments: { min: '200.00' } }, async (stricter) => {
      const { body } = await deposit('100', 'old-bounds');
      expect(await deposit('100', 'old-bounds', stricter)).toMatchObject({ status: 201, body });
      expect((await deposit('100', 'new-bounds', stricter)).status).toBe(400);
      expect((await deposit('150', 'new-bounds')).status).toBe(201);
    });
  });

  it('is found by its customer alone', async () => {
    const { body } = await deposit('100');
    const other = await createUser();
    for (const path of [`/deposits/${body.id}`, '/deposits/0', '/deposits/x']) {
      expect((await call(path, { of: other })).status).toBe(404);
    }
    expect((await call<{ items: Deposit[] }>('/deposits', { of: other })).body.items).toEqual([]);
    const own = await call<{ items: Deposit[] }>('/deposits?limit=1');
    expect(own.body.items.map(({ id }) => id)).toEqual([body.id]);
  });

  it('is canceled or expires as the provider shows', async () => {
    const [canceled, expired] = await Promise.all([deposit('100'), deposit('100')]);
    payments.cancel(paymentOf(canceled.body));
    payments.cancel(paymentOf(expired.body), 'expired_on_confirmation');
    await untilState(canceled.body.id, 'canceled');
    await untilState(expired.body.id, 'expired');
  });

  it('whose payment was never seen expires when a comparison had two hours to find it', async () => {
    // No check claims another provider's deposit.
    const [{ id }] = await service.owner.query(
      `INSERT INTO deposits (user_id, provider, amount, idempotency_key, request_hash, expires_at)
       VALUES ($1, 'other', 100, 'unseen', '', now()) RETURNING id`,
      [customer.id],
    );
    const stateAfter = async (minutes: number): Promise<string> => {
      await service.dataSource.query(
        `INSERT INTO payment_comparisons (provider, compared_to)
         SELECT provider, created_at + make_interval(mins => $2) FROM deposits WHERE id = $1
         ON CONFLICT (provider) DO UPDATE SET compared_to = excluded.compared_to`,
        [id, minutes],
      );
      await service.app.get(DepositRecords).expireUnseen(id);
      return (await read(id)).state;
    };
    expect([await stateAfter(119), await stateAfter(121)]).toEqual(['pending', 'expired']);
    await service.owner.query(`DELETE FROM payment_comparisons WHERE provider = 'other'`);
  });
});

describe('Without its notification', () => {
  it('a payment is found by the checks', async () => {
    payments.notifier.goWrong({ lost: true });
    const { body } = await deposit('100');
    payments.pay(paymentOf(body));
    await checkNow();
    await untilState(body.id, 'succeeded');
  });

  it.each(['lost', '500-done'] as const)(
    'and when the creation was done and its response %s, a retry gives the same payment',
    async (fault) => {
      payments.fail('create', fault);
      expect(await deposit('100', `lost-${fault}`)).toMatchObject({ status: 503 });
      const again = await deposit('100', `lost-${fault}`);
      expect(again.status).toBe(201);
      const { id } = again.body;
      const mine = [...payments.shop.payments.values()].filter(
        (one) => one.metadata['deposit_id'] === String(id),
      );
      expect(mine).toHaveLength(1);
    },
  );

  it('of its creation, a retry after a restart with another return URL gives the same payment', async () => {
    payments.fail('create', 'lost');
    expect(await deposit('100', 'restarted')).toMatchObject({ status: 503 });
    const created = payments.shop.payments.size;
    Object.assign(service.app.get(PaymentSync), { returnUrl: 'https://other.example/paid' });
    restartWith({ register: { mode: 'full_payment', subject: 'service' } });
    expect(await deposit('100', 'restarted')).toMatchObject({ status: 201, body: { state: 'pending' } });
    expect(payments.shop.payments.size).toBe(created);
  });

  it('and the response to its creation, it is found by the comparison', async () => {
    payments.notifier.goWrong({ lost: true });
    payments.fail('create', 'lost');
    await deposit('100');
    await letBe();
    payments.pay(lastPayment().id);
    expect(await service.runJob('compare-payments')).toMatchObject({ credited: 1, unmatched: 0 });
    expect(await service.runJob('compare-payments')).toMatchObject({ credited: 0, unmatched: 0 });
    expect(await available()).toBe('100.00');
  });

  it('and that response, it is found after the clock of the database was set back', async () => {
    payments.notifier.goWrong({ lost: true });
    payments.fail('create', 'lost');
    await deposit('100');
    await letBe();
    payments.pay(lastPayment().id);
    await service.dataSource.query(`UPDATE payment_comparisons SET compared_to = now() + interval '1 day'`);
    expect(await service.runJob('compare-payments')).toMatchObject({ credited: 1 });
    const [last] = await service.dataSource.query<{ isPast: boolean }[]>(
      'SELECT compared_to <= now() AS "isPast" FROM payment_comparisons',
    );
    expect(last).toEqual({ isPast: true });
  });

  it('a payment of a deposit that a restore has forgotten is credited once to its customer', async () => {
    payments.notifier.goWrong({ lost: true });
    const { body } = await deposit('700', 'before-the-restore');
    payments.pay(paymentOf(body));
    await service.owner.query('DELETE FROM deposits WHERE id = $1', [body.id]);
    expect(await service.runJob('compare-payments')).toMatchObject({ credited: 1 });
    expect(await service.runJob('compare-payments')).toMatchObject({ credited: 0 });
    expect(await available()).toBe('700.00');
    expect(await deposit('700', 'before-the-restore')).toMatchObject({
      status: 201,
      body: { state: 'succeeded' },
    });
  });
});

it('A deposit whose creation was lost sends its key no more after 23 hours', async () => {
  payments.fail('create', 'lost');
  expect((await deposit('100', 'long-lost')).body.id).toBeUndefined();
  await service.owner.query(
    `UPDATE deposits SET created_at = created_at - interval '23.1 hours' WHERE idempotency_key = 'long-lost'`,
  );
  const created = payments.calls.create;
  expect(await deposit('100', 'long-lost')).toMatchObject({ status: 201, body: { payment_url: null } });
  expect(payments.calls.create).toBe(created);
});

describe('A notification', () => {
  it('that is doubled, late or forged credits nothing twice', async () => {
    payments.notifier.goWrong({ times: 5 });
    const { body } = await deposit('100');
    const id = paymentOf(body);
    await payments.notifier.forge({ id, status: 'succeeded', amount: { value: '9999.00', currency: 'RUB' } });
    expect(await read(body.id)).toMatchObject({ state: 'pending' });
    payments.pay(id);
    await untilState(body.id, 'succeeded');
    await payments.notifier.forge({ id, status: 'succeeded' });
    await service.runJob('compare-payments');
    expect(await available()).toBe('100.00');
  });

  it('before the response to the creation is not lost', async () => {
    payments.notifier.goWrong({ beforeCreationResponds: true });
    await untilState((await deposit('100')).body.id, 'succeeded');
    expect(await available()).toBe('100.00');
  });

  it('of unknown payments costs the provider no call, and responds with 200 to anything', async () => {
    const statuses = await Promise.all(
      Array.from({ length: 30 }, (_, n) => payments.notifier.forge({ id: `nobodys-${n}` })),
    );
    expect(new Set(statuses)).toEqual(new Set([200]));
    for (const body of ['[]', '"x"', '{"object":{"id":7}}', '{"object":null}']) {
      expect((await fetch(payments.notifier.url ?? '', { method: 'POST', body })).status).toBe(200);
    }
    const tooLong = `{"object":{"id":"nobodys"},"a":"${'a'.repeat(64 * 1024)}"}`;
    for (const body of [tooLong, '{"object"', '\udead', '']) {
      expect((await fetch(payments.notifier.url ?? '', { method: 'POST', body })).status).toBe(200);
    }
    expect([...payments.reads.keys()].filter((id) => id.startsWith('nobodys'))).toEqual([]);
  });

  it('that is repeated very often for one pending payment costs one call per second', async () => {
    const id = paymentOf((await deposit('100')).body);
    const beganMs = performance.now();
    for (let round = 0; round < 4; round += 1) {
      await Promise.all(Array.from({ length: 15 }, () => payments.notifier.forge({ id })));
    }
    const reads = await eventually(() => payments.reads.get(id));
    const seconds = Math.ceil((performance.now() - beganMs) / 1000);
    expect(reads).toBeLessThanOrEqual(seconds + 1);
  });

  it('makes a check due, as late as the latest one up to a minute', async () => {
    const insert = (paymentId: string, nextCheck: string) =>
      service.owner.query(
        `INSERT INTO deposits (user_id, provider, amount, idempotency_key, request_hash, expires_at,
                               provider_payment_id, next_read_at)
         VALUES ($1, 'other', 100, $2, '', now() + interval '1 hour', $2, now() + $3::interval)`,
        [customer.id, paymentId, nextCheck],
      );
    const lateSeconds = async (): Promise<Record<string, number>> => {
      const rows = await service.owner.query<{ id: string; late: number }[]>(
        `SELECT provider_payment_id AS id, extract(epoch FROM now() - next_read_at)::integer AS late
           FROM deposits WHERE provider = 'other'`,
      );
      return Object.fromEntries(rows.map(({ id, late }) => [id, late]));
    };
    const notify = (paymentId: string) => service.app.get(DepositRecords).bringForward('other', [paymentId]);
    for (const paymentId of ['first', 'second', 'third']) await insert(paymentId, '1 hour');
    await notify('first');
    expect((await lateSeconds())['first']).toBeLessThan(30);
    await insert('late', '-40 seconds');
    await notify('second');
    const { late, second } = await lateSeconds();
    expect(second).toBe(late);
    await insert('very-late', '-400 seconds');
    await notify('third');
    expect((await lateSeconds())['third']).toBeLessThan(90);
    await service.owner.query(`DELETE FROM deposits WHERE provider = 'other'`);
  });

  it('that is repeated for minutes for one pending payment costs a few calls per minute', async () => {
    const pending: string[] = [];
    for (let n = 0; n <= 8; n += 1) pending.push(paymentOf((await deposit('100')).body));
    const [repeated = '', ...others] = pending;
    const minute = () => Math.floor(Date.now() / 60_000);
    const firstMinute = minute();
    for (const other of others) {
      // No check is due, and the last one was long ago.
      await service.dataSource.query(
        `UPDATE deposits SET next_read_at = now() + interval '1 hour', read_at = now() - interval '1 hour'
          WHERE next_read_at IS NOT NULL`,
      );
      await Promise.all([repeated, other].map((id) => payments.notifier.forge({ id })));
      await eventually(() => payments.reads.has(other));
    }
    const minutes = minute() - firstMinute + 1;
    // Five a minute, and the deposit's first check.
    expect(payments.reads.get(repeated)).toBeLessThanOrEqual(5 * minutes + 1);
  });

  it('of an ended deposit has its payment and its refunds read', async () => {
    payments.notifier.goWrong({ lost: true });
    const [canceled, refunded] = [(await deposit('100')).body, (await deposit('100')).body].map(paymentOf);
    payments.cancel(canceled ?? '');
    payments.pay(refunded ?? '');
    await service.runJob('compare-payments');
    payLate(payments.shop.payment(canceled ?? ''));
    const made = payments.shop.refund(`profile-${(keys += 1)}`, {
      payment_id: refunded ?? '',
      amount: { value: '40.00', currency: 'RUB' },
      metadata: {},
    });
    await payments.notifier.forge({ id: canceled }, 'payment.succeeded');
    await payments.notifier.forge({ id: made.id, payment_id: refunded }, 'refund.succeeded');
    await eventually(async () => (await available()) === '200.00');
    await eventually(
      async () =>
        (
          await service.dataSource.query<object[]>(
            `SELECT FROM deposit_refunds WHERE provider_refund_id = $1 AND state = 'found'`,
            [made.id],
          )
        ).length === 1,
    );
  });

  it('for many ended deposits costs one reading per second', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 6; n += 1) {
      ids.push(paymentOf((await deposit('100')).body));
      payments.cancel(ids[n] ?? '');
    }
    await eventually(async () => {
      const { body } = await call<{ items: Deposit[] }>('/deposits');
      return body.items.every(({ state }) => state === 'canceled');
    });
    const before = payments.calls.read;
    const beganMs = performance.now();
    for (const id of ids) await payments.notifier.forge({ id });
    await eventually(() => payments.calls.read >= before + 2);
    expect(payments.calls.read - before).toBeLessThanOrEqual((performance.now() - beganMs) / 1000 + 2);
  });

  it('to another provider is sent to an unknown path', async () => {
    const response = await fetch(`${service.baseUrl}/payments/yookassa/notifications`, {
      method: 'POST',
      body: '{}',
    });
    expect([response.status, await response.json()]).toMatchObject([404, { detail: 'Not Found' }]);
  });
});

describe('A payment that the provider shows', () => {
  it('changes nothing of a deposit that has succeeded when its state goes back', async () => {
    const { body } = await deposit('100');
    const payment = payments.shop.payment(paymentOf(body));
    payments.pay(payment.id);
    await untilState(body.id, 'succeeded');
    payment.status = 'canceled';
    await service.runJob('compare-payments');
    payment.status = 'pending';
    await service.runJob('compare-payments');
    expect(await read(body.id)).toMatchObject({ state: 'succeeded' });
    expect(await available()).toBe('100.00');
    payment.status = 'succeeded';
  });

  it('is credited also when a canceled payment was paid after all', async () => {
    const { body } = await deposit('100');
    const payment = payments.shop.payment(paymentOf(body));
    payments.cancel(payment.id);
    await untilState(body.id, 'canceled');
    payLate(payment);
    await service.runJob('compare-payments');
    expect(await read(body.id)).toMatchObject({ state: 'succeeded' });
    expect(await available()).toBe('100.00');
  });

  it('long after its creation is credited, or left to staff if it is not ours', async () => {
    payments.notifier.goWrong({ lost: true });
    const own = payments.shop.payment(paymentOf((await deposit('100')).body));
    payments.cancel(own.id);
    const foreign = payments.shop.create(`foreign-${(keys += 1)}`, {
      amount: { value: '100.00', currency: 'RUB' },
      metadata: {},
      return_url: 'http://127.0.0.1',
    });
    await service.runJob('compare-payments');
    for (const payment of [own, foreign]) {
      Object.assign(payment, { status: 'pending', created_at: hoursAgo(3) });
      payments.shop.pay(payment.id);
    }
    expect(await service.runJob('compare-payments')).toMatchObject({ credited: 1, unmatched: 1 });
    expect(await available()).toBe('100.00');
  });

  it.each<[reason: string, change: (payment: SandboxPayment) => void]>([
    ['other-amount', (payment) => (payment.amount = { value: '100.01', currency: 'RUB' })],
    ['other-currency', (payment) => (payment.amount = { value: '100.00', currency: 'USD' })],
    ['test-payment', (payment) => (payment.test = true)],
    ['no-deposit', (payment) => (payment.metadata = {})],
  ])('goes to staff when it is: %s', async (reason, change) => {
    payments.notifier.goWrong({ lost: true });
    if (reason === 'no-deposit') payments.fail('create', 'lost');
    await deposit('100');
    await letBe();
    const payment = lastPayment();
    change(payment);
    payments.pay(payment.id);
    await service.runJob('compare-payments');
    await service.runJob('compare-payments');
    const found = await service.dataSource.query<object[]>(
      'SELECT state, reason FROM payments WHERE payment_id = $1',
      [payment.id],
    );
    expect(found).toEqual([{ state: 'unmatched', reason }]);
    expect(await available()).toBe('0.00');
  });

  it.each<[what: string, change: (row: Record<string, unknown>) => void, fields: string]>([
    ['an unknown status', (row) => (row['status'] = 'processing'), 'status'],
    ['no flag of tests', (row) => delete row['test'], 'test'],
    ['succeeded without being paid', (row) => (row['paid'] = false), 'paid'],
    ['a negative amount', (row) => (row['amount'] = { value: '-1.00', currency: 'RUB' }), 'amount'],
  ])('does not prevent the credit of another payment when it has %s', async (_, change, fields) => {
    payments.notifier.goWrong({ lost: true });
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      ids.push(paymentOf((await deposit('100')).body));
      payments.pay(ids[n] ?? '');
    }
    await letBe();
    payments.alter = (method, result) => {
      if (method !== 'list') return result;
      const { items } = result as { items: Record<string, unknown>[] };
      const odd = items.find(({ id }) => id === ids[1]);
      if (odd) change(odd);
      return { ...(result as object), items: [null, { a: 1 }, ...items] };
    };
    const unusable = await counted('payment_rows_unusable_total');
    expect(await service.runJob('compare-payments')).toMatchObject({ credited: 2, unusable: 6 });
    expect(await counted('payment_rows_unusable_total')).toBeGreaterThan(unusable);
    await service.runJob('compare-payments');
    expect(log.lines.filter((line) => line.includes(`${ids[1]} (${fields})`))).toHaveLength(1);
    payments.resetFaults();
    expect(await service.runJob('compare-payments')).toMatchObject({ credited: 1, unusable: 0 });
    expect(await available()).toBe('300.00');
  });

  it.each<[what: string, fields: object]>([
    ['an unknown state of its receipt', { receipt_registration: 'processing' }],
    ['a state of its receipt that is no word', { receipt_registration: [1] }],
    ['a reason that is no word', { cancellation_details: { reason: 7 } }],
    ['an unreadable time of payment', { captured_at: 'soon' }],
    ['an unreadable page', { confirmation: { confirmation_url: 7 } }],
  ])('is credited when it has %s', async (_, fields) => {
    payments.notifier.goWrong({ lost: true });
    const { body } = await deposit('100');
    payments.pay(paymentOf(body));
    payments.alter = (method, result) => (method === 'read' ? { ...(result as object), ...fields } : result);
    await checkNow();
    await untilState(body.id, 'succeeded');
  });

  it('shows staff why it was canceled, in any words', async () => {
    const { body } = await deposit('100');
    payments.cancel(paymentOf(body), 'card expired of payer@example.com');
    await untilState(body.id, 'canceled');
    const staff = await createStaff(service);
    const { body: list } = await staff.get<{ items: object[] }>(`/staff/deposits?user_id=${customer.id}`);
    expect(list.items).toMatchObject([{ provider_reason: 'card expired of [address]' }]);
  });

  it.each<[what: string, value: string, marked: Record<string, string>]>([
    ['NUL in its mark', '100.00', { environment: '\0', idempotency_key: '\0' }],
    ['a thousandth of a rouble', '0.001', {}],
    ['more than a balance can hold', '999999999999.99', {}],
  ])('of a forgotten deposit goes to staff when it has %s', async (_, value, marked) => {
    await service.app.get(LedgerService).credit(customer.id, Money.parse('1.00'), 'test');
    const [{ environment }] = await service.dataSource.query('SELECT environment FROM installation');
    const { id } = payments.shop.create(`odd-${(keys += 1)}`, {
      amount: { value: '100.00', currency: 'RUB' },
      metadata: {
        deposit_id: '1000000',
        deposit_key: randomUUID(),
        user_id: String(customer.id),
        environment,
        ...marked,
      },
      return_url: 'http://127.0.0.1',
    });
    payments.pay(id);
    payments.shop.payment(id).amount = { value, currency: 'RUB' };
    expect(await service.runJob('compare-payments')).toMatchObject({ unmatched: 1, unusable: 0 });
    expect(await service.runJob('compare-payments')).toMatchObject({ unmatched: 0, unusable: 0 });
    const [unmatched] = await service.dataSource.query<{ id: number; reason: string }[]>(
      'SELECT id, reason FROM payments WHERE payment_id = $1',
      [id],
    );
    const isTooMuch = value.length > 6;
    expect(unmatched?.reason).toBe(isTooMuch ? 'above-limit' : 'no-deposit');
    const staff = await createStaff(service);
    if (isTooMuch) {
      expect(
        await staff.post(`/staff/unmatched-payments/${unmatched?.id}/match`, {
          user_id: customer.id,
          reason: 'x',
        }),
      ).toMatchObject({ status: 409, body: { detail: 'At most 100000000.00 can be credited at once' } });
    }
    expect(await available()).toBe('1.00');
  });

  it('is no deposit that the provider refuses to create, and each retry is refused', async () => {
    payments.fail('create', '400');
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      expect(await deposit('100', 'refused')).toMatchObject({
        status: 409,
        body: { code: 'payments-refused' },
      });
    }
    const list = await call<{ items: Deposit[] }>('/deposits');
    expect(list.body.items).toEqual([expect.objectContaining({ state: 'canceled' })]);
  });

  it.each(['401', '403'] as const)(
    'waits while the provider refuses the key of the shop: %s',
    async (status) => {
      const series = 'payment_calls_total{method="create",outcome="forbidden"}';
      const refused = await counted(series);
      payments.fail('create', status);
      const key = `forbidden-${status}`;
      expect(await deposit('100', key)).toMatchObject({
        status: 503,
        body: { code: 'deposit-being-prepared' },
      });
      expect(await deposit('100', key)).toMatchObject({ status: 201, body: { state: 'pending' } });
      expect(await counted(series)).toBe(refused + 1);
    },
  );
});

describe('A receipt', () => {
  const post = (body: object, key = `receipt-${(keys += 1)}`) =>
    call<Deposit & { receipt_email: string | null }>('/deposits', {
      body: { amount: '100', ...body },
      headers: { 'Idempotency-Key': key },
    });

  it('goes to the address of the request, otherwise to the last one, or to the operator', async () => {
    const addresses = [undefined, 'first@example.com', undefined, 'second@example.com', null];
    const bodies = [];
    for (const receipt_email of addresses) bodies.push((await post({ receipt_email })).body);
    expect(bodies.map(({ receipt_email: own }) => own)).toEqual([
      null,
      'first@example.com',
      'first@example.com',
      'second@example.com',
      'second@example.com',
    ]);
    const receipts = bodies.map((body) => payments.shop.payment(paymentOf(body)).receipt);
    expect(receipts.map((receipt) => receipt?.customer.email)).toEqual([
      'shop@example.com',
      'first@example.com',
      'first@example.com',
      'second@example.com',
      'second@example.com',
    ]);
    expect(receipts[1]?.items).toEqual([
      expect.objectContaining({ description: 'Пополнение баланса', vat_code: 4, payment_mode: 'advance' }),
    ]);
    expect(log.lines.some((line) => line.includes('YOOKASSA_REGISTER is not set'))).toBe(true);
  });

  it('is of an address, which a retry does not change', async () => {
    for (const receipt_email of ['', 'a@b', 'a b@example.com', 'a@example.com,b@example.com', 1]) {
      expect((await post({ receipt_email })).status).toBe(422);
    }
    expect((await post({ receipt_email: `${'a'.repeat(64)}@${'b.'.repeat(95)}com` })).status).toBe(422);
    expect((await post({ receipt_email: 'a@example.com' }, 'address')).status).toBe(201);
    expect((await post({ receipt_email: 'b@example.com' }, 'address')).status).toBe(422);
  });

  it.each([
    ['info@xn--e1afmkfd.xn--p1ai', 'info@xn--e1afmkfd.xn--p1ai'],
    ['info@пример.рф', 'info@xn--e1afmkfd.xn--p1ai'],
    ['Info@Example.COM', 'Info@Example.COM'],
  ])('goes to %s as %s', async (given, address) => {
    const { status, body } = await post({ receipt_email: given });
    expect([status, body.receipt_email]).toEqual([201, address]);
    expect(payments.shop.payment(paymentOf(body)).receipt?.customer.email).toBe(address);
    const agent = await connectAgent(service.baseUrl, customer.token);
    const input = { amount: '100', receipt_email: given, key: 'agent' };
    expect((await agent.call('create_deposit', input)).result).toMatchObject({ receipt_email: address });
    expect((await post({ receipt_email: address }, 'agent')).status).toBe(201);
    await agent.close();
  });

  it.each([
    ['почта@пример.рф', 'The part before the @ may contain only ASCII letters, digits and punctuation'],
    ['a@b', 'Input should be an e-mail address, such as name@example.com'],
    ['a@xn--\u0440.рф', 'Input should be an e-mail address, such as name@example.com'],
  ])('is refused to %s in words: %s', async (given, msg) => {
    expect((await post({ receipt_email: given })).body).toMatchObject({
      detail: [{ type: 'value_error', loc: ['body', 'receipt_email'], msg: `Value error, ${msg}` }],
    });
  });

  it('that is not registered goes to staff, also when it took long', async () => {
    payments.shop.receiptState = 'pending';
    const { body } = await post({ receipt_email: 'buyer@example.com' });
    const staff = await createStaff(service);
    const find = async () =>
      (await staff.get<{ items: object[] }>(`/staff/deposits?user_id=${customer.id}`)).body.items;
    const failed = async () => {
      const rows = await service.dataSource.query<{ reason: string; count: number }[]>(WAITING_PAYMENTS);
      return rows.find(({ reason }) => reason === 'receipt')?.count ?? NaN;
    };
    const before = await failed();
    payments.pay(paymentOf(body));
    await untilState(body.id, 'succeeded');
    await eventually(async () => JSON.stringify(await find()).includes('"receipt_registration":"pending"'));
    const [shown] = await find();
    expect(shown).toMatchObject({ has_receipt_email: true });
    expect(JSON.stringify(shown)).not.toContain('buyer@');
    expect(await failed()).toBe(before);
    const payment = payments.shop.payment(paymentOf(body));
    Object.assign(payment, { created_at: hoursAgo(2) });
    await service.owner.query(
      `UPDATE deposits SET created_at = created_at - interval '2 hours' WHERE id = $1`,
      [body.id],
    );
    payment.receipt_registration = 'canceled';
    await service.runJob('compare-payments');
    expect(await find()).toEqual([expect.objectContaining({ receipt_registration: 'canceled' })]);
    expect(await failed()).toBe(before + 1);
    const list = await staff.get<{ items: object[] }>('/staff/deposits?receipt=canceled');
    expect(list.body.items).toHaveLength(before + 1);
  });

  it('of an unknown state keeps its state and is followed until it is known', async () => {
    payments.alter = (method, result) =>
      method === 'create' || method === 'read'
        ? { ...(result as object), receipt_registration: 'processing' }
        : result;
    const { body } = await post({});
    const state = async () => {
      const [row] = await service.dataSource.query<{ receipt: string }[]>(
        'SELECT receipt_registration AS receipt FROM deposits WHERE id = $1',
        [body.id],
      );
      return row?.receipt;
    };
    expect(await state()).toBe('pending');
    const id = paymentOf(body);
    payments.pay(id);
    await untilState(body.id, 'succeeded');
    expect(await state()).toBe('pending');
    expect(log.lines.filter((line) => line.includes(`the receipt of ${id} has an unknown`))).toHaveLength(1);
    payments.shop.payment(id).receipt_registration = 'canceled';
    await service.runJob('compare-payments');
    expect(await state()).toBe('canceled');
    payments.shop.payment(id).receipt_registration = 'unheard of' as 'pending';
    await service.runJob('compare-payments');
    expect(await state()).toBe('canceled');
  });
});

describe('The database', () => {
  it('takes no credit without its payment, of another amount or user, or a second one', async () => {
    const other = await createUser();
    const { body } = await deposit('100');
    payments.pay(paymentOf(body));
    await untilState(body.id, 'succeeded');
    const [payment] = await service.dataSource.query<{ id: number }[]>(
      'SELECT id FROM payments WHERE deposit_id = $1',
      [body.id],
    );
    const post = (userId: number, amount: string, paymentId: number) =>
      service.dataSource.query(
        `INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta, payment_id)
         VALUES ($1, 'topup', $2, 0, $3)`,
        [userId, amount, paymentId],
      );
    const id = payment?.id ?? 0;
    await expect(post(customer.id, '100.00', id)).rejects.toThrow('ledger_entries_payment_id_key');
    await expect(post(customer.id, '100.00', id + 1000)).rejects.toThrow('ledger_entries_payment_fkey');
    await expect(post(other.id, '100.00', id)).rejects.toThrow(/ledger_entries_payment/);
    await expect(service.dataSource.query('DELETE FROM payments')).rejects.toThrow('permission denied');
  });
});

describe('Staff', () => {
  const staff = forAllTests(() => createStaff(service));

  async function paid(amount: string): Promise<Deposit> {
    const { body } = await deposit(amount);
    payments.pay(paymentOf(body));
    await untilState(body.id, 'succeeded');
    return body;
  }

  async function unmatched(change: (payment: SandboxPayment) => void): Promise<number> {
    payments.notifier.goWrong({ lost: true });
    const { body } = await deposit('100');
    await letBe();
    const payment = payments.shop.payment(paymentOf(body));
    change(payment);
    payments.pay(payment.id);
    await service.runJob('compare-payments');
    return idOf(payment.id);
  }

  async function idOf(paymentId: string): Promise<number> {
    const { body } = await staff.get<{ items: { id: number; payment_id: string }[] }>(
      '/staff/unmatched-payments',
    );
    return body.items.find((one) => one.payment_id === paymentId)?.id ?? 0;
  }

  const refund = (id: number, body: object, key = `refund-${(keys += 1)}`) =>
    staff.post<{ id: number; state: string; amount: string; detail: string }>(
      `/staff/deposits/${id}/refund`,
      body,
      { 'Idempotency-Key': key },
    );

  /** @param change SET clause for the held refund, as if time had passed */
  const untilRefund = (id: number, state: string, change?: string) =>
    eventually(async () => {
      if (change !== undefined) {
        await service.dataSource.query(
          `UPDATE deposit_refunds SET ${change} WHERE id = $1 AND state = 'held'`,
          [id],
        );
      }
      const { body } = await staff.get<{ items: { id: number; state: string }[] }>('/staff/deposit-refunds');
      return body.items.some((one) => one.id === id && one.state === state);
    });
  const TRY_NOW = 'next_try_at = now()';
  const sentAgo = (hours: number) =>
    `${TRY_NOW}, first_sent_at = first_sent_at - interval '${hours} hours',
     sent_at = sent_at - interval '${hours} hours'`;
  const SENT_LONG_AGO = sentAgo(25);
  const endRefund = (id: number, by = staff) =>
    by.post<{ state: string; ending: boolean }>(`/staff/deposit-refunds/${id}/end`, { reason: 'no longer' });
  const shownRefund = async (id: number) => {
    const { body } = await staff.get<{ items: { id: number; provider_reason: string | null }[] }>(
      '/staff/deposit-refunds',
    );
    return body.items.find((one) => one.id === id);
  };
  async function lookAt(id: number, change = TRY_NOW): Promise<void> {
    await service.dataSource.query(`UPDATE deposit_refunds SET ${change} WHERE id = $1`, [id]);
    for (let n = 0; n < 3; n += 1) {
      const before = payments.calls.refunds;
      await service.dataSource.query(`UPDATE deposit_refunds SET ${TRY_NOW} WHERE id = $1`, [id]);
      await eventually(() => payments.calls.refunds > before);
    }
  }

  it('find deposits, also from the page of their customer', async () => {
    const shown = await staff.get<{ links: object }>(`/staff/users/${customer.id}`);
    expect(shown.body.links).toMatchObject({ deposits: `/staff/deposits?user_id=${customer.id}` });
    const { id } = await paid('100');
    const find = async (state: string) =>
      (await staff.get<{ items: object[] }>(`/staff/deposits?user_id=${customer.id}&state=${state}`)).body
        .items;
    expect(await find('succeeded')).toEqual([
      expect.objectContaining({ id, user_id: customer.id, provider: 'sandbox', provider_reason: null }),
    ]);
    const canceled = (await deposit('100')).body;
    payments.cancel(paymentOf(canceled), 'insufficient_funds');
    await untilState(canceled.id, 'canceled');
    payments.fail('create', '400');
    await deposit('100');
    expect(await find('canceled')).toEqual([
      expect.objectContaining({
        provider_reason: 'invalid_request, amount, The create request for [address] was not executed',
      }),
      expect.objectContaining({ provider_reason: 'insufficient_funds' }),
    ]);
    expect((await staff.get('/staff/deposits?state=lost')).status).toBe(422);
  });

  it('match a payment to a user, once', async () => {
    const id = await unmatched((payment) => (payment.amount = { value: '100.01', currency: 'RUB' }));
    const match = (body: object) => staff.post(`/staff/unmatched-payments/${id}/match`, body);
    const other = await createUser();
    expect((await match({ user_id: other.id, reason: 'no' })).status).toBe(409);
    const { status, body } = await match({ user_id: customer.id, reason: 'The bank rounds' });
    expect([status, body]).toEqual([200, expect.objectContaining({ state: 'credited', amount: '100.01' })]);
    expect(await available()).toBe('100.01');
    expect((await match({ user_id: customer.id, reason: 'again' })).status).toBe(409);
    const list = await call<{ items: Deposit[] }>('/deposits');
    expect(list.body.items).toEqual([expect.objectContaining({ state: 'succeeded', amount: '100.01' })]);
  });

  it.each([
    ['another currency', { value: '2.00', currency: 'USD' }, '180.00'],
    ['a fraction of a kopeck', { value: '100.001', currency: 'RUB' }, '100.00'],
  ])('name the roubles of a payment with %s', async (_, amount, roubles) => {
    const id = await unmatched((payment) => (payment.amount = amount));
    const match = (body: object) => staff.post(`/staff/unmatched-payments/${id}/match`, body);
    expect((await match({ user_id: customer.id, reason: 'x' })).status).toBe(409);
    expect((await match({ user_id: customer.id, amount: roubles, reason: 'x' })).status).toBe(200);
    expect(await available()).toBe(roubles);
  });

  it('reject a payment, which ends its deposit', async () => {
    const id = await unmatched((payment) => (payment.test = true));
    const rejected = await staff.post(`/staff/unmatched-payments/${id}/reject`, { reason: 'x' });
    expect(rejected).toMatchObject({ status: 200, body: { state: 'rejected' } });
    expect(await available()).toBe('0.00');
    const list = await call<{ items: Deposit[] }>('/deposits');
    expect(list.body.items).toEqual([expect.objectContaining({ state: 'canceled', payment_url: null })]);
    const events = await call<{ items: object[] }>('/events?wait=5&type=deposit.canceled');
    expect(events.body.items).toHaveLength(1);
  });

  async function foreign(): Promise<[id: number, paymentId: string]> {
    const payment = payments.shop.create(`foreign-${(keys += 1)}`, {
      amount: { value: '100.00', currency: 'RUB' },
      metadata: {},
      return_url: 'http://127.0.0.1',
    });
    payments.pay(payment.id);
    await service.runJob('compare-payments');
    return [await idOf(payment.id), payment.id];
  }

  async function ofAnotherAmount(): Promise<[id: number, paymentId: string]> {
    let paymentId = '';
    const id = await unmatched((payment) => {
      payment.amount = { value: '100.01', currency: 'RUB' };
      paymentId = payment.id;
    });
    return [id, paymentId];
  }

  const refundInProfile = (paymentId: string) =>
    payments.shop.refund(`profile-${(keys += 1)}`, {
      payment_id: paymentId,
      amount: { value: '40.00', currency: 'RUB' },
      metadata: {},
    });

  const MATCHED = [
    ['without a deposit', foreign],
    ['of another amount', ofAnotherAmount],
  ] as const;

  it.each(MATCHED)(
    'find a refund in the merchant profile of a payment %s that they matched',
    async (_, pay) => {
      const [id, paymentId] = await pay();
      const match = { user_id: customer.id, reason: 'x' };
      expect((await staff.post(`/staff/unmatched-payments/${id}/match`, match)).status).toBe(200);
      refundInProfile(paymentId);
      expect(await service.runJob('compare-payments')).toMatchObject({ found_refunds: 1 });
    },
  );

  it.each(MATCHED)('find a refund that was made long before they matched a payment %s', async (_, pay) => {
    const [id, paymentId] = await pay();
    const made = refundInProfile(paymentId);
    expect(await service.runJob('compare-payments')).toMatchObject({ found_refunds: 0 });
    payments.shop.refunds.set(made.id, { ...made, created_at: hoursAgo(2) });
    await service.owner.query(
      `UPDATE payments SET created_at = created_at - earlier, paid_at = paid_at - earlier
         FROM (VALUES (interval '3 hours')) AS time (earlier) WHERE id = $1`,
      [id],
    );
    const match = { user_id: customer.id, reason: 'x' };
    expect((await staff.post(`/staff/unmatched-payments/${id}/match`, match)).status).toBe(200);
    expect(await service.runJob('compare-payments')).toMatchObject({ found_refunds: 1 });
    expect(await service.runJob('compare-payments')).toMatchObject({ found_refunds: 0 });
  });

  it('have a refund counted although its receipt and reason are unknown words', async () => {
    const { id } = await paid('100');
    const unknown = { receipt_registration: 'queued', cancellation_details: { reason: [] } };
    payments.alter = (method, result) => {
      if (method === 'refund') return { ...(result as object), ...unknown };
      // The comparison may read the refund before the test does.
      const { items } = result as { items: object[] };
      return method === 'refunds' ? { items: items.map((item) => ({ ...item, ...unknown })) } : result;
    };
    const { body } = await refund(id, { reason: 'x' });
    await untilRefund(body.id, 'succeeded');
    const { body: list } = await staff.get<{ items: object[] }>('/staff/deposit-refunds?limit=1');
    expect(list.items).toMatchObject([{ id: body.id, receipt_registration: 'pending' }]);
  });

  it('find a refund in the merchant profile that was pending for hours', async () => {
    const paymentId = paymentOf(await paid('100'));
    const pending = { ...refundInProfile(paymentId), status: 'pending' as const, created_at: hoursAgo(3) };
    payments.shop.refunds.set(pending.id, pending);
    await service.dataSource.query(`UPDATE payment_comparisons SET compared_to = now() - interval '4 hours'`);
    expect(await service.runJob('compare-payments')).toMatchObject({ found_refunds: 0 });
    payments.shop.refunds.set(pending.id, { ...pending, status: 'succeeded' });
    expect(await service.runJob('compare-payments')).toMatchObject({ found_refunds: 1 });
    expect(await service.runJob('compare-payments')).toMatchObject({ found_refunds: 0 });
  });

  it('record a payment that only the audit knows, with its refunds', async () => {
    payments.notifier.goWrong({ lost: true });
    const { body } = await deposit('100');
    await letBe();
    const id = paymentOf(body);
    const take = (payment_id: string) => staff.post('/staff/payments/take', { payment_id, reason: 'audit' });
    expect([(await take(id)).status, (await take('unknown')).status]).toEqual([404, 404]);
    expect((await take('a/../b')).status).toBe(422);
    payments.fail('read', '400');
    expect((await take(id)).status).toBe(404);
    payments.shop.pay(id);
    const refunded = refundInProfile(id);
    const taken = { status: 200, body: { state: 'credited', payment_id: id, user_id: customer.id } };
    expect(await take(id)).toMatchObject(taken);
    expect(await take(id)).toMatchObject(taken);
    expect(await available()).toBe('100.00');
    const found = await service.dataSource.query<object[]>(
      `SELECT FROM deposit_refunds WHERE provider_refund_id = $1 AND state = 'found'`,
      [refunded.id],
    );
    expect(found).toHaveLength(1);
  });

  it('find a refund in another currency, worth the same part of the deposit', async () => {
    let paymentId = '';
    const id = await unmatched((payment) => {
      payment.amount = { value: '2.00', currency: 'USD' };
      paymentId = payment.id;
    });
    const match = { user_id: customer.id, amount: '180.00', reason: 'x' };
    expect((await staff.post(`/staff/unmatched-payments/${id}/match`, match)).status).toBe(200);
    payments.shop.refund(`profile-${(keys += 1)}`, {
      payment_id: paymentId,
      amount: { value: '1.00', currency: 'USD' },
      metadata: {},
    });
    expect(await service.runJob('compare-payments')).toMatchObject({ found_refunds: 1 });
    const { body } = await staff.get<{ items: object[] }>('/staff/deposit-refunds?state=found');
    expect(body.items[0]).toMatchObject({ amount: '90.00', reason: 'made at the provider: 1.00 USD' });
  });

  describe.each([
    ['yookassa', 'receipt.items.payment_mode', { mode: 'full_prepayment', subject: 'service' }],
    ['ffd-1.05', undefined, { mode: 'full_payment', subject: 'service' }],
    ['ffd-1.2', undefined, { mode: 'full_prepayment', subject: 'payment' }],
    ['atol-ffd-1.2', 'receipt.tax_system_code', { mode: 'advance', subject: 'payment', taxSystem: 2 }],
  ] as const)('of a shop with the cash register %s', (kind, refused, register) => {
    beforeEach(() => {
      payments.cashRegister = kind;
    });
    it('see what it refuses while the setting is missing', async () => {
      const { status, body } = await deposit('100');
      expect(status === 201).toBe(refused === undefined);
      const { body: list } = await staff.get<{ items: object[] }>(`/staff/deposits?user_id=${customer.id}`);
      const reason = refused === undefined ? null : expect.stringContaining(refused);
      expect(list.items).toEqual([expect.objectContaining({ provider_reason: reason })]);
      if (refused === undefined) {
        expect(payments.shop.payment(paymentOf(body)).receipt?.items).toEqual([
          expect.objectContaining({ measure: 'piece', payment_mode: 'advance', payment_subject: 'payment' }),
        ]);
      }
    });

    it('refund a part of a deposit, and see a receipt that was canceled late', async () => {
      restartWith({ register });
      const { body } = await deposit('100');
      payments.cancel(paymentOf(body));
      await untilState(body.id, 'canceled');
      const payment = payments.shop.payment(paymentOf(body));
      payLate(payment);
      await service.runJob('compare-payments');
      expect(await read(body.id)).toMatchObject({ state: 'succeeded' });
      // The settings must not change the receipts of its refunds.
      restartWith({ register: { mode: 'full_prepayment', subject: 'commodity', taxSystem: 1 } });
      for (const amount of ['30', '70']) {
        await untilRefund((await refund(body.id, { amount, reason: 'x' })).body.id, 'succeeded');
        const { receipt } = [...payments.shop.refunds.values()].at(-1) ?? {};
        const item = { ...payment.receipt?.items[0], amount: { value: `${amount}.00`, currency: 'RUB' } };
        expect(receipt).toEqual({ ...payment.receipt, items: [item] });
      }
      expect(payment.receipt).toMatchObject({
        items: [{ measure: 'piece', payment_mode: register.mode, payment_subject: register.subject }],
        ...('taxSystem' in register && { tax_system_code: register.taxSystem }),
      });
      payment.receipt_registration = 'canceled';
      await service.runJob('compare-payments');
      const canceled = `/staff/deposits?user_id=${customer.id}&receipt=canceled`;
      expect((await staff.get<{ items: object[] }>(canceled)).body.items).toHaveLength(1);
    });
  });

  it('refund a deposit in parts: held, requested once, and taken when the provider shows it', async () => {
    const { id } = await paid('100');
    const before = payments.calls.refund;
    const first = await refund(id, { amount: '30', reason: 'A complaint' }, 'once');
    expect(first).toMatchObject({ status: 200, body: { state: 'held', amount: '30.00', replayed: false } });
    const again = await refund(id, { amount: '30', reason: 'A complaint' }, 'once');
    expect(again.body).toMatchObject({ id: first.body.id, replayed: true });
    await untilRefund(first.body.id, 'succeeded');
    expect(await service.balanceOf(customer)).toMatchObject({ available: '70.00', held: '0.00' });
    expect(await refund(id, { amount: '70.01', reason: 'x' })).toMatchObject({
      status: 409,
      body: { detail: 'At most 70.00 of this deposit can be refunded' },
    });
    await untilRefund((await refund(id, { reason: 'The rest' })).body.id, 'succeeded');
    expect(payments.calls.refund - before).toBe(2);
    const amounts = [...payments.shop.refunds.values()]
      .slice(-2)
      .map(({ receipt }) => receipt?.items[0]?.amount);
    expect(amounts).toEqual([
      { value: '30.00', currency: 'RUB' },
      { value: '70.00', currency: 'RUB' },
    ]);
    expect((await staff.get<{ items: object[] }>('/staff/deposit-refunds?limit=2')).body.items).toEqual([
      expect.objectContaining({ receipt_registration: 'succeeded' }),
      expect.objectContaining({ receipt_registration: 'succeeded' }),
    ]);
    expect(await read(id)).toMatchObject({ state: 'refunded', refunded: '100.00' });
    const events = await call<{ items: { data: object }[] }>('/events?wait=5&type=deposit.refunded');
    expect(events.body.items.map(({ data }) => data)).toContainEqual({
      deposit_id: id,
      state: 'succeeded',
      amount: '30.00',
    });
  });

  it('refund no more than a deposit, by several requests at the same moment', async () => {
    const { id } = await paid('100');
    await paid('500');
    const several = await Promise.all([1, 2, 3, 4].map(() => refund(id, { reason: 'x' })));
    expect(several.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 409, 409, 409]);
  });

  it('refund a deposit whose chargeback was debited only when they confirm it', async () => {
    const body = await paid('100');
    await service.app.get(LedgerService).credit(customer.id, Money.parse('100.00'), 'test');
    const debit = { amount: '100.00', reason: 'Chargeback', reference: paymentOf(body) };
    const key = { 'Idempotency-Key': 'chargeback' };
    expect((await staff.post(`/staff/users/${customer.id}/debit`, debit, key)).status).toBe(200);
    const { body: list } = await staff.get<{ items: object[] }>(`/staff/deposits?user_id=${customer.id}`);
    expect(list.items).toMatchObject([{ id: body.id, state: 'succeeded', charged_back: '100.00' }]);
    expect(await refund(body.id, { reason: 'x' }, 'charged-back')).toMatchObject({
      status: 409,
      body: { code: 'deposit-charged-back', detail: expect.stringContaining('100.00') },
    });
    expect(await available()).toBe('100.00');
    const confirmed = { reason: 'x', despite_chargeback: true };
    const { status, body: made } = await refund(body.id, confirmed, 'charged-back');
    expect(status).toBe(200);
    await untilRefund(made.id, 'succeeded');
    expect(await available()).toBe('0.00');
  });

  it('refund no more than can be spent', async () => {
    const { id } = await paid('100');
    await customer.buy({ count: 3 });
    expect(await refund(id, { reason: 'x' })).toMatchObject({ status: 400 });
    expect((await service.balanceOf(customer)).held).toBe('0.00');
  });

  it.each(['lost', '500-done'] as const)('have a refund found whose response was %s', async (fault) => {
    const { id } = await paid('100');
    const before = payments.shop.refunds.size;
    payments.fail('refund', fault);
    await untilRefund((await refund(id, { reason: 'x' })).body.id, 'succeeded', TRY_NOW);
    expect(payments.shop.refunds.size - before).toBe(1);
    expect(await service.balanceOf(customer)).toMatchObject({ available: '0.00', held: '0.00' });
  });

  it('have a refund wait while the provider refuses the key of the shop', async () => {
    const { id } = await paid('100');
    payments.fail('refund', '401', '403');
    const { body } = await refund(id, { reason: 'x' });
    await eventually(async () => (await shownRefund(body.id))?.provider_reason?.startsWith('invalid_cred'));
    await untilRefund(body.id, 'succeeded', TRY_NOW);
    expect(await shownRefund(body.id)).toMatchObject({ provider_reason: null });
    expect(await available()).toBe('0.00');
  });

  it('end a refund that is refused, when a complete list lacks it a day after its last call', async () => {
    const { id } = await paid('100');
    payments.fail('refund', ...Array<'403'>(50).fill('403'));
    const { body } = await refund(id, { amount: '30', reason: 'x' });
    await eventually(async () => (await shownRefund(body.id))?.provider_reason?.startsWith('forbidden'));
    const { text } = await service.app
      .get(TokensService)
      .issue({ userId: customer.id, scopes: ['staff:balance'] });
    expect((await endRefund(body.id, staffWith(service, customer.id, text, 0))).status).toBe(403);
    expect(await endRefund(body.id)).toMatchObject({ status: 200, body: { state: 'held', ending: true } });
    expect((await endRefund(body.id)).status).toBe(409);
    payments.resetFaults();
    const sent = payments.calls.refund;
    await lookAt(body.id);
    payments.fail('refunds', '403', '403', '403', '403');
    await lookAt(body.id, SENT_LONG_AGO);
    expect(await shownRefund(body.id)).toMatchObject({
      provider_reason: expect.stringContaining('forbidden'),
    });
    payments.resetFaults();
    payments.alter = (method, result) => (method === 'refunds' ? { items: [{ id: 'odd' }] } : result);
    await lookAt(body.id);
    expect(await service.balanceOf(customer)).toMatchObject({ available: '70.00', held: '30.00' });
    payments.resetFaults();
    await untilRefund(body.id, 'failed', TRY_NOW);
    expect(payments.calls.refund).toBe(sent);
    expect(await service.balanceOf(customer)).toMatchObject({ available: '100.00', held: '0.00' });
    const actions = await staff.get<{ items: object[] }>('/staff/actions?action=deposit-refunds.end');
    const after = expect.objectContaining({ id: body.id, ending: true });
    expect(actions.body.items).toContainEqual(expect.objectContaining({ reason: 'no longer', after }));
    expect((await endRefund(body.id)).status).toBe(409);
  });

  it('see a refund succeed that was being made when they ended it', async () => {
    const { id } = await paid('100');
    payments.fail('refund', 'late');
    const sent = payments.calls.refund;
    const { body } = await refund(id, { amount: '30', reason: 'x' });
    await eventually(() => payments.calls.refund > sent);
    expect((await endRefund(body.id)).status).toBe(200);
    await untilRefund(body.id, 'succeeded', TRY_NOW);
    expect(await available()).toBe('70.00');
  });

  it('have no key sent again 23 hours after its first call, although each was refused', async () => {
    const { id } = await paid('100');
    payments.fail('refund', ...Array<'403'>(50).fill('403'));
    const { body } = await refund(id, { amount: '30', reason: 'x' });
    await eventually(async () => (await shownRefund(body.id))?.provider_reason?.startsWith('forbidden'));
    payments.resetFaults();
    await service.dataSource.query(
      `UPDATE deposit_refunds SET first_sent_at = now() - interval '23.1 hours' WHERE id = $1`,
      [body.id],
    );
    const sent = payments.calls.refund;
    await lookAt(body.id);
    expect(payments.calls.refund).toBe(sent);
    await untilRefund(body.id, 'failed', SENT_LONG_AGO);
    expect(await available()).toBe('100.00');
  });

  it('have nothing sent again or released while the clock of the provider disagrees', async () => {
    const { id } = await paid('100');
    payments.fail('refund', ...Array<'500'>(100).fill('500'));
    const before = payments.calls.refund;
    const { body } = await refund(id, { amount: '30', reason: 'x' });
    await eventually(() => payments.calls.refund > before);
    // Only the provider's clock shows an old key, as when the database's clock was set back.
    payments.clockOffsetMs = 24 * 3_600_000;
    await lookAt(body.id);
    const sent = payments.calls.refund;
    await lookAt(body.id);
    expect(payments.calls.refund).toBe(sent);
    // Only the database's clock shows an old call, as when that clock was set forward.
    payments.clockOffsetMs = -3 * 3_600_000;
    await lookAt(body.id, SENT_LONG_AGO);
    expect(await service.balanceOf(customer)).toMatchObject({ available: '70.00', held: '30.00' });
    payments.resetFaults();
    await untilRefund(body.id, 'failed', TRY_NOW);
    expect(payments.calls.refund).toBe(sent);
  });

  it('have the money back on the balance when the provider refuses, or nothing was made', async () => {
    const { id } = await paid('100');
    payments.fail('refund', '400');
    const refused = await refund(id, { amount: '10', reason: 'x' });
    await untilRefund(refused.body.id, 'failed');
    const { body: listed } = await staff.get<{ items: object[] }>('/staff/deposit-refunds?state=failed');
    expect(listed.items[0]).toMatchObject({
      id: refused.body.id,
      reason: 'x',
      provider_reason: 'invalid_request, amount, The refund request for [address] was not executed',
    });
    payments.fail('refund', '500');
    await untilRefund((await refund(id, { amount: '10', reason: 'x' })).body.id, 'failed', SENT_LONG_AGO);
    expect(await service.balanceOf(customer)).toMatchObject({ available: '100.00', held: '0.00' });
  });

  it('have a refund sent that was never sent, and released by nothing but the list', async () => {
    const { id } = await paid('100');
    payments.fail('refund', '500');
    await untilRefund((await refund(id, { amount: '30', reason: 'x' })).body.id, 'succeeded', TRY_NOW);
    const before = payments.calls.refund;
    // The refund is made, its listing is late, and every retry is refused.
    payments.alter = (method, result) => (method === 'refunds' ? { items: [] } : result);
    payments.fail('refund', '500-done', ...Array<'400'>(100).fill('400'));
    const made = await refund(id, { amount: '20', reason: 'x' });
    await eventually(async () => {
      await service.dataSource.query(`UPDATE deposit_refunds SET ${TRY_NOW} WHERE id = $1`, [made.body.id]);
      return payments.calls.refund - before >= 3;
    });
    expect(await service.balanceOf(customer)).toMatchObject({ available: '50.00', held: '20.00' });
    payments.resetFaults();
    await untilRefund(made.body.id, 'succeeded', TRY_NOW);
    // The provider may have forgotten the key.
    payments.fail('refund', '500');
    const late = await refund(id, { amount: '10', reason: 'x' });
    const calls = await eventually(() => payments.calls.refund);
    await eventually(async () => {
      const [row] = await queryRows<{ looked: boolean }>(
        service.dataSource,
        `UPDATE deposit_refunds SET ${TRY_NOW}, first_sent_at = now() - interval '23.5 hours'
          WHERE id = $1 AND first_sent_at IS NOT NULL RETURNING true AS looked`,
        [late.body.id],
      );
      return row?.looked;
    });
    const listed = payments.calls.refunds;
    await eventually(() => payments.calls.refunds > listed);
    expect(payments.calls.refund).toBeLessThanOrEqual(calls + 1);
    expect(await service.balanceOf(customer)).toMatchObject({ held: '10.00' });
    await untilRefund(late.body.id, 'failed', SENT_LONG_AGO);
    expect(await service.balanceOf(customer)).toMatchObject({ available: '50.00', held: '0.00' });
  });

  it('decide a refund that was made at the provider', async () => {
    const body = await paid('100');
    const atProvider = payments.shop.refund('cabinet', {
      payment_id: paymentOf(body),
      amount: { value: '40.00', currency: 'RUB' },
      metadata: {},
    });
    expect(await service.runJob('compare-payments')).toMatchObject({ found_refunds: 1 });
    expect(await service.runJob('compare-payments')).toMatchObject({ found_refunds: 0 });
    expect(await available()).toBe('100.00');
    const { body: found } = await staff.get<{ items: { id: number; deposit_id: number }[] }>(
      '/staff/deposit-refunds?state=found',
    );
    // Earlier tests may have left older ones.
    const [newest] = found.items;
    expect(newest).toMatchObject({ deposit_id: body.id, amount: '40.00' });
    expect(await refund(body.id, { amount: '60.01', reason: 'x' })).toMatchObject({
      status: 409,
      body: { detail: 'At most 60.00 of this deposit can be refunded' },
    });
    const decide = (by = staff) =>
      by.post(`/staff/deposit-refunds/${newest?.id}/decide`, { decision: 'debit', reason: 'x' });
    const { text } = await service.app
      .get(TokensService)
      .issue({ userId: customer.id, scopes: ['staff:balance'] });
    expect((await decide(staffWith(service, customer.id, text, 0))).status).toBe(403);
    expect(await decide()).toMatchObject({ status: 200, body: { state: 'succeeded' } });
    expect([(await decide()).status, await available()]).toEqual([409, '60.00']);
    expect(atProvider.status).toBe('succeeded');
  });

  it.each([
    ['debit', '10.00'],
    ['write-off', '50.00'],
  ])('decide one that was listed after all, when the deposit was refunded: %s', async (decision, left) => {
    await service.app.get(LedgerService).credit(customer.id, Money.parse('50.00'), 'test');
    const deposited = await paid('100');
    payments.fail('refund', '500');
    const late = await refund(deposited.id, { amount: '40', reason: 'x' });
    await untilRefund(late.body.id, 'failed', SENT_LONG_AGO);
    payments.notifier.goWrong({ lost: true });
    await untilRefund((await refund(deposited.id, { reason: 'x' })).body.id, 'succeeded');
    const [{ key } = { key: '' }] = await service.dataSource.query<{ key: string }[]>(
      'SELECT refund_key AS key FROM deposit_refunds WHERE id = $1',
      [late.body.id],
    );
    payments.shop.refunds.set(key, {
      id: key,
      payment_id: paymentOf(deposited),
      status: 'succeeded',
      amount: { value: '40.00', currency: 'RUB' },
      created_at: new Date().toISOString(),
      metadata: { refund_key: key },
    });
    expect(await service.runJob('compare-payments')).toMatchObject({ found_refunds: 1 });
    expect(await refund(deposited.id, { reason: 'x' })).toMatchObject({
      status: 409,
      body: { detail: 'At most 0.00 of this deposit can be refunded' },
    });
    const { body } = await staff.get<{ items: { id: number }[] }>('/staff/deposit-refunds?state=found');
    const decided = await staff.post(`/staff/deposit-refunds/${body.items[0]?.id}/decide`, {
      decision,
      reason: 'x',
    });
    expect(decided.status).toBe(200);
    expect(await available()).toBe(left);
    expect(await read(deposited.id)).toMatchObject({ state: 'refunded', refunded: '140.00' });
  });
});

describe('An audit against the provider', () => {
  const broken = () => service.findBroken({ payments: service.app.get(PaymentProvider, { strict: false }) });

  it('finds payments and refunds that only one side has, or with another amount', async () => {
    expect(await broken()).toEqual({});
    const [listed, recorded] = await Promise.all([deposit('100'), deposit('100')]);
    await letBe();
    payments.notifier.goWrong({ lost: true });
    const [lost, changed] = [listed, recorded].map(({ body }) => payments.shop.payment(paymentOf(body)));
    if (!lost || !changed) throw new Error('no payments');
    payments.pay(changed.id);
    await service.runJob('compare-payments');
    const { amount } = changed;
    payments.pay(lost.id);
    lost.captured_at = hoursAgo(1);
    changed.amount = { value: '100.01', currency: 'RUB' };
    const refund = payments.shop.refund('unknown to the shop', {
      payment_id: changed.id,
      amount: { value: '40.00', currency: 'RUB' },
      metadata: {},
    });
    payments.shop.refunds.set(refund.id, { ...refund, created_at: hoursAgo(1) });
    await service.dataSource.query(
      `UPDATE payment_comparisons SET compared_to = clock_timestamp() + interval '1 second'`,
    );
    expect(await broken()).toEqual({
      'listed-payments-are-recorded': [expect.objectContaining({ payment_id: lost.id })],
      'recorded-payments-are-listed': [expect.objectContaining({ payment_id: changed.id, value: 100.01 })],
      'listed-refunds-are-recorded': [expect.objectContaining({ refund_id: refund.id, value: 40 })],
    });
    changed.amount = amount;
    payments.shop.refunds.set(refund.id, refund);
    await service.runJob('compare-payments');
    expect(await broken()).toEqual({});
    payments.shop.refunds.delete(refund.id);
    expect(await broken()).toEqual({
      'recorded-refunds-are-listed': [expect.objectContaining({ provider_refund_id: refund.id })],
    });
    payments.shop.refunds.set(refund.id, refund);
  });

  it('is part of the audit of each day, by the time of payments', async () => {
    const daily = () => service.runJob('audit-day');
    const { body } = await deposit('100');
    await letBe();
    payments.notifier.goWrong({ lost: true });
    const payment = payments.shop.payment(paymentOf(body));
    payments.pay(payment.id);
    Object.assign(payment, { created_at: hoursAgo(120), captured_at: hoursAgo(0.8) });
    const missing = await daily();
    expect(missing).toMatchObject({ violated: 1 });
    await service.runJob('compare-payments');
    const listed = await daily();
    expect(listed).toEqual({ checked: missing?.['checked'], violated: 0 });
    payments.fail('list', '401');
    expect(await daily()).toEqual({ checked: Number(listed?.['checked']) - 4, violated: 0 });
    expect(log.lines.some((line) => line.includes('the audit did not check payments'))).toBe(true);
  });
});

describe('A deposit that was not paid', () => {
  it('is removed after a year, and others stay', async () => {
    const old = (await deposit('100')).body;
    const credited = (await deposit('100')).body;
    // The walk by ids ends at the first young row.
    await service.owner.query(`UPDATE deposits SET created_at = created_at - interval '366 days'`);
    await service.owner.query(
      `UPDATE deposits SET created_at = created_at - interval '3 years', receipt_email = 'a@example.com'
        WHERE id <= $1`,
      [credited.id],
    );
    const recent = (await deposit('100')).body;
    for (const one of [old, recent]) payments.cancel(paymentOf(one));
    payments.pay(paymentOf(credited));
    for (const { id } of [old, recent]) await untilState(id, 'canceled');
    await untilState(credited.id, 'succeeded');
    await service.runJob('retention');
    expect((await call<{ items: Deposit[] }>('/deposits')).body.items).toEqual([
      expect.objectContaining({ id: recent.id, receipt_email: 'a@example.com' }),
      // A deposit that can no longer be refunded loses its address.
      expect.objectContaining({ id: credited.id, receipt_email: null }),
    ]);
  });
});
