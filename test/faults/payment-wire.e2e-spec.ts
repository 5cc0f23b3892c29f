import { randomUUID } from 'node:crypto';
import { Money } from '../../src/common';
import { queryRows } from '../../src/database';
import { PaymentProvider } from '../../src/payments';
import { DepositBeingPrepared } from '../../src/payments/deposits/deposits.errors';
import { DepositsService } from '../../src/payments/deposits/deposits.service';
import { PaymentSync } from '../../src/payments/deposits/payment-sync';
import { PaymentError } from '../../src/payments/provider/payment-provider';
import { PaymentsSandbox } from '../../src/sandbox';
import { eventually } from '../support/built-service';
import { beforeClosing, forAllTests } from '../support/fixtures';
import { createStaff } from '../support/staff';
import { startTestService, type TestUser } from '../support/test-service';

// An odd field in a response of the payment provider costs only its row, and the row is used once readable.

jest.setTimeout(120_000);

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type Row = Record<string, Json>;

const EACH = 20;
const HUGE = '9'.repeat(10_000);
const MISSING = Symbol('missing');
const CHANGES: Readonly<Record<string, (value: Json) => Json | typeof MISSING>> = {
  null: () => null,
  missing: () => MISSING,
  number: (value) => (typeof value === 'number' ? value : 852_340),
  text: (value) => `text of ${JSON.stringify(value)}`,
  empty: () => '',
  huge: () => HUGE,
  NUL: (value) => `\0${JSON.stringify(value)}`,
  array: (value) => [value],
  object: (value) => ({ a: value }),
  negative: (value) => (Number(value) > 0 ? `-${Number(value)}` : -1),
};

const placesIn = (row: Row): string[][] =>
  Object.entries(row).flatMap(([name, value]) => [
    [name],
    ...(typeof value === 'object' && value !== null && !Array.isArray(value)
      ? placesIn(value).map((inner) => [name, ...inner])
      : []),
  ]);

function changed(row: Row, [name = '', ...inner]: readonly string[], way: string): Row {
  const value = row[name] ?? null;
  const next = inner.length > 0 ? changed((value ?? {}) as Row, inner, way) : CHANGES[way]?.(value);
  const { [name]: _, ...others } = row;
  return next === MISSING || next === undefined ? others : { ...others, [name]: next };
}

function mutations(row: Row) {
  const all = placesIn(row).flatMap((place) => Object.keys(CHANGES).map((way) => ({ place, way })));
  return { all, at: (n: number) => all[n % all.length] ?? { place: [], way: 'null' } };
}

const payments = forAllTests(() => PaymentsSandbox.start());
const service = forAllTests(() => startTestService({ payments }));
const staff = forAllTests(() => createStaff(service));
beforeClosing(async () => {
  expect(await service.findBroken({ payments: provider() })).toEqual({});
});
beforeEach(() => {
  payments.notifier.goWrong({ lost: true });
  // Keeps the deposits of the previous test out of the comparison.
  const long = new Date(Date.now() - 2 * 3_600_000).toISOString();
  for (const payment of payments.shop.payments.values()) {
    Object.assign(payment, {
      created_at: long,
      ...(payment.captured_at !== undefined && { captured_at: long }),
    });
  }
});
afterEach(() => payments.resetFaults());

const provider = () => service.app.get(PaymentProvider, { strict: false });
const createCustomer = () => service.createUser({ balance: '0.00' });

/** Of a deposit that this database lacks, or of a payment that is not ours. */
async function paidBy(customer: TestUser, isOwn: boolean): Promise<string> {
  const [{ environment }] = await service.dataSource.query('SELECT environment FROM installation');
  const key = randomUUID();
  const mark = {
    deposit_id: '1000000',
    deposit_key: key,
    user_id: String(customer.id),
    environment,
    idempotency_key: key,
  };
  const { id } = payments.shop.create(key, {
    amount: { value: '100.00', currency: 'RUB' },
    description: 'Deposit',
    metadata: isOwn ? mark : {},
    return_url: 'http://127.0.0.1',
  });
  payments.shop.pay(id);
  return id;
}

const available = async (customer: TestUser) => (await service.balanceOf(customer)).available;
const named = (...names: readonly string[]): Row => Object.fromEntries(names.map((name) => [name, 'a']));
const PAYMENT: Row = {
  ...named('id', 'status', 'created_at', 'captured_at', 'test'),
  amount: named('value', 'currency'),
  confirmation: named('confirmation_url'),
  cancellation_details: named('reason'),
  metadata: named('deposit_id', 'deposit_key', 'user_id', 'environment', 'idempotency_key'),
};
const REFUND: Row = {
  ...named('id', 'payment_id', 'status', 'created_at'),
  amount: named('value', 'currency'),
  metadata: named('refund_key'),
};

