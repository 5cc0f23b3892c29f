import { ALL_PAYMENT_SCOPES, ALL_STAFF_SCOPES } from '../../src/auth';
import { PaymentsSandbox } from '../../src/sandbox';
import { BUILD_TIMEOUT_MS, type BuiltService, eventually } from '../support/built-service';
import { forAllTests } from '../support/fixtures';
import { type Customer, type Order, Replicas, send, type ServiceResponse } from '../support/replicas';
import { paymentsEnvironment } from '../support/test-service';

// Kills a replica before and after each commit of a deposit and its refund, and during their calls. One kill
// stops several, each at another step. Each is paid, credited and refunded once.

jest.setTimeout(120_000);

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
  victim = await replicas.start({ throughRelay: true });
  notify(survivor);
}, BUILD_TIMEOUT_MS);

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

async function prepare(moment: 'before' | 'after', fault: 'unread' | 'late') {
  const [uncreated, credited] = [await createCustomer(), await createCustomer()];
  const [attached, placed] = [await createCustomer(), await createCustomer()];
  const refunded = [await createCustomer(), await createCustomer(), await createCustomer()];
  await succeed(depositOf(credited));
  const refunds: Order[] = [];
  for (const customer of refunded) refunds.push(await refundOf(customer));
  const [called, ended, held] = refunds;
  if (!called || !ended || !held) throw new Error('three are refunded');
  const beginnings = {
    refund: sendToVictim(ended),
    hold: sendToVictim(held),
    credit: () => payments.pay(paymentsOf(credited)[0]?.id ?? ''),
    attach: sendToVictim(depositOf(attached)),
    place: sendToVictim(depositOf(placed)),
  };
  const deposited = [uncreated, credited, attached, placed];
  return { moment, fault, uncreated, called, deposited, refunded, refunds, beginnings };
}

it('kill -9 at each commit of deposits and refunds, and during their calls: each is made once', async () => {
  const cases = [await prepare('before', 'unread'), await prepare('after', 'late')];
  survivor.kill('SIGSTOP');
  for (const { fault, called, uncreated } of cases) {
    await leaveWithoutResponse('refund', fault, called);
    await leaveWithoutResponse('create', fault, depositOf(uncreated));
  }
  notify(victim);
  const letGo: (() => void)[] = [];
  for (const step of ['refund', 'hold', 'credit', 'attach', 'place'] as const) {
    for (const { moment, beginnings } of cases) {
      letGo.push(await stopAt(STEPS[step], moment, beginnings[step]));
    }
  }
  await killVictim(letGo);
  notify(survivor);

  for (const customer of cases.flatMap(({ deposited }) => deposited)) {
    await succeed(depositOf(customer));
    const made = paymentsOf(customer);
    expect(made).toHaveLength(1);
    payments.pay(made[0]?.id ?? '');
    await untilBalance(customer, '101.00');
  }
  for (const refund of cases.flatMap(({ refunds }) => refunds)) await succeed(refund);
  for (const customer of cases.flatMap(({ refunded }) => refunded)) {
    // A call that was not executed is repeated once the list lacks its refund.
    await untilBalance(customer, '1.00');
    expect(countRefunds(customer)).toBe(1);
  }
  await replicas.audit();
});
