import { BUILD_TIMEOUT_MS, type BuiltService, eventually } from '../support/built-service';
import { CALLS_END, HELD, STAGES } from '../support/crash-matrix';
import type { Caught } from '../support/database-relay';
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

/** So many that one request needs several calls. */
const PROXIES = inLongForm(1000, 30);
const ORDERS_PER_CALL = inLongForm(40, 12);
/** More than one statement places. */
const PLACED_BY_SEVERAL = inLongForm(1000, 110);
const MOMENTS = (['after', 'before'] as const).slice(0, inLongForm(2, 1));

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

interface Stop {
  readonly order: Order;
  readonly stop: () => Promise<unknown>;
  readonly letGo: () => unknown;
}

interface Totals {
  readonly proxies: number;
  readonly prolonged: number;
  readonly price_charged: string;
}
const totalsOf = ({ body }: ServiceResponse): Totals => body['totals'] as Totals;

describe(`Prolongations of ${PROXIES} proxies under one key`, () => {
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
    victim ??= await replicas.start({ throughRelay: true, environment: HELD });
  });
  afterEach(() => replicas.audit());

  async function prepare(count = PROXIES): Promise<Order> {
    const customer = await replicas.createCustomer('1000000.00');
    const body = { country: 'ru', period: 30, count };
    const purchase = { customer, key: 'first', path: '/proxies/buy', body };
    expect((await sendUntilResponse(() => survivor.baseUrl, purchase)).status).toBe(200);
    const requested = { filter: { version: '6' }, period: 30, max_price: '500000.00' };
    return { customer, key: 'bulk', path: '/proxies/prolong', body: requested };
  }

  async function killAt(stops: readonly Stop[]): Promise<void> {
    const lost: Promise<unknown>[] = [];
    // The survivor would send what the victim is kept from sending.
    survivor.kill('SIGSTOP');
    for (const { order, stop } of stops) {
      const reached = stop();
      lost.push(send(victim?.baseUrl ?? '', order).catch(() => 'lost'));
      await reached;
    }
    victim?.kill('SIGKILL');
    await victim?.ended();
    victim = undefined;
    for (const { letGo } of stops) await letGo();
    await replicas.query(CALLS_END);
    survivor.kill('SIGCONT');
    expectNoRefusal(await Promise.all(lost));
  }

  async function expectEachOnce(order: Order): Promise<void> {
    const { customer } = order;
    const response = await eventually(async () => {
      const one = await send(survivor.baseUrl, order).catch(() => null);
      await replicas.untilSettled();
      return one?.status === 200 && totalsOf(one).prolonged === totalsOf(one).proxies ? one : null;
    });
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
    expect(charged).toEqual([{ orders: rows.length, price: totalsOf(response).price_charged }]);
    expect((await send(survivor.baseUrl, order)).replayed).toBe(true);
  }

  it('are each charged once when two replicas get the request at the same moment', async () => {
    const order = await prepare();
    const twins = await Promise.all([send(victim?.baseUrl ?? '', order), send(survivor.baseUrl, order)]);
    expect(twins.every(({ status }) => status === 200 || status === 409)).toBe(true);
    await expectEachOnce(order);
  });

  it.each(MOMENTS)(
    'are each charged once when a replica is killed during their calls, and at each step of others, %s it',
    async (moment) => {
      const gates: number[] = [];
      for (const stage of STAGES) gates.push(await replicas.control.addGate({ method: 'prolong', stage }));
      const stops: Stop[] = [
        {
          order: await prepare(),
          stop: () => Promise.all(gates.map((gate) => replicas.control.untilGateReached(gate))),
          letGo: () => Promise.all(gates.map((gate) => replicas.control.openGate(gate))),
        },
      ];
      for (const statement of Object.values(STEPS)) {
        let caught: Caught | undefined;
        const stop = async () => {
          caught = replicas.relay.catchNext({ statement, moment, action: 'hold' });
          await caught.reached;
          // The request's other calls do not reach the next stop.
          if (statement === STEPS.settle) await untilSent();
        };
        const order = await prepare(statement === STEPS.reserve ? PLACED_BY_SEVERAL : PROXIES);
        stops.push({ order, stop, letGo: () => caught?.letGo() });
      }
      await killAt(stops);
      for (const { order } of stops) await expectEachOnce(order);
    },
  );

  const untilSent = () =>
    eventually(async () => {
      const queued = await replicas.query(`SELECT FROM orders WHERE state = 'reserved' LIMIT 1`);
      return queued.length === 0;
    });
});
