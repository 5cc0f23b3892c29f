import { BUILD_TIMEOUT_MS, type BuiltService, eventually, killLeftovers } from '../support/built-service';
import { STAGES } from '../support/crash-matrix';
import { type Customer, purchase, Replicas, send, sendUntilAnswered } from '../support/replicas';

const STEPS = { claim: `SET state = 'submitting'`, settle: 'INSERT INTO proxies' };
const MOMENTS = [
  ['claim', 'before'],
  ['claim', 'after'],
  ['settle', 'before'],
  ['settle', 'after'],
] as const;
const GROUP_SIZE = 4;

describe('kill -9 of a replica whose orders travel together', () => {
  let replicas: Replicas;
  /** Takes the requests, and dies. */
  let victim: BuiltService;
  /** Is there all the time, and reconciles. */
  let survivor: BuiltService;
  let customers: Customer[];

  beforeAll(async () => {
    replicas = await Replicas.open({
      environment: { PROVIDER_RATE_PER_SECOND: '50', PURCHASE_WAIT_MS: '10000' },
    });
    survivor = await replicas.start();
  }, BUILD_TIMEOUT_MS);
  beforeEach(async () => {
    victim = await replicas.start({ throughRelay: true });
    customers = await Promise.all(Array.from({ length: GROUP_SIZE }, () => replicas.createCustomer()));
    // What the orders are checked against is known at the victim.
    await send(victim.baseUrl, purchase(await replicas.createCustomer()));
  });
  afterAll(async () => {
    await killLeftovers();
    await replicas.close();
  });

  /** All orders wait in line when the first turn comes. */
  async function orderTogether(): Promise<Promise<unknown>[]> {
    const pause = (interval: string) =>
      replicas.query('UPDATE call_slots SET paused_until = clock_timestamp() + $1::interval', [interval]);
    await pause('1 second');
    const lost = customers.map((customer) =>
      send(victim.baseUrl, purchase(customer, 'k')).catch(() => 'lost'),
    );
    await eventually(async () => {
      await pause('1 second');
      const waiting = await replicas.query(
        `SELECT FROM orders WHERE state = 'reserved' AND user_id = ANY ($1)`,
        [customers.map(({ id }) => id)],
      );
      return waiting.length === GROUP_SIZE;
    });
    await pause('0');
    return lost;
  }

  async function expectOneOrderEach(lost: readonly Promise<unknown>[]): Promise<void> {
    expect(await Promise.all(lost)).toEqual(Array.from({ length: GROUP_SIZE }, () => 'lost'));
    const answers = await Promise.all(
      customers.map((customer) => sendUntilAnswered(() => survivor.baseUrl, purchase(customer, 'k'))),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: GROUP_SIZE }, () => 200));
    await replicas.untilSettled();
    const ids = customers.map(({ id }) => id);
    const owned = await replicas.query<{ count: number }>(
      'SELECT count(*) AS count FROM proxies WHERE user_id = ANY ($1) GROUP BY user_id',
      [ids],
    );
    expect(owned).toEqual(Array.from({ length: GROUP_SIZE }, () => ({ count: 1 })));
    const sold = (await replicas.control.getState()).sales.filter(({ descr }) =>
      ids.some((id) => descr.includes(`.u${id}.`)),
    );
    expect(sold.flatMap(({ proxyIds }) => proxyIds)).toHaveLength(GROUP_SIZE);
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

  it.each(STAGES)('when the provider has %s it: each order is carried out and paid once', async (stage) => {
    const gate = await replicas.control.addGate({ method: 'buy', stage });
    const lost = await orderTogether();
    const { count } = await replicas.control.untilGateReached(gate);
    expect(count).toBe(String(GROUP_SIZE));
    victim.kill('SIGKILL');
    await Promise.all(lost);
    await replicas.control.openGate(gate);
    await expectOneOrderEach(lost);
  });
});
