import { ALL_PAYMENT_SCOPES } from '../../src/auth';
import { PaymentsSandbox } from '../../src/sandbox';
import { fetchAs } from '../support/api-client';
import { eventually } from '../support/built-service';
import { forAllTests } from '../support/fixtures';
import { type Customer, Replicas } from '../support/replicas';
import { paymentsEnvironment } from '../support/test-service';

// Prints how long a credit takes after its notification, with many other deposits pending.

const PENDING = Number(process.env['PENDING_DEPOSITS'] ?? 1000);
const PAID = 200;
const EVERY_MS = 50;
const PENDING_OF_A_CUSTOMER = 20;
/** Other tests may load the machine. Without its notification, a deposit is checked only after seconds. */
const MOST_MS = { p50: 1000, p99: 10_000 };
const payments = forAllTests(() => PaymentsSandbox.start());
const replicas = forAllTests(() => Replicas.open({ environment: paymentsEnvironment(payments) }));

async function deposit(baseUrl: string, customer: Customer, key: string): Promise<string> {
  const body = { amount: '100.00' };
  const response = await fetchAs(customer, 'POST', `${baseUrl}/deposits`, body, { 'Idempotency-Key': key });
  const { payment_url: url } = (await response.json()) as { payment_url: string };
  return url.split('/').at(-1) ?? '';
}

it(`a payment is credited soon after its notification, with ${PENDING} deposits pending`, async () => {
  const { baseUrl } = await replicas.start();
  const ids: string[] = [];
  const depositAll = async (): Promise<void> => {
    const customer = await replicas.createCustomer('1.00', ALL_PAYMENT_SCOPES);
    for (let n = 0; n < PENDING_OF_A_CUSTOMER; n += 1) {
      ids.push(await deposit(baseUrl, customer, `deposit-${n}`));
    }
  };
  const customers = Math.ceil((PENDING + PAID) / PENDING_OF_A_CUSTOMER);
  await Promise.all(Array.from({ length: customers }, depositAll));
  payments.notifier.url = `${baseUrl}/payments/sandbox/notifications`;
  const paid = ids.slice(-PAID);
  for (const [at, id] of paid.entries()) setTimeout(() => payments.pay(id), at * EVERY_MS);
  const times = await eventually(async () => {
    const rows = await replicas.query<{ ms: number }>(
      `SELECT extract(epoch FROM closed_at - paid_at)::double precision * 1000 AS ms
         FROM payments WHERE state = 'credited' ORDER BY ms`,
    );
    return rows.length === PAID && rows.map(({ ms }) => Math.round(ms));
  });
  const at = (part: number): number => times[Math.ceil(part * PAID) - 1] ?? Infinity;
  const [p50, p99] = [at(0.5), at(0.99)];
  process.stdout.write(`${JSON.stringify({ pending: PENDING, paid: PAID, p50, p99, most: times.at(-1) })}\n`);
  expect(p50).toBeLessThanOrEqual(MOST_MS.p50);
  expect(p99).toBeLessThanOrEqual(MOST_MS.p99);
  await replicas.audit();
}, 180_000);
