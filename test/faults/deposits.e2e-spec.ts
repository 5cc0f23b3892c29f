import { ALL_PAYMENT_SCOPES } from '../../src/auth';
import { PaymentsSandbox } from '../../src/sandbox';
import { eventually } from '../support/built-service';
import { forAllTests } from '../support/fixtures';
import { type Customer, Replicas, send } from '../support/replicas';
import { SeededRandom } from '../support/seeded-random';
import { comparePayments, untilDepositsEnded } from '../support/soak-deposits';
import { paymentsEnvironment } from '../support/test-service';

// Kills replicas while they credit a storm of notifications. Each payment must be credited once.

const DEPOSITS = Number(process.env['STORM_DEPOSITS'] ?? 40);
const CUSTOMERS = 30;
const AT_ONCE = 10;
const KILL_EVERY = Math.max(30, Math.floor(DEPOSITS / 40));
const payments = forAllTests(() => PaymentsSandbox.start());
const replicas = forAllTests(() =>
  Replicas.open({ environment: { ...paymentsEnvironment(payments), PAYMENTS_COMPARE_SECONDS: '2' } }),
);
const random = new SeededRandom(Number(process.env['STORM_SEED'] ?? 20_261_125));

it(
  `${DEPOSITS} deposits are credited once each, also if processes are killed and messages lost or doubled`,
  async () => {
    const running = await Promise.all([replicas.start(), replicas.start()]);
    const customers = await Promise.all(
      Array.from({ length: CUSTOMERS }, () => replicas.createCustomer('1.00', ALL_PAYMENT_SCOPES)),
    );
    let next = 0;
    let kills = 0;

    async function kill(): Promise<void> {
      const at = random.pick([0, 1]);
      running[at].kill('SIGKILL');
      kills += 1;
      if (kills < Math.floor(DEPOSITS / KILL_EVERY)) running[at] = await replicas.start();
    }

    async function make(n: number): Promise<string> {
      const customer = customers[n % CUSTOMERS] as Customer;
      const order = {
        customer,
        key: `storm-${n}`,
        path: '/deposits',
        body: { amount: `${100 + (n % 900)}.0${n % 10}` },
      };
      return eventually(async () => {
        const { status, body } = await send(random.pick(running).baseUrl, order).catch(() => ({
          status: 0,
          body: {},
        }));
        return status === 201 && (body as { payment_url: string | null }).payment_url?.split('/').at(-1);
      });
    }

    async function work(): Promise<void> {
      for (let n = next; n < DEPOSITS; n = next) {
        next += 1;
        if (n % 7 === 3) payments.fail('create', random.pick(['lost', '500-done', '500', '429']));
        if (n % 11 === 5) payments.fail('read', random.pick(['lost', '500', '429']));
        const id = await make(n);
        payments.notifier.url = `${random.pick(running).baseUrl}/payments/sandbox/notifications`;
        payments.notifier.goWrong({ lost: n % 5 === 0, times: 1 + (n % 3) });
        if (n % 20 === 19) payments.cancel(id);
        else payments.pay(id);
        if (n % KILL_EVERY === KILL_EVERY - 1) await kill();
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    payments.resetFaults();
    await untilDepositsEnded(replicas);

    expect(payments.shop.payments.size).toBe(DEPOSITS);
    expect(kills).toBeGreaterThan(0);
    expect(await comparePayments(replicas, payments)).toEqual([]);
    await replicas.audit();
  },
  300_000 + DEPOSITS * 200,
);