it('a list with every odd row is compared: the others are credited, and these when they can be', async () => {
  const customer = await createCustomer();
  const { all, at } = mutations(PAYMENT);
  const known = payments.shop.payments.size;
  for (let n = 0; n < all.length; n += 1) await paidBy(customer, true);
  for (let n = 0; n < all.length; n += 1) await paidBy(customer, false);
  const untouched = await createCustomer();
  const last = await paidBy(untouched, true);
  const order = new Map([...payments.shop.payments.keys()].map((id, n) => [id, n - known]));
  payments.alter = (method, result) => {
    if (method !== 'list') return result;
    const { items, ...rest } = result as { items: Row[] };
    const altered = items.map((row) => {
      const n = order.get(row['id'] as string) ?? -1;
      if (n < 0 || row['id'] === last) return row;
      const { place, way } = at(n);
      return changed(row, place, way);
    });
    return { ...rest, items: altered };
  };
  const odd = await service.runJob('compare-payments');
  expect(odd?.['unusable']).toBeGreaterThan(all.length / 4);
  expect(await available(untouched)).toBe('100.00');
  payments.alter = undefined;
  expect(await service.runJob('compare-payments')).toMatchObject({ unusable: 0 });
  // An odd row may be left to staff: of an own one whose mark could not be read they know the id.
  const [recorded] = await service.dataSource.query<object[]>(
    `SELECT count(*)::integer AS count FROM payments WHERE payment_id = ANY ($1)`,
    [[...payments.shop.payments.keys()]],
  );
  expect(recorded).toEqual({ count: payments.shop.payments.size });
});

it('an odd response to a creation or a reading is 503 at most, and the money is found', async () => {
  const { all } = mutations(PAYMENT);
  const known = new Set(payments.shop.payments.keys());
  payments.alter = (method, result) => {
    const row = result as { id: string; metadata: Record<string, string> };
    const { place, way } = all[Number(row.metadata['idempotency_key'])] ?? {};
    if (!place || !way || method === 'list') return result;
    return changed(result as Row, place, way);
  };
  const create = async (from: number): Promise<void> => {
    const { id } = await createCustomer();
    for (let n = from; n < Math.min(from + EACH, all.length); n += 1) {
      await service.app
        .get(DepositsService, { strict: false })
        .create(id, { amount: Money.parse('100.00'), receipt_email: null }, String(n))
        .catch((error: unknown) => expect(error).toBeInstanceOf(DepositBeingPrepared));
    }
  };
  await Promise.all(Array.from({ length: Math.ceil(all.length / EACH) }, (_, n) => create(n * EACH)));
  const made = [...payments.shop.payments.keys()].filter((id) => !known.has(id));
  expect(made).toHaveLength(all.length);
  await Promise.all(
    made.map(async (id) => {
      payments.shop.pay(id);
      await service.app
        .get(PaymentSync, { strict: false })
        .read(id)
        .catch((error: unknown) => expect(error).toBeInstanceOf(PaymentError));
    }),
  );
  payments.alter = undefined;
  await service.runJob('compare-payments');
  const recorded = await service.dataSource.query<object[]>(
    'SELECT payment_id FROM payments WHERE payment_id = ANY ($1)',
    [made],
  );
  expect(recorded).toHaveLength(made.length);
});

it('an odd response to a refund, or in a list of them, neither loses nor repeats it', async () => {
  const customer = await createCustomer();
  const payment = await paidBy(customer, true);
  await service.runJob('compare-payments');
  const [{ id }] = await service.dataSource.query('SELECT id FROM deposits WHERE provider_payment_id = $1', [
    payment,
  ]);
  const { all, at } = mutations(REFUND);
  const order = new Map<Json | undefined, number>();
  const alterRow = (refund: Row): Row => {
    const key = JSON.stringify(refund['metadata']);
    if (!order.has(key)) order.set(key, order.size);
    const { place, way } = at(order.get(key) ?? 0);
    return changed(refund, place, way);
  };
  payments.alter = (method, result) => {
    if (method === 'refund') return alterRow(result as Row);
    if (method !== 'refunds') return result;
    return { items: (result as { items: Row[] }).items.map(alterRow) };
  };
  await Promise.all(
    all.map(async (_, n) => {
      const { status } = await staff.post(
        `/staff/deposits/${id}/refund`,
        { amount: '1.00', reason: 'x' },
        { 'Idempotency-Key': `refund-${n}` },
      );
      expect(status).toBe(200);
    }),
  );
  await eventually(() => order.size === all.length);
  await service.runJob('compare-payments');
  payments.alter = undefined;
  const held = () =>
    queryRows(
      service.dataSource,
      `UPDATE deposit_refunds SET next_try_at = now() WHERE state = 'held' RETURNING id`,
    );
  await eventually(async () => (await held()).length === 0);
  // Staff decide a payment whose key could not be read.
  const known = await service.dataSource.query<object[]>(
    'SELECT FROM deposit_refunds WHERE provider_refund_id = ANY ($1)',
    [[...payments.shop.refunds.keys()]],
  );
  expect([payments.shop.refunds.size, known.length]).toEqual([all.length, all.length]);
  expect(await service.balanceOf(customer)).toMatchObject({ held: '0.00' });
});
