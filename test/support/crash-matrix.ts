import { BUILD_TIMEOUT_MS, type BuiltService, killLeftovers } from './built-service';
import {
  expectNoRefusal,
  type Order,
  prolongation,
  purchase,
  Replicas,
  send,
  sendUntilResponse,
} from './replicas';

/** A part of the statement by which the relay recognises each step of an order. */
const STEPS = {
  settle: 'closed_at = now()',
  claim: 'WITH waiting AS (',
  reserve: 'place_orders',
};
/** A replica makes one claim at a time: what comes after a claim is stopped before it. */
const FROM_LAST = ['settle', 'claim', 'reserve'] as const;

/** How the statement of each step begins. */
export const BEGINNINGS = {
  reserve: 'SELECT * FROM place_orders',
  claim: 'WITH waiting',
  settle: 'WITH member',
};

/** Stages of a call at the provider at which a gate can hold it. */
export const STAGES = ['received', 'executed', 'half-answered'] as const;

/** A request that its replica cannot go on with. */
interface Stopped {
  readonly order: Order;
  readonly outcome: Promise<unknown>;
  readonly letGo: () => void;
}

/**
 * Kills a process at every step of an order and at every stage of its call: one kill stops several orders,
 * each at another step. Each must be executed and paid exactly once.
 */
