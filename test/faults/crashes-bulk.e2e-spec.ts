import { BUILD_TIMEOUT_MS, type BuiltService, eventually } from '../support/built-service';
import { STAGES } from '../support/crash-matrix';
import { forAllTests } from '../support/fixtures';
import { inLongForm } from '../support/long-form';
import {
  expectNoRefusal,
  type Order,
  Replicas,
  send,
  sendUntilResponse,
  type ServiceResponse,
} from '../support/replicas';

const PROXIES = inLongForm(1000, 110);
/** So many that one request needs several calls and statements. */
const ORDERS_PER_CALL = 40;

/** All orders wait for their deadlines before others are placed in their stead. */
jest.setTimeout(240_000);

/** A replica makes one claim at a time: what follows a claim is stopped before the claim. */
const STEPS = {
  settle: 'closed_at = now()',
  queue: 'SET date_end_before',
  claim: 'WITH waiting AS (',
  accept: 'INSERT INTO bulk_prolongations',
  reserve: 'place_orders',
};

interface Totals {
  readonly proxies: number;
  readonly prolonged: number;
  readonly price_charged: string;
}
const totalsOf = ({ body }: ServiceResponse): Totals => body['totals'] as Totals;

describe(`${PROXIES} prolongations under one key`, () => {
  let survivor: BuiltService;
  let victim: BuiltService | undefined;

  const replicas = forAllTests(() =>
    Replicas.open({
      environment: { PURCHASE_WAIT_MS: '2000', PROVIDER_TIMEOUT_MS: '2000' },
      tuning: { ordersPerCall: ORDERS_PER_CALL },
    }),
  );
  beforeAll(async () => {
    await replicas.control.setStock('6', 'ru', 1_000_000);
    await replicas.control.setBalance('100000000.00');
    survivor = await replicas.start();
  }, BUILD_TIMEOUT_MS);
  beforeEach(async () => {
    victim ??= await replicas.start({ throughRelay: true });
  });
  afterEach(() => replicas.audit());

  async function prepare(): Promise<Order> {
    const customer = await replicas.createCustomer('1000000.00');
    const body = { country: 'ru', period: 30, count: PROXIES };
    const purchase = { customer, key: 'first', path: '/proxies/buy', body };
    expect((await sendUntilResponse(() => survivor.baseUrl, purchase)).status).toBe(200);
    const requested = { filter: { version: '6' }, period: 30, max_price: '500000.00' };
    return { customer, key: 'bulk', path: '/proxies/prolong', body: requested };
  }

  async function killAt(stops: readonly { order: Order; stop: () => Promise<unknown> }[]): Promise<void> {
    const lost: Promise<unknown>[] = [];
    // The survivor would send what the victim is kept from sending.
    survivor.kill('SIGSTOP');
    for (const { order, stop } of stops) {
      const reached = stop();
      lost.push(send(victim?.baseUrl ?? '', order).catch(() => 'lost'));
      await reached;
    }
    victim?.kill('SIGKILL');
    survivor.kill('SIGCONT');
    victim = undefined;
    expectNoRefusal(await Promise.all(lost));
  }

  async function expectEachOnce(order: Order): Promise<void> {
    const { customer } = order;
    const response = await eventually(async () => {
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
    expect(charged).toEqual([{ orders: PROXIES, price: totalsOf(response).price_charged }]);
    expect((await send(survivor.baseUrl, order)).replayed).toBe(true);
  }

  it('are each charged once when two replicas get the request at the same moment', async () => {
    const order = await prepare();
    const twins = await Promise.all([send(victim?.baseUrl ?? '', order), send(survivor.baseUrl, order)]);
    expect(twins.every(({ status }) => status === 200 || status === 409)).toBe(true);
    await expectEachOnce(order);
  });

  it.each(['before', 'after'] as const)(
    'are each charged once when a replica is killed at each step of another request, %s its commit',
    async (moment) => {
      const held: (() => void)[] = [];
      const stops = [];
      for (const statement of Object.values(STEPS)) {
        const stop = async () => {
          const caught = replicas.relay.catchNext({ statement, moment, action: 'hold' });
          held.push(caught.letGo);
          await caught.reached;
          // The request's other calls do not reach the next stop.
          if (statement === STEPS.settle) await untilSent();
        };
        stops.push({ order: await prepare(), stop });
      }
      await killAt(stops);
      for (const letGo of held) letGo();
      for (const { order } of stops) await expectEachOnce(order);
    },
  );

  const untilSent = () =>
    eventually(async () => {
      const queued = await replicas.query(`SELECT FROM orders WHERE state = 'reserved' LIMIT 1`);
      return queued.length === 0;
    });

  it(`are each charged once when it is killed after the provider has ${STAGES.join(', ')} it`, async () => {
    const order = await prepare();
    const gates: number[] = [];
    for (const stage of STAGES) gates.push(await replicas.control.addGate({ method: 'prolong', stage }));
    const stop = () => Promise.all(gates.map((gate) => replicas.control.untilGateReached(gate)));
    await killAt([{ order, stop }]);
    for (const gate of gates) await replicas.control.openGate(gate);
    await expectEachOnce(order);
  });
});
