import { BUILD_TIMEOUT_MS, type BuiltService, eventually, killLeftovers } from '../support/built-service';
import { inLongForm } from '../support/long-form';
import { type Answer, type Customer, type Order, Replicas, send } from '../support/replicas';

const PROXIES = inLongForm(1000, 250);

/** All orders wait for their deadlines before others are placed in their stead. */
jest.setTimeout(120_000);

/** A part of the statement by which the relay recognises each step. */
const STEPS = {
  accept: 'INSERT INTO bulk_prolongations',
  reserve: 'place_orders',
  queue: 'SET date_end_before',
  claim: `SET state = 'submitting'`,
  settle: 'closed_at = now()',
};

const MOMENTS = [
  ['accept', 'before'],
  ['accept', 'after'],
  ['reserve', 'before'],
  ['reserve', 'after'],
  ['queue', 'before'],
  ['queue', 'after'],
  ['claim', 'before'],
  ['claim', 'after'],
  ['settle', 'before'],
  ['settle', 'after'],
] as const;

const STAGES = ['received', 'executed', 'half-answered'] as const;

interface Totals {
  readonly proxies: number;
  readonly prolonged: number;
  readonly price_charged: string;
}
const totalsOf = ({ body }: Answer): Totals => body['totals'] as Totals;

describe(`${PROXIES} prolongations under one key`, () => {
  let replicas: Replicas;
  let survivor: BuiltService;
  let victim: BuiltService;

  beforeAll(async () => {
    replicas = await Replicas.open({
      environment: { PURCHASE_WAIT_MS: '2000', PROVIDER_TIMEOUT_MS: '2000' },
    });
    await replicas.control.setStock('6', 'ru', 1_000_000);
    await replicas.control.setBalance('100000000.00');
    survivor = await replicas.start();
  }, BUILD_TIMEOUT_MS);
  beforeEach(async () => {
    victim = await replicas.start({ throughRelay: true });
  });
  afterAll(async () => {
    await killLeftovers();
    await replicas.close();
  });

  /** A customer with these proxies, and the request that prolongs them. */
  async function prepare(): Promise<{ customer: Customer; order: Order }> {
    const customer = await replicas.createCustomer('1000000.00');
    const body = { country: 'ru', period: 30, count: PROXIES };
    const { status } = await send(survivor.baseUrl, { customer, path: '/proxies/buy', body });
    expect(status).toBe(200);
    const asked = { filter: { version: '6' }, period: 30, max_price: '500000.00' };
    return { customer, order: { customer, key: 'bulk', path: '/proxies/prolong', body: asked } };
  }

  async function expectEachOnce(customer: Customer, order: Order): Promise<void> {
    const answer = await eventually(async () => {
      const one = await send(survivor.baseUrl, order).catch(() => null);
      return one?.status === 200 && totalsOf(one).prolonged === PROXIES ? one : null;
    });
    await replicas.untilSettled();
    const rows = await replicas.query<{ id: string }>(
      'SELECT provider_proxy_id AS id FROM proxies WHERE user_id = $1',
      [customer.id],
    );
    const { prolongations } = await replicas.control.getState();
    const times = new Map(rows.map(({ id }) => [id, 0]));
    for (const { id } of prolongations.flatMap(({ proxies }) => proxies)) {
      const before = times.get(String(id));
      if (before !== undefined) times.set(String(id), before + 1);
    }
    expect([...times.values()].filter((count) => count !== 1)).toEqual([]);
    const charged = await replicas.query(
      `SELECT count(*)::int AS orders, sum(captured)::text AS price FROM orders
        WHERE user_id = $1 AND kind = 'prolongation' AND state = 'completed'`,
      [customer.id],
    );
    expect(charged).toEqual([{ orders: PROXIES, price: totalsOf(answer).price_charged }]);
    expect((await send(survivor.baseUrl, order)).replayed).toBe(true);
    await replicas.audit();
  }

  it.each(MOMENTS)(
    'are each charged once when a replica is killed at %s, %s its commit',
    async (step, moment) => {
      const { customer, order } = await prepare();
      const caught = replicas.relay.catchNext({ statement: STEPS[step], moment, action: 'hold' });
      const lost = send(victim.baseUrl, order).catch(() => 'lost');
      await caught.reached;
      victim.kill('SIGKILL');
      expect(await lost).toBe('lost');
      caught.letGo();
      await expectEachOnce(customer, order);
    },
  );

  it.each(STAGES)(
    'are each charged once when it is killed after the provider has %s a call',
    async (stage) => {
      const { customer, order } = await prepare();
      const gate = await replicas.control.addGate({ method: 'prolong', stage });
      const lost = send(victim.baseUrl, order).catch(() => 'lost');
      await replicas.control.untilGateReached(gate);
      victim.kill('SIGKILL');
      expect(await lost).toBe('lost');
      await replicas.control.openGate(gate);
      await expectEachOnce(customer, order);
    },
  );

  it('are each charged once when two replicas get the request at the same moment', async () => {
    const { customer, order } = await prepare();
    const twins = await Promise.all([send(victim.baseUrl, order), send(survivor.baseUrl, order)]);
    expect(twins.every(({ status }) => status === 200 || status === 409)).toBe(true);
    await expectEachOnce(customer, order);
    victim.kill('SIGKILL');
  });
});