export function describeCrashes(method: 'buy' | 'prolong'): void {
  jest.setTimeout(120_000);
  describe(`kill -9 of a replica during ${method}`, () => {
    let replicas: Replicas;
    /** Takes the requests and is killed. */
    let victim: BuiltService;
    /** Reconciles, and finishes what the victim has begun. */
    let survivor: BuiltService;

    beforeAll(async () => {
      // Long enough for several orders to be caught before the survivor looks for the first of them.
      replicas = await Replicas.open({ environment: { PROVIDER_TIMEOUT_MS: '1500' } });
      survivor = await replicas.start();
    }, BUILD_TIMEOUT_MS);
    beforeEach(async () => {
      victim = await replicas.start({ throughRelay: true });
      // It fetches what it checks orders against.
      await send(victim.baseUrl, purchase(await replicas.createCustomer()));
    });
    afterAll(async () => {
      await killLeftovers();
      await replicas.close();
    });

    /** Three purchases, or prolongations of proxies bought before, each by a customer of its own. */
    async function prepare(): Promise<[Order, Order, Order]> {
      const one = async (): Promise<Order> => {
        const customer = await replicas.createCustomer();
        if (method === 'buy') return purchase(customer, 'k');
        const { body } = await send(survivor.baseUrl, purchase(customer));
        const [proxy] = body['proxies'] as { id: string }[];
        return prolongation(customer, proxy?.id ?? '', 'k');
      };
      return [await one(), await one(), await one()];
    }

    async function stopAt(statement: string, moment: 'before' | 'after', order: Order): Promise<Stopped> {
      // It would send what the victim is kept from sending.
      survivor.kill('SIGSTOP');
      const caught = replicas.relay.catchNext({ statement, moment, action: 'hold' });
      const outcome = send(victim.baseUrl, order).catch(() => 'lost');
      await caught.reached;
      return { order, outcome, letGo: caught.letGo };
    }

    /** Stops an order at each step, from the last to the first. */
    async function stopAtEachStep(moment: 'before' | 'after'): Promise<Stopped[]> {
      const orders = await prepare();
      const stopped: Stopped[] = [];
      for (const [at, step] of FROM_LAST.entries()) {
        stopped.push(await stopAt(STEPS[step], moment, orders[at] as Order));
      }
      return stopped;
    }

    async function killVictim(stopped: readonly Pick<Stopped, 'outcome'>[]): Promise<void> {
      victim.kill('SIGKILL');
      survivor.kill('SIGCONT');
      expectNoRefusal(await Promise.all(stopped.map(({ outcome }) => outcome)));
    }

    async function expectEachOnce(orders: readonly Order[]): Promise<void> {
      const responses = await Promise.all(
        orders.map((order) => sendUntilResponse(() => survivor.baseUrl, order)),
      );
      expect(responses.map(({ status }) => status)).toEqual(orders.map(() => 200));
      await replicas.untilSettled();
      const book = await replicas.control.getState();
      const sold = book.sales.flatMap(({ proxyIds }) => proxyIds.map(String));
      const prolonged = book.prolongations.flatMap(({ proxies }) => proxies.map(({ id }) => String(id)));
      const owned = await replicas.query<{ userId: number; id: string }>(
        'SELECT user_id AS "userId", provider_proxy_id AS id FROM proxies',
      );
      expect(sold.toSorted()).toEqual(owned.map(({ id }) => id).toSorted());
      for (const [at, { customer }] of orders.entries()) {
        const ids = owned.filter(({ userId }) => userId === customer.id).map(({ id }) => id);
        expect(ids).toHaveLength(1);
        if (method === 'prolong') expect(prolonged.filter((id) => ids.includes(id))).toEqual(ids);
        const captures = await replicas.query(
          `SELECT captured FROM orders WHERE user_id = $1 AND kind = $2 AND state = 'completed'`,
          [customer.id, method === 'buy' ? 'purchase' : 'prolongation'],
        );
        expect(captures).toEqual([{ captured: responses[at]?.body['price_charged'] }]);
      }
      await replicas.audit();
    }

    it.each(['before', 'after'] as const)(
      'at reserve, claim and settle, %s their commits: each order is executed and paid once',
      async (moment) => {
        const stopped = await stopAtEachStep(moment);
        await killVictim(stopped);
        for (const { letGo } of stopped) letGo();
        await expectEachOnce(stopped.map(({ order }) => order));
      },
    );

    it('at reserve, claim and settle, while they wait for a lock: each is executed once', async () => {
      const stopped = await stopAtEachStep('before');
      const lock = await replicas.lockTable('orders', 'EXCLUSIVE');
      for (const [at, step] of FROM_LAST.entries()) {
        stopped[at]?.letGo();
        await lock.untilWaiting(BEGINNINGS[step]);
      }
      await killVictim(stopped);
      await lock.release();
      await expectEachOnce(stopped.map(({ order }) => order));
    });

    it(`when the provider has ${STAGES.join(', ')} its calls: each is executed once`, async () => {
      const orders = await prepare();
      const stopped: { outcome: Promise<unknown>; gate: number }[] = [];
      survivor.kill('SIGSTOP');
      for (const [at, stage] of STAGES.entries()) {
        const gate = await replicas.control.addGate({ method, stage });
        const outcome = send(victim.baseUrl, orders[at] as Order).catch(() => 'lost');
        stopped.push({ outcome, gate });
        await replicas.control.untilGateReached(gate);
      }
      await killVictim(stopped);
      for (const { gate } of stopped) await replicas.control.openGate(gate);
      await expectEachOnce(orders);
    });

    it('at reserve, with a max_price, and in a dry run: a retry buys nothing again', async () => {
      const guarded = (order: Order, maxPrice: string): Order => ({
        ...order,
        body: { ...order.body, max_price: maxPrice },
      });
      const [before, after, tried] = await prepare();
      const dryRun = { ...tried, body: { ...tried.body, dry_run: true } };
      const countOrders = () =>
        replicas.query('SELECT count(*) FROM orders WHERE user_id = $1', [tried.customer.id]);
      const counted = await countOrders();
      const stopped = [
        await stopAt('order_refusals', 'after', dryRun),
        await stopAt(STEPS.reserve, 'before', guarded(before, '1000.00')),
        await stopAt(STEPS.reserve, 'after', guarded(after, '1000.00')),
      ];
      await killVictim(stopped);
      for (const { letGo } of stopped) letGo();
      await replicas.untilSettled();
      for (const order of [before, after]) {
        const tooLow = await send(survivor.baseUrl, guarded(order, '0.01'));
        // Nothing was placed before the commit; after it the order returns, or was refunded unsent.
        expect([200, 409]).toContain(tooLow.status);
      }
      // Nothing is placed by the dry run, and its key is free.
      expect((await send(survivor.baseUrl, dryRun)).body).toMatchObject({ dry_run: true, refusals: [] });
      expect(await countOrders()).toEqual(counted);
      await expectEachOnce([guarded(before, '2000.00'), guarded(after, '2000.00'), tried]);
    });

    it('and of all replicas: the next start settles what they left', async () => {
      const [order] = await prepare();
      const gate = await replicas.control.addGate({ method, stage: 'executed' });
      const outcome = send(victim.baseUrl, order).catch(() => 'lost');
      await replicas.control.untilGateReached(gate);
      survivor.kill('SIGKILL');
      await killVictim([{ outcome }]);
      await survivor.ended();
      await replicas.control.openGate(gate);
      survivor = await replicas.start();
      await expectEachOnce([order]);
    });
  });
}
