import { ALL_PAYMENT_SCOPES } from '../../src/auth';
import { PaymentsSandbox } from '../../src/sandbox';
import { type BuiltService, eventually } from '../support/built-service';
import { forAllTests } from '../support/fixtures';
import { Replicas, send } from '../support/replicas';
import { SeededRandom } from '../support/seeded-random';
import { paymentsEnvironment } from '../support/test-service';

// Deposits in a storm of notifications, on three replicas that are killed while they are credited: each
// payment is credited once, and the books equal those of the provider of payments.

const DEPOSITS = Number(process.env['STORM_DEPOSITS'] ?? 100);
const CUSTOMERS = 30;
const AT_ONCE = 10;
const KILL_EVERY = Math.max(30, Math.floor(DEPOSITS / 40));

const payments = forAllTests(() => PaymentsSandbox.start());
const replicas = forAllTests(() =>
  Replicas.open({ environment: { ...paymentsEnvironment(payments), PAYMENTS_COMPARE_SECONDS: '2' } }),
);
const random = new SeededRandom(Number(process.env['STORM_SEED'] ?? 20_261_125));
const pick = <Item>(items: readonly Item[]): Item => {
  const item = items[Math.floor(random.next() * items.length)];
  if (item === undefined) throw new Error('nothing to choose from');
  return item;
};

it(
  `${DEPOSITS} deposits are credited once each, also if processes are killed and messages lost or doubled`,
  async () => {
    const running: BuiltService[] = await Promise.all([1, 2, 3].map(() => replicas.start()));
    const customers = await Promise.all(
      Array.from({ length: CUSTOMERS }, () => replicas.createCustomer('1.00', ALL_PAYMENT_SCOPES)),
    );
    let next = 0;
    let kills = 0;

    /** Kills a replica in the middle of what it does, and starts another in its place. */
    async function kill(): Promise<void> {
      const at = Math.floor(random.next() * running.length);
      running[at]?.kill('SIGKILL');
      kills += 1;
      running[at] = await replicas.start();
    }

    /** Requests the same deposit until a replica responds with it. */
    async function make(n: number): Promise<string> {
      const customer = customers[n % CUSTOMERS] ?? pick(customers);
      const order = {
        customer,
        key: `storm-${n}`,
        path: '/deposits',
        body: { amount: `${100 + (n % 900)}.0${n % 10}` },
      };
      return eventually(async () => {
        const { status, body } = await send(pick(running).baseUrl, order).catch(() => ({
          status: 0,
          body: {},
        }));
        return status === 201 && (body as { payment_url: string | null }).payment_url?.split('/').at(-1);
      });
    }

    async function work(): Promise<void> {
      for (let n = next; n < DEPOSITS; n = next) {
        next += 1;
        if (n % 7 === 3) payments.fail('create', pick(['lost', '500-done', '500', '429'] as const));
        if (n % 11 === 5) payments.fail('read', pick(['lost', '500', '429'] as const));
        const id = await make(n);
        payments.notifier.url = `${pick(running).baseUrl}/payments/sandbox/notifications`;
        payments.notifier.goWrong({ lost: n % 5 === 0, times: 1 + (n % 3) });
        if (n % 20 === 19) payments.cancel(id);
        else payments.pay(id);
        if (n % KILL_EVERY === KILL_EVERY - 1) await kill();
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    payments.resetFaults();
    await eventually(async () => {
      // A pause after a failure may be minutes long.
      await replicas.query(`UPDATE deposits SET next_check_at = now() WHERE state = 'pending'`);
      const [left] = await replicas.query<{ count: number }>(
        `SELECT count(*)::integer AS count FROM deposits WHERE state = 'pending'`,
      );
      return left?.count === 0;
    });

    const all = [...payments.book.payments.values()];
    const paid = all.filter(({ status }) => status === 'succeeded');
    const credited = await replicas.query<{ payment_id: string; amount: string; entries: number }>(
      `SELECT p.payment_id, p.amount, count(e.id)::integer AS entries
         FROM payments p LEFT JOIN ledger_entries e ON e.payment_id = p.id GROUP BY p.id`,
    );
    expect(all).toHaveLength(DEPOSITS);
    expect(kills).toBeGreaterThan(0);
    expect(credited.every(({ entries }) => entries === 1)).toBe(true);
    const byId = (one: readonly [string, string], other: readonly [string, string]) =>
      one[0].localeCompare(other[0]);
    expect(credited.map(({ payment_id: id, amount }) => [id, amount] as const).sort(byId)).toEqual(
      paid.map(({ id, amount }) => [id, amount.value] as const).sort(byId),
    );
    await replicas.audit();
  },
  300_000 + DEPOSITS * 200,
);
