import { eventually } from '../support/built-service';
import { BEGINNINGS, CALLS_END, HELD, STAGES } from '../support/crash-matrix';
import { forAllTests, forEachTest } from '../support/fixtures';
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
const FROM_LAST = ['settle', 'claim'] as const;
const BATCH_SIZE = 4;

jest.setTimeout(120_000);

describe('kill -9 of a replica whose orders are sent as one batch', () => {
  const replicas = forAllTests(() =>
    Replicas.open({
      environment: { PROVIDER_RATE_PER_SECOND: '50', PURCHASE_WAIT_MS: '5000' },
    }),
  );
  const survivor = forAllTests(() => replicas.start());
  const victim = forEachTest(() => replicas.start({ throughRelay: true, environment: HELD }));
  beforeEach(async () => {
    // The victim fetches what it checks orders against.
    await send(victim.baseUrl, purchase(await replicas.createCustomer()));
  });

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

  async function killVictim(
    stopped: readonly { lost: Promise<unknown>[] }[],
    release: () => unknown = () => undefined,
  ): Promise<void> {
    victim.kill('SIGKILL');
    await victim.ended();
    await release();
    await replicas.query(CALLS_END);
    survivor.kill('SIGCONT');
    expectNoRefusal(await Promise.all(stopped.flatMap(({ lost }) => lost)));
  }

  async function expectOneOrderEach(customers: readonly Customer[]): Promise<void> {
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

  async function stopAtEachStep(moment: 'before' | 'after') {
    const stopped = [];
    for (const step of FROM_LAST) {
      const customers = await createCustomers();
      const caught = replicas.relay.catchNext({ statement: STEPS[step], moment, action: 'hold' });
      const lost = await orderTogether(customers);
      await caught.reached;
      stopped.push({ step, customers, lost, letGo: caught.letGo });
    }
    return stopped;
  }

  it.each(['before', 'after'] as const)(
    'at claim, settle and when they are placed, %s the commits: each order is executed and paid once',
    async (moment) => {
      const stopped = await stopAtEachStep(moment);
      const [opener, customers] = [await replicas.createCustomer(), await createCustomers()];
      const first = replicas.relay.catchNext({ statement: 'place_orders', moment: 'before', action: 'hold' });
      const lost = [order(opener)];
      await first.reached;
      // The others gather for the next statement while the first one runs.
      const caught = replicas.relay.catchNext({ statement: 'place_orders', moment, action: 'hold' });
      lost.push(...(await orderAtOnce(customers)));
      await caught.reached;
      first.letGo();
      const placed = await replicas.query('SELECT FROM orders WHERE user_id = ANY ($1)', [
        customers.map(({ id }) => id),
      ]);
      expect(placed).toHaveLength(moment === 'after' ? BATCH_SIZE : 0);
      await killVictim([{ lost }, ...stopped]);
      for (const { letGo } of [caught, ...stopped]) letGo();
      await expectOneOrderEach([opener, ...customers, ...stopped.flatMap((one) => one.customers)]);
    },
  );

  it('while statements wait for a lock, and at each stage of a call: each order is paid once', async () => {
    const called: { customers: Customer[]; lost: Promise<unknown>[]; gate: number }[] = [];
    for (const stage of STAGES) {
      const customers = await createCustomers();
      const gate = await replicas.control.addGate({ method: 'buy', stage });
      const lost = await orderTogether(customers);
      const { count } = await replicas.control.untilGateReached(gate);
      expect(count).toBe(String(BATCH_SIZE));
      called.push({ customers, lost, gate });
    }
    const stopped = await stopAtEachStep('before');
    const lock = await replicas.lockTable('orders', 'EXCLUSIVE');
    for (const { step, letGo } of stopped) {
      letGo();
      await lock.untilWaiting(BEGINNINGS[step]);
    }
    await killVictim([...called, ...stopped], async () => {
      await lock.release();
      // The claim of the dead replica is written now.
      await eventually(async () => {
        const running = await replicas.query(
          `SELECT FROM pg_stat_activity WHERE state = 'active' AND starts_with(query, $1)`,
          [BEGINNINGS.claim],
        );
        return running.length === 0;
      });
      for (const { gate } of called) await replicas.control.openGate(gate);
    });
    await expectOneOrderEach([...called, ...stopped].flatMap(({ customers }) => customers));
  });
});
