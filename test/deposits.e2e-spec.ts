import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { EntityManager } from 'typeorm';
import { ALL_PAYMENT_SCOPES, ALL_SCOPES, TokensService } from '../src/auth';
import { Money } from '../src/common';
import { AppConfig } from '../src/config';
import { queryRows } from '../src/database';
import { LedgerService } from '../src/ledger';
import { Metrics, METRIC_PREFIX } from '../src/metrics';
import { DepositRefunds, DepositsService, PaymentProvider, WAITING_PAYMENTS } from '../src/payments';
import { PaymentSync } from '../src/payments/deposits/payment-sync';
import { DepositRecords } from '../src/payments/records/deposit-records';
import { PaymentsSandbox } from '../src/sandbox';
import { fetchAs } from './support/api-client';
import { eventually } from './support/built-service';
import { beforeClosing, forAllTests, forEachTest } from './support/fixtures';
import { captureLog } from './support/log-capture';
import { createStaff, type StaffResponse, staffWith } from './support/staff';
import { untilWaiting } from './support/table-lock';
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
    environment: {
      YOOKASSA_RECEIPT: 'shop@example.com:4',
      DEPOSIT_MIN: '99.00',
      DEPOSIT_MAX: '90000.00',
      LOG_LEVEL: 'info',
      METRICS_PORT: '0',
    },
  }),
);
const paymentProvider = () => service.app.get(PaymentProvider, { strict: false });
beforeClosing(async () => expect(await service.findBroken({ payments: paymentProvider() })).toEqual({}));
const createUser = () =>
  service.createUser({ balance: '0.00', scopes: [...ALL_SCOPES, ...ALL_PAYMENT_SCOPES] });
const customer = forEachTest(createUser);
afterEach(async () => {
  payments.resetFaults();
  restartWith({});
  // Hides these payments from the checks and comparisons of later tests.
  await service.owner.query(`DELETE FROM deposits WHERE provider = 'other';
                             UPDATE deposits SET next_read_at = NULL WHERE next_read_at IS NOT NULL`);
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
    body,
    headers,
  }: {
    of?: TestUser;
    body?: object;
    headers?: Record<string, string>;
  } = {},
): Promise<StaffResponse<Body>> {
  const response = await fetchAs(of, body ? 'POST' : 'GET', service.baseUrl + path, body, headers);
  return { status: response.status, headers: response.headers, body: (await response.json()) as Body };
}

const deposit = (amount: unknown, key = `key-${(keys += 1)}`): Promise<StaffResponse<Deposit>> =>
  call<Deposit>('/deposits', { body: { amount }, headers: { 'Idempotency-Key': key } });

/** @param provider no check claims another one's deposits */
const insert = (
  paymentIds: readonly string[],
  {
    provider = 'other',
    state = 'pending',
    nextCheck = '1 hour',
    manager = service.owner,
  }: Partial<{
    provider: string;
    state: string;
    nextCheck: string | null;
    manager: Pick<EntityManager, 'query'>;
  }> = {},
) =>
  manager.query(
    `INSERT INTO deposits (user_id, provider, amount, state, idempotency_key, request_hash, expires_at,
                           closed_at, provider_payment_id, next_read_at, read_at)
     SELECT $1, $3, 100, $4, id, '', now() + interval '1 hour', CASE WHEN $4 <> 'pending' THEN now() END, id,
            now() + $5::interval, now() - interval '1 hour'
       FROM unnest($2::text[]) AS id`,
    [customer.id, paymentIds, provider, state, nextCheck],
  );

const several = (count: number, name: string) => Array.from({ length: count }, (_, n) => `${name}-${n}`);

const read = async (id: number, query = ''): Promise<Deposit> =>
  (await call<Deposit>(`/deposits/${id}${query}`)).body;

const paymentOf = ({ payment_url: url }: Deposit): string => url?.split('/').at(-1) ?? '';

const untilState = (id: number, state: string) =>
  eventually(async () => (await read(id, '?wait=10')).state === state);

const checkNow = () =>
  service.dataSource.query(`UPDATE deposits SET next_read_at = now() WHERE next_read_at IS NOT NULL`);

/** Reads a payment, without a notification. */
const sync = (paymentId: string) => service.app.get(PaymentSync).read(paymentId);

async function paid(amount: string): Promise<Deposit> {
  const { body } = await deposit(amount);
  payments.shop.pay(paymentOf(body));
  await sync(paymentOf(body));
  return body;
}

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

/** Changes the settings of payments, as a restart would. */
function restartWith({ min = '99.00', ...settings }: { min?: string; register?: object }): void {
  Object.assign(service.app.get(DepositsService), { min: Money.parse(min) });
  const config = service.app.get<AppConfig>(AppConfig);
  const changed = { ...config, payments: { ...config.payments, ...settings } };
  Object.assign(paymentProvider(), { config: changed });
}

