import { BUILD_TIMEOUT_MS, type BuiltService, eventually, killLeftovers } from '../support/built-service';
import { BEGINNINGS, STAGES } from '../support/crash-matrix';
import { type Customer, purchase, Replicas, send, sendUntilAnswered } from '../support/replicas';

const STEPS = { claim: `SET state = 'submitting'`, settle: 'INSERT INTO proxies' };
const MOMENTS = [
  ['claim', 'before'],
  ['claim', 'after'],
  ['settle', 'before'],
  ['settle', 'after'],
] as const;
const BATCH_SIZE = 4;

describe('kill -9 of a replica whose orders are sent as one batch', () => {
  let replicas: Replicas;
  /** Takes the requests and is killed. */
  let victim: BuiltService;
  /** Runs all the time and reconciles. */
  let survivor: BuiltService;
  let customers: Customer[];

  beforeAll(async () => {
    replicas = await Replicas.open({
      environment: { PROVIDER_RATE_PER_SECOND: '50', PURCHASE_WAIT_MS: '5000' },
    });
    survivor = await replicas.start();
  }, BUILD_TIMEOUT_MS);
  beforeEach(async () => {
    victim = await replicas.start({ throughRelay: true });
    customers = await Promise.all(Array.from({ length: BATCH_SIZE }, () => replicas.createCustomer()));
    // The victim fetches what it checks orders against.
    await send(victim.baseUrl, purchase(await replicas.createCustomer()));
  });
  afterAll(async () => {
    await killLeftovers();
    await replicas.close();
  });

  /** Has all orders in the queue before the first permit is given. */
  const orderTogether = (): Promise<Promise<unknown>[]> =>
    replicas.holdPermits(async () => {
      const lost = customers.map((customer) =>
        send(victim.baseUrl, purchase(customer, 'k')).catch(() => 'lost'),
      );
      await eventually(async () => {
        const waiting = await replicas.query(
          `SELECT FROM orders WHERE state = 'reserved' AND user_id = ANY ($1)`,
          [customers.map(({ id }) => id)],
        );
        return waiting.length === BATCH_SIZE;
      });
      return lost;
    });

  /** @param others customers whose orders may be in a batch with theirs */
  async function expectOneOrderEach(
    lost: readonly Promise<unknown>[],
    others: readonly Customer[] = [],
  ): Promise<void> {
    expect(await Promise.all(lost)).toEqual(Array.from({ length: BATCH_SIZE }, () => 'lost'));
    const answers = await Promise.all(
      customers.map((customer) => sendUntilAnswered(() => survivor.baseUrl, purchase(customer, 'k'))),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: BATCH_SIZE }, () => 200));
    await replicas.untilSettled();
    const countOwned = (ids: readonly number[]) =>
      replicas.query<{ count: number }>(
        'SELECT count(*) AS count FROM proxies WHERE user_id = ANY ($1) GROUP BY user_id',
        [ids],
      );
    const ids = customers.map(({ id }) => id);
    expect(await countOwned(ids)).toEqual(Array.from({ length: BATCH_SIZE }, () => ({ count: 1 })));
    const everybody = [...ids, ...others.map(({ id }) => id)];
    const sold = (await replicas.control.getState()).sales.filter(({ descr }) =>
      everybody.some((id) => descr.includes(`.u${id}.`)),
    );
    const owned = (await countOwned(everybody)).reduce((sum, { count }) => sum + count, 0);
    expect(sold.flatMap(({ proxyIds }) => proxyIds)).toHaveLength(owned);
    await replicas.audit();
  }

  it.each(MOMENTS)('at %s, %s its commit: each order is carried out and paid once', async (step, moment) => {
    const caught = replicas.relay.catchNext({ statement: STEPS[step], moment, action: 'hold' });
    const lost = await orderTogether();
    await caught.reached;
    victim.kill('SIGKILL');
    await Promise.all(lost);
    caught.letGo();
    await expectOneOrderEach(lost);
  });

  it.each(['claim', 'settle'] as const)(
    'at %s, while its statement waits for a lock: each order is carried out and paid once',
    async (step) => {
      const caught = replicas.relay.catchNext({ statement: STEPS[step], moment: 'before', action: 'hold' });
      const lost = await orderTogether();
      await caught.reached;
      const lock = await replicas.lockTable('orders', 'EXCLUSIVE');
      caught.letGo();
      await lock.untilWaiting(BEGINNINGS[step]);
      victim.kill('SIGKILL');
      await Promise.all(lost);
      await lock.release();
      await expectOneOrderEach(lost);
    },
  );

  it.each(['before', 'after'] as const)(
    'when they are placed together, %s the commit: each order is carried out and paid once',
    async (moment) => {
      const opener = await replicas.createCustomer();
      const first = replicas.relay.catchNext({ statement: 'place_orders', moment: 'before', action: 'hold' });
      const lostFirst = send(victim.baseUrl, purchase(opener, 'k')).catch(() => 'lost');
      await first.reached;
      // While the statement of the first is under way, the others gather for the next, for half a second.
      const caught = replicas.relay.catchNext({ statement: 'place_orders', moment, action: 'hold' });
      const lost = customers.map((customer) =>
        send(victim.baseUrl, purchase(customer, 'k')).catch(() => 'lost'),
      );
      await caught.reached;
      first.letGo();
      const placed = await replicas.query('SELECT FROM orders WHERE user_id = ANY ($1)', [
        customers.map(({ id }) => id),
      ]);
      expect(placed).toHaveLength(moment === 'after' ? BATCH_SIZE : 0);
      victim.kill('SIGKILL');
      await Promise.all([lostFirst, ...lost]);
      caught.letGo();
      await expectOneOrderEach(lost, [opener]);
    },
  );

  it.each(STAGES)('when the provider has %s it: each order is carried out and paid once', async (stage) => {
    const gate = await replicas.control.addGate({ method: 'buy', stage });
    const lost = await orderTogether();
    const { count } = await replicas.control.untilGateReached(gate);
    expect(count).toBe(String(BATCH_SIZE));
    victim.kill('SIGKILL');
    await Promise.all(lost);
    await replicas.control.openGate(gate);
    await expectOneOrderEach(lost);
  });
});
