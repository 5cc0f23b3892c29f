import { ALL_PAYMENT_SCOPES, ALL_STAFF_SCOPES } from '../../src/auth';
import { PaymentsSandbox } from '../../src/sandbox';
import { BUILD_TIMEOUT_MS, type BuiltService, eventually } from '../support/built-service';
import { forAllTests } from '../support/fixtures';
import { type Customer, type Order, Replicas, send, type ServiceResponse } from '../support/replicas';
import { paymentsEnvironment } from '../support/test-service';

// Kills a replica before and after each commit of a deposit and its refund, and during their calls. One kill
// stops several, each at another step. Each is paid, credited and refunded once.

jest.setTimeout(120_000);

const MOMENTS = [
  ['before', 'unread'],
  ['after', 'late'],
] as const;

const STEPS = {
  place: 'INSERT INTO deposits (user_id, provider, amount, idempotency_key',
  attach: 'UPDATE deposits SET provider_payment_id = $3',
  credit: `AND state <> 'succeeded'`,
  hold: 'INSERT INTO deposit_refunds (deposit_id, user_id, amount, state, provider, reason, action_id',
  refund: `SET state = 'succeeded', provider_refund_id`,
};

const payments = forAllTests(() => PaymentsSandbox.start());
const replicas = forAllTests(() => Replicas.open({ environment: paymentsEnvironment(payments) }));
const staff = forAllTests(() => replicas.createCustomer('1.00', ALL_STAFF_SCOPES));
let victim: BuiltService;
let survivor: BuiltService;

beforeAll(async () => {
  survivor = await replicas.start();
}, BUILD_TIMEOUT_MS);
beforeEach(async () => {
  victim = await replicas.start({ throughRelay: true });
  payments.resetFaults();
  notify(survivor);
});

const notify = ({ baseUrl }: BuiltService) => {
  payments.notifier.url = `${baseUrl}/payments/sandbox/notifications`;
};
const createCustomer = () => replicas.createCustomer('1.00', ALL_PAYMENT_SCOPES);
const depositOf = (customer: Customer): Order => ({
  customer,
  key: 'deposit',
  path: '/deposits',
  body: { amount: '100.00' },
});

const succeed = (order: Order): Promise<ServiceResponse> =>
  eventually(async () => {
    const response = await send(survivor.baseUrl, order).catch(() => null);
    return response && response.status < 300 && response;
  });

const paymentsOf = ({ id }: Customer) =>
  [...payments.shop.payments.values()].filter(({ metadata }) => metadata['user_id'] === String(id));

async function balanceOf({ id }: Customer): Promise<[available: string, held: string]> {
  const [account] = await replicas.query<{ available: string; held: string }>(
    'SELECT available, held FROM accounts WHERE user_id = $1',
    [id],
  );
  return [account?.available ?? '', account?.held ?? ''];
}

/** Makes later checks due now, until the balance is this one. */
const untilBalance = (customer: Customer, available: string) =>
  eventually(async () => {
    await replicas.query(`UPDATE deposits SET next_read_at = now() WHERE state = 'pending'`);
    await replicas.query(`UPDATE deposit_refunds SET next_try_at = now() WHERE state = 'held'`);
    const [now, held] = await balanceOf(customer);
    return now === available && held === '0.00';
  });

async function paid(customer: Customer): Promise<number> {
  const { body } = await succeed(depositOf(customer));
  payments.pay(paymentsOf(customer)[0]?.id ?? '');
  await untilBalance(customer, '101.00');
  return Number(body['id']);
}

async function stopAt(statement: string, moment: 'before' | 'after', begin: () => void): Promise<() => void> {
  const caught = replicas.relay.catchNext({ statement, moment, action: 'hold' });
  begin();
  await caught.reached;
  return caught.letGo;
}

const sendToVictim = (order: Order) => () => void send(victim.baseUrl, order).catch(() => undefined);

async function leaveWithoutResponse(method: 'create' | 'refund', fault: 'unread' | 'late', order: Order) {
  payments.fail(method, fault);
  const before = payments.calls[method];
  sendToVictim(order)();
  await eventually(() => payments.calls[method] > before);
}

async function killVictim(letGo: readonly (() => void)[]): Promise<void> {
  victim.kill('SIGKILL');
  for (const one of letGo) one();
  await victim.ended();
  survivor.kill('SIGCONT');
}

async function refundOf(customer: Customer): Promise<Order> {
  const path = `/staff/deposits/${await paid(customer)}/refund`;
  return { customer: staff, key: `refund-${customer.id}`, path, body: { reason: 'test' } };
}

const countRefunds = (customer: Customer): number =>
  [...payments.shop.refunds.values()].filter(({ payment_id: id }) => id === paymentsOf(customer)[0]?.id)
    .length;

it.each(MOMENTS)(
  'kill -9 %s the commits of deposits, payments, credits and refunds, while calls are %s: each is made once',
  async (moment, fault) => {
    const [uncreated, credited] = [await createCustomer(), await createCustomer()];
    const [attached, placed] = [await createCustomer(), await createCustomer()];
    const [called, ended, held] = [await createCustomer(), await createCustomer(), await createCustomer()];
    await succeed(depositOf(credited));
    const refunds = [await refundOf(called), await refundOf(ended), await refundOf(held)] as const;
    survivor.kill('SIGSTOP');
    await leaveWithoutResponse('refund', fault, refunds[0]);
    await leaveWithoutResponse('create', fault, depositOf(uncreated));
    notify(victim);
    const letGo = [
      await stopAt(STEPS.refund, moment, sendToVictim(refunds[1])),
      await stopAt(STEPS.hold, moment, sendToVictim(refunds[2])),
      await stopAt(STEPS.credit, moment, () => payments.pay(paymentsOf(credited)[0]?.id ?? '')),
      await stopAt(STEPS.attach, moment, sendToVictim(depositOf(attached))),
      await stopAt(STEPS.place, moment, sendToVictim(depositOf(placed))),
    ];
    await killVictim(letGo);
    notify(survivor);

    for (const customer of [uncreated, credited, attached, placed]) {
      await succeed(depositOf(customer));
      const made = paymentsOf(customer);
      expect(made).toHaveLength(1);
      payments.pay(made[0]?.id ?? '');
      await untilBalance(customer, '101.00');
    }
    for (const refund of refunds) await succeed(refund);
    await untilBalance(ended, '1.00');
    await untilBalance(held, '1.00');
    // A call that was not executed is repeated once the list lacks its refund.
    await untilBalance(called, '1.00');
    expect([called, ended, held].map(countRefunds)).toEqual([1, 1, 1]);
    await replicas.audit();
  },
);