const payLate = (payment: SandboxPayment) =>
  Object.assign(payment, { status: 'succeeded', captured_at: new Date().toISOString() });

const lastPayment = (): SandboxPayment => [...payments.shop.payments.values()].at(-1) as SandboxPayment;

describe('A deposit', () => {
  it('is paid on the page of the provider, credited after its notification, and shown', async () => {
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
    expect((await call<{ items: object[] }>('/ledger')).body.items).toEqual([
      expect.objectContaining({ kind: 'credit', available_delta: '1000.00', deposit_id: body.id }),
    ]);
    expect((await call<{ items: object[] }>('/events?wait=5&type=deposit.succeeded')).body.items).toEqual([
      expect.objectContaining({ data: { deposit_id: body.id, state: 'succeeded', amount: '1000.00' } }),
    ]);
    const csv = await fetchAs(customer, 'GET', `${service.baseUrl}/ledger/csv`);
    expect(await csv.text()).toMatch(new RegExp(`,deposit_id\r\n.*,${body.id}\r\n$`));
  });

  it('is one for each key, however often the request is sent', async () => {
    const responses = await Promise.all([1, 2, 3].map(() => deposit('300', 'same')));
    expect(new Set(responses.map(({ body }) => body.id)).size).toBe(1);
    const again = await deposit('300.00', 'same');
    expect([again.headers.get('Idempotency-Replayed'), again.body]).toEqual(['true', responses[0]?.body]);
    expect((await deposit('301', 'same')).status).toBe(422);
  });

  it('has bounds, needs a key, and is one of a few that are pending, also of two at once', async () => {
    expect(await deposit('98.99')).toMatchObject({
      status: 400,
      body: { detail: 'The amount must be from 99.00 to 90000.00' },
    });
    expect((await deposit('90000.01')).status).toBe(400);
    expect((await call('/deposits', { body: { amount: '500' } })).status).toBe(422);
    await insert(several(19, 'pending'));
    // Another replica has locked the customer, and adds one.
    const late = await service.owner.transaction(async (replica) => {
      await replica.query('SELECT FROM users WHERE id = $1 FOR UPDATE', [customer.id]);
      const requested = deposit('100');
      await untilWaiting(service.owner);
      await insert(['replica'], { manager: replica });
      return () => requested;
    });
    expect((await late()).status).toBe(429);
    await service.owner.query(`DELETE FROM deposits WHERE provider_payment_id = 'replica'`);
    expect([(await deposit('100')).status, (await deposit('100')).status]).toEqual([201, 429]);
  });

  it('is found by its key after the bounds changed; a refused request uses no key', async () => {
    const { body } = await deposit('100', 'old-bounds');
    restartWith({ min: '200.00' });
    expect(await deposit('100', 'old-bounds')).toMatchObject({ status: 201, body });
    expect((await deposit('100', 'new-bounds')).status).toBe(400);
    restartWith({});
    expect((await deposit('150', 'new-bounds')).status).toBe(201);
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

  it('expires as the provider shows', async () => {
    const { body } = await deposit('100');
    payments.cancel(paymentOf(body), 'expired_on_confirmation');
    await untilState(body.id, 'expired');
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
  it('a payment is found by the checks, also when what is not about money cannot be read', async () => {
    payments.notifier.goWrong({ lost: true });
    const { body } = await deposit('100');
    payments.pay(paymentOf(body));
    const unreadable = {
      receipt_registration: [1],
      cancellation_details: { reason: 7 },
      captured_at: 'soon',
      confirmation: { confirmation_url: 7 },
    };
    payments.alter = (_, result) => ({ ...(result as object), ...unreadable });
    await checkNow();
    await untilState(body.id, 'succeeded');
  });

  it('of its creation, a retry after a restart with another return URL gives the same payment', async () => {
    payments.fail('create', 'lost');
    expect(await deposit('100', 'restarted')).toMatchObject({ status: 503 });
    const created = payments.shop.payments.size;
    Object.assign(service.app.get(PaymentSync), { returnUrl: 'https://other.example/paid' });
    restartWith({ register: { mode: 'full_payment', subject: 'service' } });
    expect(await deposit('100', 'restarted')).toMatchObject({ status: 201, body: { state: 'pending' } });
    expect(payments.shop.payments.size).toBe(created);
  });

  it('and the response to its creation, it is found, also after the clock was set back', async () => {
    payments.notifier.goWrong({ lost: true });
    payments.fail('create', 'lost');
    await deposit('100');
    await letBe();
    payments.pay(lastPayment().id);
    await service.dataSource.query(`UPDATE payment_comparisons SET compared_to = now() + interval '1 day'`);
    expect(await service.runJob('compare-payments')).toMatchObject({ credited: 1, unmatched: 0 });
    expect(await available()).toBe('100.00');
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
    const { body } = await deposit('100');
    await checkNow();
    await untilState(body.id, 'succeeded');
    expect(await available()).toBe('100.00');
  });

  it('of unknown payments costs the provider no call, and responds with 200 to anything', async () => {
    const statuses = await Promise.all(
      Array.from({ length: 10 }, (_, n) => payments.notifier.forge({ id: `nobodys-${n}` })),
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
    const id = 'often';
    await insert([id], { provider: 'sandbox' });
    const beganMs = performance.now();
    for (let round = 0; round < 4; round += 1) {
      await Promise.all([1, 2, 3].map(() => payments.notifier.forge({ id })));
      // Those of a tenth of a second share one look.
      await pause(110);
    }
    const reads = await eventually(() => payments.reads.get(id));
    const seconds = Math.ceil((performance.now() - beganMs) / 1000);
    expect(reads).toBeLessThanOrEqual(seconds + 1);
  });

  it('makes a check due, as late as the latest one up to a minute', async () => {
    const lateSeconds = async (): Promise<Record<string, number>> => {
      const rows = await service.owner.query<{ id: string; late: number }[]>(
        `SELECT provider_payment_id AS id, extract(epoch FROM now() - next_read_at)::integer AS late
           FROM deposits WHERE provider = 'other'`,
      );
      return Object.fromEntries(rows.map(({ id, late }) => [id, late]));
    };
    const notify = (paymentId: string) => service.app.get(DepositRecords).bringForward('other', [paymentId]);
    await insert(['first', 'second', 'third']);
    await notify('first');
    expect((await lateSeconds())['first']).toBeLessThan(30);
    await insert(['late'], { nextCheck: '-40 seconds' });
    await notify('second');
    const { late, second } = await lateSeconds();
    expect(second).toBe(late);
    await insert(['very-late'], { nextCheck: '-400 seconds' });
    await notify('third');
    expect((await lateSeconds())['third']).toBeLessThan(90);
  });

  it('that is repeated for minutes for one pending payment costs a few calls per minute', async () => {
    const others = several(7, 'other');
    await insert(['repeated', ...others], { provider: 'sandbox' });
    const minute = () => Math.floor(Date.now() / 60_000);
    const firstMinute = minute();
    for (const other of others) {
      // No check is due, and the last one was long ago.
      await service.dataSource.query(
        `UPDATE deposits SET next_read_at = now() + interval '1 hour', read_at = now() - interval '1 hour'
          WHERE next_read_at IS NOT NULL`,
      );
      await Promise.all(['repeated', other].map((id) => payments.notifier.forge({ id })));
      await eventually(() => payments.reads.has(other));
    }
    const minutes = minute() - firstMinute + 1;
    // Five a minute, and a check that comes due in a slow round.
    expect(payments.reads.get('repeated')).toBeLessThanOrEqual(5 * minutes + 1);
  });

  it('of an ended deposit has its payment and its refunds read', async () => {
    const refunded = paymentOf(await paid('100'));
    const canceled = paymentOf((await deposit('100')).body);
    payments.shop.cancel(canceled);
    await sync(canceled);
    payLate(payments.shop.payment(canceled));
    const made = payments.shop.refund(`profile-${(keys += 1)}`, {
      payment_id: refunded,
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
    const ids = several(6, 'ended');
    await insert(ids, { provider: 'sandbox', state: 'canceled', nextCheck: null });
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
    const body = await paid('100');
    const payment = lastPayment();
    payment.status = 'canceled';
    await sync(payment.id);
    payment.status = 'pending';
    await sync(payment.id);
    expect(await read(body.id)).toMatchObject({ state: 'succeeded' });
    expect(await available()).toBe('100.00');
    payment.status = 'succeeded';
  });

  it('long after its creation is credited, or left to staff if it is not ours', async () => {
    payments.notifier.goWrong({ lost: true });
    const own = payments.shop.payment(paymentOf((await deposit('100')).body));
    payments.shop.cancel(own.id);
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

  it('goes to staff when it is not what was ordered', async () => {
    payments.notifier.goWrong({ lost: true });
    const changes: readonly [reason: string, change: (payment: SandboxPayment) => void][] = [
      ['other-amount', (payment) => (payment.amount = { value: '100.01', currency: 'RUB' })],
      ['other-currency', (payment) => (payment.amount = { value: '100.00', currency: 'USD' })],
      ['test-payment', (payment) => (payment.test = true)],
      ['no-deposit', (payment) => (payment.metadata = {})],
    ];
    const ids: string[] = [];
    for (const [reason, change] of changes) {
      if (reason === 'no-deposit') payments.fail('create', 'lost');
      await deposit('100');
      change(lastPayment());
      payments.pay(lastPayment().id);
      ids.push(lastPayment().id);
    }
    await letBe();
    expect(await service.runJob('compare-payments')).toMatchObject({ unmatched: 4 });
    expect(await service.runJob('compare-payments')).toMatchObject({ unmatched: 0 });
    const found = await service.dataSource.query<object[]>(
      `SELECT state, reason FROM unnest($1::text[]) WITH ORDINALITY AS given (payment_id, n)
         JOIN payments USING (payment_id) ORDER BY n`,
      [ids],
    );
    expect(found).toEqual(changes.map(([reason]) => ({ state: 'unmatched', reason })));
    expect(await available()).toBe('0.00');
  });

  it('does not prevent the credit of another payment when it is odd', async () => {
    payments.notifier.goWrong({ lost: true });
    const oddities: Record<string, object> = {
      test: { test: undefined },
      // Succeeded without being paid.
      paid: { paid: false },
      amount: { amount: { value: '-1.00', currency: 'RUB' } },
    };
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      ids.push(paymentOf((await deposit('100')).body));
      payments.pay(ids[n] ?? '');
    }
    await letBe();
    payments.alter = (method, result) => {
      if (method !== 'list') return result;
      const items = (result as { items: { id: string }[] }).items.map((item) =>
        item.id === ids[1] ? { ...item, status: 'processing' } : item,
      );
      const odd = Object.entries(oddities).map(([id, change]) => ({ ...items[0], id, ...change }));
      return { ...(result as object), items: [null, { a: 1 }, ...odd, ...items] };
    };
    const unusable = await counted('payment_rows_unusable_total');
    // Both lists have six.
    expect(await service.runJob('compare-payments')).toMatchObject({ credited: 2, unusable: 12 });
    expect(await counted('payment_rows_unusable_total')).toBeGreaterThan(unusable);
    await service.runJob('compare-payments');
    for (const row of [`${ids[1]} (status)`, 'test (test)', 'paid (paid)', 'amount (amount)']) {
      expect(log.lines.filter((line) => line.includes(row))).toHaveLength(1);
    }
    payments.resetFaults();
    expect(await service.runJob('compare-payments')).toMatchObject({ credited: 1, unusable: 0 });
    expect(await available()).toBe('300.00');
  });

  it('of a forgotten deposit goes to staff when it cannot be credited', async () => {
    await service.app.get(LedgerService).credit(customer.id, Money.parse('1.00'), 'test');
    const [{ environment }] = await service.dataSource.query('SELECT environment FROM installation');
    const odd: readonly [value: string, marked: Record<string, string>][] = [
      ['100.00', { environment: '\0', idempotency_key: '\0' }],
      ['0.001', {}],
      ['999999999999.99', {}],
    ];
    for (const [value, marked] of odd) {
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
    }
    expect(await service.runJob('compare-payments')).toMatchObject({ unmatched: 3, unusable: 0 });
    expect(await service.runJob('compare-payments')).toMatchObject({ unmatched: 0, unusable: 0 });
    const unmatched = await service.dataSource.query<{ id: number; reason: string; value: string }[]>(
      'SELECT id, reason, paid_amount AS value FROM payments WHERE payment_id = ANY ($1)',
      [[...payments.shop.payments.keys()].slice(-3)],
    );
    expect(unmatched).toHaveLength(3);
    const staff = await createStaff(service);
    for (const { id, reason, value } of unmatched) {
      const isTooMuch = Number(value) > 100;
      expect(reason).toBe(isTooMuch ? 'above-limit' : 'no-deposit');
      if (!isTooMuch) continue;
      expect(
        await staff.post(`/staff/unmatched-payments/${id}/match`, { user_id: customer.id, reason: 'x' }),
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

  it('waits while the provider refuses the key of the shop', async () => {
    const series = 'payment_calls_total{method="create",outcome="forbidden"}';
    const refused = await counted(series);
    payments.fail('create', '403');
    expect(await deposit('100', 'forbidden')).toMatchObject({
      status: 503,
      body: { code: 'deposit-being-prepared' },
    });
    expect(await deposit('100', 'forbidden')).toMatchObject({ status: 201, body: { state: 'pending' } });
    expect(await counted(series)).toBe(refused + 1);
  });
});

describe('A receipt', () => {
  const post = (body: object, key = `receipt-${(keys += 1)}`) =>
    call<Deposit & { receipt_email: string | null }>('/deposits', {
      body: { amount: '100', ...body },
      headers: { 'Idempotency-Key': key },
    });

  it('goes to the address of the request, otherwise to the last one, or to the operator', async () => {
    const ascii = 'info@xn--e1afmkfd.xn--p1ai';
    const addresses = [undefined, 'info@пример.рф', undefined, 'Second@Example.COM', null];
    const bodies = [];
    for (const receipt_email of addresses) bodies.push((await post({ receipt_email })).body);
    const own = [ascii, ascii, 'Second@Example.COM', 'Second@Example.COM'];
    expect(bodies.map(({ receipt_email }) => receipt_email)).toEqual([null, ...own]);
    const receipts = bodies.map((body) => payments.shop.payment(paymentOf(body)).receipt);
    expect(receipts.map((receipt) => receipt?.customer.email)).toEqual(['shop@example.com', ...own]);
    expect(receipts[1]?.items).toEqual([
      expect.objectContaining({ description: 'Пополнение баланса', vat_code: 4, payment_mode: 'advance' }),
    ]);
    expect(log.lines.some((line) => line.includes('YOOKASSA_REGISTER is not set'))).toBe(true);

    const input = { amount: '100', receipt_email: 'info@пример.рф', key: 'agent' };
    const tool = { method: 'tools/call', params: { name: 'create_deposit', arguments: input } };
    const accept = { Accept: 'application/json, text/event-stream' };
    const url = `${service.baseUrl}/mcp`;
    const byAgent = await fetchAs(customer, 'POST', url, { jsonrpc: '2.0', id: 1, ...tool }, accept);
    expect(await byAgent.text()).toContain(`"receipt_email":"${ascii}"`);
    expect((await post({ receipt_email: ascii }, 'agent')).status).toBe(201);
  });

  it('is of an address, which a retry does not change', async () => {
    for (const receipt_email of ['', 'a b@example.com', 'a@example.com,b@example.com', 1]) {
      expect((await post({ receipt_email })).status).toBe(422);
    }
    const wrong = 'Input should be an e-mail address, such as name@example.com';
    for (const [receipt_email, msg] of [
      ['почта@пример.рф', 'The part before the @ may contain only ASCII letters, digits and punctuation'],
      ['a@b', wrong],
      ['a@xn--\u0440.рф', wrong],
    ]) {
      expect((await post({ receipt_email })).body).toMatchObject({
        detail: [{ type: 'value_error', loc: ['body', 'receipt_email'], msg: `Value error, ${msg}` }],
      });
    }
    expect((await post({ receipt_email: `${'a'.repeat(64)}@${'b.'.repeat(95)}com` })).status).toBe(422);
    expect((await post({ receipt_email: 'a@example.com' }, 'address')).status).toBe(201);
    expect((await post({ receipt_email: 'b@example.com' }, 'address')).status).toBe(422);
  });

  it('that is not registered goes to staff, also when it and its payment took long', async () => {
    const { body } = await post({ receipt_email: 'buyer@example.com' });
    const staff = await createStaff(service);
    const find = async () =>
      (await staff.get<{ items: object[] }>(`/staff/deposits?user_id=${customer.id}`)).body.items;
    const failed = async () => {
      const rows = await service.dataSource.query<{ reason: string; count: number }[]>(WAITING_PAYMENTS);
      return rows.find(({ reason }) => reason === 'receipt')?.count ?? NaN;
    };
    const before = await failed();
    const payment = payments.shop.payment(paymentOf(body));
    payments.cancel(payment.id);
    await untilState(body.id, 'canceled');
    payLate(payment);
    await sync(payment.id);
    const [shown] = await find();
    expect(shown).toMatchObject({
      state: 'succeeded',
      receipt_registration: 'pending',
      has_receipt_email: true,
    });
    expect(JSON.stringify(shown)).not.toContain('buyer@');
    expect([await failed(), await available()]).toEqual([before, '100.00']);
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
    const body = await paid('100');
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

  async function unmatched(change: (payment: SandboxPayment) => void): Promise<number> {
    await deposit('100');
    const payment = lastPayment();
    change(payment);
    payments.shop.pay(payment.id);
    await sync(payment.id);
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

  const lookNow = () => service.app.get(DepositRefunds).requestSoon();
  /** @param change SET clause for the held refund, as if time had passed */
  const untilRefund = (id: number, state: string, change?: string) =>
    eventually(async () => {
      if (change !== undefined) {
        await service.dataSource.query(
          `UPDATE deposit_refunds SET ${change} WHERE id = $1 AND state = 'held'`,
          [id],
        );
        lookNow();
      }
      const [row] = await service.dataSource.query<{ state: string }[]>(
        'SELECT state FROM deposit_refunds WHERE id = $1',
        [id],
      );
      return row?.state === state;
    });
  const untilRefundHas = (id: number, condition: string, ...parameters: string[]) =>
    eventually(async () => {
      const rows = await service.dataSource.query<object[]>(
        `SELECT FROM deposit_refunds WHERE id = $1 AND ${condition}`,
        [id, ...parameters],
      );
      return rows.length === 1;
    });
  const untilReason = (id: number, reason: string) =>
    untilRefundHas(id, 'starts_with(provider_reason, $2)', reason);
  /** The receipt is recorded after the state. */
  const untilReceipt = (id: number) => untilRefundHas(id, 'receipt_registration IS NOT NULL');
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
      lookNow();
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
    const canceled = paymentOf((await deposit('100')).body);
    payments.shop.cancel(canceled, 'card expired of payer@example.com');
    await sync(canceled);
    payments.fail('create', '400');
    await deposit('100');
    expect(await find('canceled')).toEqual([
      expect.objectContaining({
        provider_reason: 'invalid_request, amount, The create request for [address] was not executed',
      }),
      expect.objectContaining({ provider_reason: 'card expired of [address]' }),
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

  const refundInProfile = (paymentId: string, amount = { value: '40.00', currency: 'RUB' }) =>
    payments.shop.refund(`profile-${(keys += 1)}`, { payment_id: paymentId, amount, metadata: {} });

  it('find refunds that were made long before they matched the payments', async () => {
    await unmatched((payment) => (payment.amount = { value: '100.01', currency: 'RUB' }));
    const ofAnotherAmount = lastPayment();
    const foreign = payments.shop.create(`foreign-${(keys += 1)}`, {
      amount: { value: '100.00', currency: 'RUB' },
      metadata: {},
      return_url: 'http://127.0.0.1',
    });
    payments.pay(foreign.id);
    const made = [ofAnotherAmount, foreign].map(({ id }) => refundInProfile(id));
    expect(await service.runJob('compare-payments')).toMatchObject({ unmatched: 1, found_refunds: 0 });
    for (const one of made) {
      payments.shop.refunds.set(one.id, { ...one, created_at: hoursAgo(2) });
      const id = await idOf(one.payment_id);
      await service.owner.query(
        `UPDATE payments SET created_at = created_at - earlier, paid_at = paid_at - earlier
           FROM (VALUES (interval '3 hours')) AS time (earlier) WHERE id = $1`,
        [id],
      );
      const match = { user_id: customer.id, reason: 'x' };
      expect((await staff.post(`/staff/unmatched-payments/${id}/match`, match)).status).toBe(200);
    }
    expect(await service.runJob('compare-payments')).toMatchObject({ found_refunds: 2 });
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
    await untilReceipt(body.id);
    const { body: list } = await staff.get<{ items: object[] }>('/staff/deposit-refunds?limit=1');
    expect(list.items).toMatchObject([{ id: body.id, state: 'succeeded', receipt_registration: 'pending' }]);
  });

  it('find a refund in the merchant profile that was pending for hours', async () => {
    const paymentId = paymentOf(await paid('100'));
    const pending = { ...refundInProfile(paymentId), status: 'pending' as const, created_at: hoursAgo(3) };
    payments.shop.refunds.set(pending.id, pending);
    await service.dataSource.query(`UPDATE payment_comparisons SET compared_to = now() - interval '4 hours'`);
    expect(await service.runJob('compare-payments')).toMatchObject({ found_refunds: 0 });
    payments.shop.refunds.set(pending.id, { ...pending, status: 'succeeded' });
    expect(await service.runJob('compare-payments')).toMatchObject({ found_refunds: 1 });
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

  it('name the roubles of a payment that has others, and of which a refund is worth a part', async () => {
    for (const [amount, roubles, sum] of [
      [{ value: '100.001', currency: 'RUB' }, '100.00', '100.00'],
      [{ value: '2.00', currency: 'USD' }, '180.00', '280.00'],
    ] as const) {
      const id = await unmatched((payment) => (payment.amount = amount));
      const match = (body: object) => staff.post(`/staff/unmatched-payments/${id}/match`, body);
      expect((await match({ user_id: customer.id, reason: 'x' })).status).toBe(409);
      expect((await match({ user_id: customer.id, amount: roubles, reason: 'x' })).status).toBe(200);
      expect(await available()).toBe(sum);
    }
    refundInProfile(lastPayment().id, { value: '1.00', currency: 'USD' });
    expect(await service.runJob('compare-payments')).toMatchObject({ found_refunds: 1 });
    const { body } = await staff.get<{ items: object[] }>('/staff/deposit-refunds?state=found');
    expect(body.items[0]).toMatchObject({ amount: '90.00', reason: 'made at the provider: 1.00 USD' });
  });

  it.each([
    ['yookassa', 'receipt.items.payment_mode', { mode: 'full_prepayment', subject: 'service' }],
    ['ffd-1.2', undefined, { mode: 'full_prepayment', subject: 'payment' }],
    ['atol-ffd-1.2', 'receipt.tax_system_code', { mode: 'advance', subject: 'payment', taxSystem: 2 }],
  ] as const)('see what the cash register %s refuses, and refund with its setting', async (...shop) => {
    const [kind, refused, register] = shop;
    payments.cashRegister = kind;
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

    restartWith({ register });
    const { id } = await paid('100');
    // The settings must not change the receipts of its refunds.
    restartWith({ register: { mode: 'full_prepayment', subject: 'commodity', taxSystem: 1 } });
    await untilRefund((await refund(id, { amount: '30', reason: 'x' })).body.id, 'succeeded');
    const payment = lastPayment();
    const item = { ...payment.receipt?.items[0], amount: { value: '30.00', currency: 'RUB' } };
    expect([...payments.shop.refunds.values()].at(-1)?.receipt).toEqual({
      ...payment.receipt,
      items: [item],
    });
    expect(payment.receipt).toMatchObject({
      items: [{ measure: 'piece', payment_mode: register.mode, payment_subject: register.subject }],
      ...('taxSystem' in register && { tax_system_code: register.taxSystem }),
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
    await service.app.get(LedgerService).credit(customer.id, Money.parse('500.00'), 'test');
    const rest = await Promise.all([1, 2, 3, 4].map(() => refund(id, { reason: 'The rest' })));
    expect(rest.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 409, 409, 409]);
    await untilReceipt(rest.find(({ status }) => status === 200)?.body.id ?? 0);
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

  it('refund a deposit whose chargeback was debited only when they confirm it, if unspent', async () => {
    const body = await paid('100');
    const debit = { amount: '100.00', reason: 'Chargeback', reference: paymentOf(body) };
    const key = { 'Idempotency-Key': 'chargeback' };
    expect((await staff.post(`/staff/users/${customer.id}/debit`, debit, key)).status).toBe(200);
    const { body: list } = await staff.get<{ items: object[] }>(`/staff/deposits?user_id=${customer.id}`);
    expect(list.items).toMatchObject([{ id: body.id, state: 'succeeded', charged_back: '100.00' }]);
    expect(await refund(body.id, { reason: 'x' }, 'charged-back')).toMatchObject({
      status: 409,
      body: { code: 'deposit-charged-back', detail: expect.stringContaining('100.00') },
    });
    const confirmed = { reason: 'x', despite_chargeback: true };
    // The debit has spent what a refund would take.
    expect(await refund(body.id, confirmed)).toMatchObject({ status: 400 });
    expect(await service.balanceOf(customer)).toMatchObject({ available: '0.00', held: '0.00' });
    await service.app.get(LedgerService).credit(customer.id, Money.parse('100.00'), 'test');
    const { status, body: made } = await refund(body.id, confirmed, 'charged-back');
    expect(status).toBe(200);
    await untilRefund(made.id, 'succeeded');
    expect(await available()).toBe('0.00');
  });

  it('have a refund wait while the key is refused, and found when its response was lost', async () => {
    const { id } = await paid('100');
    const before = payments.shop.refunds.size;
    payments.fail('refund', '401', '403', 'lost');
    const { body } = await refund(id, { reason: 'x' });
    await untilReason(body.id, 'invalid_credentials');
    await untilRefund(body.id, 'succeeded', TRY_NOW);
    expect(payments.shop.refunds.size - before).toBe(1);
    expect(await shownRefund(body.id)).toMatchObject({ provider_reason: null });
    expect(await service.balanceOf(customer)).toMatchObject({ available: '0.00', held: '0.00' });
  });

  it('end a refund that is refused, when a complete list lacks it a day after its last call', async () => {
    const { id } = await paid('100');
    payments.fail('refund', ...Array<'403'>(50).fill('403'));
    const { body } = await refund(id, { amount: '30', reason: 'x' });
    await untilReason(body.id, 'forbidden');
    const { text } = await service.app
      .get(TokensService)
      .issue({ userId: customer.id, scopes: ['staff:balance'] });
    expect((await endRefund(body.id, staffWith(service, customer.id, text, 0))).status).toBe(403);
    expect(await endRefund(body.id)).toMatchObject({ status: 200, body: { state: 'held', ending: true } });
    expect((await endRefund(body.id)).status).toBe(409);
    payments.resetFaults();
    const sent = payments.calls.refund;
    await lookAt(body.id);
    payments.fail('refunds', ...Array<'403'>(50).fill('403'));
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
    // Otherwise the service waits for the response when it stops.
    payments['server'].closeAllConnections();
  });

  it('have no key sent again 23 hours after its first call, although each was refused', async () => {
    const { id } = await paid('100');
    payments.fail('refund', ...Array<'403'>(50).fill('403'));
    const { body } = await refund(id, { amount: '30', reason: 'x' });
    await untilReason(body.id, 'forbidden');
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
      lookNow();
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
    lookNow();
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

  it('have refused refunds back, and decide them if they are listed after all', async () => {
    await service.app.get(LedgerService).credit(customer.id, Money.parse('50.00'), 'test');
    const deposited = await paid('100');
    const keysOfLate: string[] = [];
    for (const amount of ['40', '30']) {
      payments.fail('refund', '400');
      const late = await refund(deposited.id, { amount, reason: 'x' });
      await untilRefund(late.body.id, 'failed');
      const [{ key } = { key: '' }] = await service.dataSource.query<{ key: string }[]>(
        'SELECT refund_key AS key FROM deposit_refunds WHERE id = $1',
        [late.body.id],
      );
      keysOfLate.push(key);
      const { body: failed } = await staff.get<{ items: object[] }>('/staff/deposit-refunds?state=failed');
      expect(failed.items[0]).toMatchObject({
        id: late.body.id,
        reason: 'x',
        provider_reason: 'invalid_request, amount, The refund request for [address] was not executed',
      });
    }
    expect(await service.balanceOf(customer)).toMatchObject({ available: '150.00', held: '0.00' });
    payments.notifier.goWrong({ lost: true });
    await untilRefund((await refund(deposited.id, { reason: 'x' })).body.id, 'succeeded');
    for (const [n, value] of ['40.00', '30.00'].entries()) {
      const key = keysOfLate[n] ?? '';
      payments.shop.refunds.set(key, {
        id: key,
        payment_id: paymentOf(deposited),
        status: 'succeeded',
        amount: { value, currency: 'RUB' },
        created_at: new Date().toISOString(),
        metadata: { refund_key: key },
      });
      expect(await service.runJob('compare-payments')).toMatchObject({ found_refunds: 1 });
    }
    expect(await refund(deposited.id, { reason: 'x' })).toMatchObject({
      status: 409,
      body: { detail: 'At most 0.00 of this deposit can be refunded' },
    });
    const { body } = await staff.get<{ items: { id: number }[] }>('/staff/deposit-refunds?state=found');
    for (const [n, decision, left] of [
      [1, 'debit', '10.00'],
      [0, 'write-off', '10.00'],
    ] as const) {
      const decided = await staff.post(`/staff/deposit-refunds/${body.items[n]?.id}/decide`, {
        decision,
        reason: 'x',
      });
      expect(decided.status).toBe(200);
      expect(await available()).toBe(left);
    }
    expect(await read(deposited.id)).toMatchObject({ state: 'refunded', refunded: '170.00' });
  });
});

describe('An audit against the provider', () => {
  it('finds what only one side has, or with another amount, also in the audit of each day', async () => {
    payments.notifier.goWrong({ lost: true });
    const changed = payments.shop.payment(paymentOf(await paid('100')));
    const lost = payments.shop.payment(paymentOf((await deposit('100')).body));
    await letBe();
    const refundInProfile = (key: string) =>
      payments.shop.refund(key, {
        payment_id: changed.id,
        amount: { value: '40.00', currency: 'RUB' },
        metadata: {},
      });
    const removed = refundInProfile('removed');
    expect(await service.runJob('compare-payments')).toMatchObject({ found_refunds: 1 });
    payments.shop.refunds.delete(removed.id);
    payments.pay(lost.id);
    // The audits list payments by when they were paid.
    Object.assign(lost, { created_at: hoursAgo(120), captured_at: hoursAgo(0.8) });
    const { amount } = changed;
    changed.amount = { value: '100.01', currency: 'RUB' };
    const added = refundInProfile('unknown to the shop');
    payments.shop.refunds.set(added.id, { ...added, created_at: hoursAgo(0.8) });
    await service.dataSource.query(
      `UPDATE payment_comparisons SET compared_to = clock_timestamp() + interval '1 second'`,
    );
    expect(await service.findBroken({ payments: paymentProvider() })).toEqual({
      'listed-payments-are-recorded': [expect.objectContaining({ payment_id: lost.id })],
      'recorded-payments-are-listed': [expect.objectContaining({ payment_id: changed.id, value: 100.01 })],
      'listed-refunds-are-recorded': [expect.objectContaining({ refund_id: added.id, value: 40 })],
      'recorded-refunds-are-listed': [expect.objectContaining({ provider_refund_id: removed.id })],
    });
    const listed = await service.runJob('audit-day');
    expect(listed).toMatchObject({ violated: 4 });
    payments.fail('list', '401');
    const unlisted = { checked: Number(listed?.['checked']) - 4, violated: 0 };
    expect(await service.runJob('audit-day')).toEqual(unlisted);
    expect(log.lines.some((line) => line.includes('the audit did not check payments'))).toBe(true);
    // The audit at the end finds no difference.
    changed.amount = amount;
    payments.shop.refunds.set(removed.id, removed);
    await service.runJob('compare-payments');
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
    for (const one of [old, recent]) payments.shop.cancel(paymentOf(one));
    payments.shop.pay(paymentOf(credited));
    for (const one of [old, recent, credited]) await sync(paymentOf(one));
    await service.runJob('retention');
    expect((await call<{ items: Deposit[] }>('/deposits')).body.items).toEqual([
      expect.objectContaining({ id: recent.id, receipt_email: 'a@example.com' }),
      // A deposit that can no longer be refunded loses its address.
      expect.objectContaining({ id: credited.id, receipt_email: null }),
    ]);
  });
});
