import { eventually } from '../support/built-service';
import { BEGINNINGS, CALLS_END, HELD, STAGES } from '../support/crash-matrix';
import { forAllTests } from '../support/fixtures';
import { sendRaw } from '../support/raw-http';
import {
  type Customer,
  expectNoRefusal,
  purchase,
  Replicas,
  send,
  sendUntilResponse,
} from '../support/replicas';

const STEPS = { settle: 'INSERT INTO proxies', claim: 'WITH waiting AS (' };
const BATCH_SIZE = 4;

interface Stopped {
  readonly customers: readonly Customer[];
  readonly lost: readonly Promise<unknown>[];
  readonly letGo: () => unknown;
}

jest.setTimeout(120_000);

describe('kill -9 of a replica whose orders are sent as one batch', () => {
  const replicas = forAllTests(() =>
    Replicas.open({
      environment: { PROVIDER_RATE_PER_SECOND: '50', PURCHASE_WAIT_MS: '5000' },
    }),
  );
  const survivor = forAllTests(() => replicas.start());
  const victim = forAllTests(() => replicas.start({ throughRelay: true, environment: HELD }));

  const createCustomers = (): Promise<Customer[]> =>
    Promise.all(Array.from({ length: BATCH_SIZE }, () => replicas.createCustomer()));

  const order = (customer: Customer): Promise<unknown> =>
    send(victim.baseUrl, purchase(customer, 'k')).catch(() => 'lost');

  const orderTogether = (customers: readonly Customer[]): Promise<Promise<unknown>[]> => {
    // The survivor would send what the victim is kept from sending.
    survivor.kill('SIGSTOP');
    return replicas.holdPermits(async () => {
      const lost = customers.map(order);
      await eventually(async () => {
        const waiting = await replicas.query(
          `SELECT FROM orders WHERE state = 'reserved' AND user_id = ANY ($1)`,
          [customers.map(({ id }) => id)],
        );
        return waiting.length === customers.length;
      });
      return lost;
    });
  };

  async function orderAtOnce(customers: readonly Customer[]): Promise<Promise<unknown>[]> {
    victim.kill('SIGSTOP');
    let written = 0;
    const lost = customers.map((customer) => {
      const { path, body } = purchase(customer);
      return sendRaw(victim.baseUrl, {
        method: 'POST',
        path,
        token: customer.token,
        headers: { 'Content-Type': 'application/json', 'Idempotency-Key': 'k' },
        body: JSON.stringify(body),
        onWritten: () => (written += 1),
      }).catch(() => 'lost');
    });
    await eventually(() => written === customers.length);
    victim.kill('SIGCONT');
    return lost;
  }

  async function expectOneOrderEach(customers: readonly Customer[]): Promise<void> {
    await Promise.all(customers.map((customer) => send(survivor.baseUrl, purchase(customer, 'k'))));
    await replicas.untilSettled();
    const responses = await Promise.all(
      customers.map((customer) => sendUntilResponse(() => survivor.baseUrl, purchase(customer, 'k'))),
    );
    expect(responses.map(({ status }) => status)).toEqual(customers.map(() => 200));
    await replicas.untilSettled();
    const counts = await replicas.query<{ count: number }>(
      'SELECT count(*) AS count FROM proxies WHERE user_id = ANY ($1) GROUP BY user_id',
      [customers.map(({ id }) => id)],
    );
    expect(counts).toEqual(customers.map(() => ({ count: 1 })));
    const owned = await replicas.query<{ id: string }>('SELECT provider_proxy_id AS id FROM proxies');
    const { sales } = await replicas.control.getState();
    const sold = sales.flatMap(({ proxyIds }) => proxyIds.map(String));
    expect(sold.toSorted()).toEqual(owned.map(({ id }) => id).toSorted());
    await replicas.audit();
  }

  async function stopAt(
    statement: string,
    moment: 'before' | 'after',
    begin = orderTogether,
  ): Promise<Stopped> {
    const customers = await createCustomers();
    const caught = replicas.relay.catchNext({ statement, moment, action: 'hold' });
    const lost = await begin(customers);
    await caught.reached;
    return { customers, lost, letGo: caught.letGo };
  }

  async function stopCall(stage: (typeof STAGES)[number]): Promise<Stopped> {
    const customers = await createCustomers();
    const gate = await replicas.control.addGate({ method: 'buy', stage });
    const lost = await orderTogether(customers);
    const { count } = await replicas.control.untilGateReached(gate);
    expect(count).toBe(String(BATCH_SIZE));
    return { customers, lost, letGo: () => replicas.control.openGate(gate) };
  }

  const countPlaced = async ({ customers }: Stopped): Promise<number> => {
    const ids = customers.map(({ id }) => id);
    return (await replicas.query('SELECT FROM orders WHERE user_id = ANY ($1)', [ids])).length;
  };

  it('at each stage of a call, and at each step: each order is executed and paid once', async () => {
    // The victim fetches what it checks orders against.
    await send(victim.baseUrl, purchase(await replicas.createCustomer()));
    const stopped: Stopped[] = [];
    for (const stage of STAGES) stopped.push(await stopCall(stage));
    stopped.push(await stopAt(STEPS.settle, 'after'));
    const settled = await stopAt(STEPS.settle, 'before');
    const claimed = await stopAt(STEPS.claim, 'before');
    const opener = await replicas.createCustomer();
    const first = replicas.relay.catchNext({ statement: 'place_orders', moment: 'before', action: 'hold' });
    stopped.push({ customers: [opener], lost: [order(opener)], letGo: first.letGo });
    await first.reached;
    // The others gather for the next statement while the first one runs.
    const unplaced = await stopAt('place_orders', 'before', orderAtOnce);
    const placed = await stopAt('place_orders', 'after', orderAtOnce);
    first.letGo();
    expect([await countPlaced(unplaced), await countPlaced(placed)]).toEqual([0, BATCH_SIZE]);
    stopped.push(settled, claimed, unplaced, placed);

    // These commit after the death of their replica.
    const lock = await replicas.lockTable('orders', 'EXCLUSIVE');
    settled.letGo();
    await lock.untilWaiting(BEGINNINGS.settle);
    claimed.letGo();
    await lock.untilWaiting(BEGINNINGS.claim);
    victim.kill('SIGKILL');
    await victim.ended();
    await lock.release();
    await replicas.untilEnded(BEGINNINGS.claim);
    for (const { letGo } of stopped) await letGo();
    await replicas.query(CALLS_END);
    survivor.kill('SIGCONT');
    expectNoRefusal(await Promise.all(stopped.flatMap(({ lost }) => lost)));
    await expectOneOrderEach(stopped.flatMap(({ customers }) => customers));
  });
});
