import { BUILD_TIMEOUT_MS, type BuiltService, killLeftovers } from './built-service';
import {
  type Customer,
  type Order,
  prolongation,
  purchase,
  Replicas,
  send,
  sendUntilAnswered,
} from './replicas';

/** A part of the statement by which the relay recognises each step of an order. */
const STEPS = {
  reserve: 'place_orders',
  claim: `SET state = 'submitting'`,
  settle: 'closed_at = now()',
};

const MOMENTS = [
  ['reserve', 'before'],
  ['reserve', 'after'],
  ['claim', 'before'],
  ['claim', 'after'],
  ['settle', 'before'],
  ['settle', 'after'],
] as const;

/** How the statement of each step begins. */
export const BEGINNINGS = {
  reserve: 'SELECT * FROM place_orders',
  claim: 'WITH waiting',
  settle: 'WITH member',
};

/** Stages of a call at the provider at which a gate can hold it. */
export const STAGES = ['received', 'executed', 'half-answered'] as const;

/**
 * Kills a process at every step of an order and at every stage of its call. The order must be carried out and
 * paid exactly once.
 */
export function describeCrashes(method: 'buy' | 'prolong'): void {
  describe(`kill -9 of a replica during ${method}`, () => {
    let replicas: Replicas;
    /** Takes the request and is killed. */
    let victim: BuiltService;
    /** Runs all the time and reconciles. */
    let survivor: BuiltService;

    beforeAll(async () => {
      replicas = await Replicas.open();
      survivor = await replicas.start();
    }, BUILD_TIMEOUT_MS);
    beforeEach(async () => {
      victim = await replicas.start({ throughRelay: true });
    });
    afterAll(async () => {
      await killLeftovers();
      await replicas.close();
    });

    /** A purchase, or a prolongation of a proxy that was bought before. */
    async function prepare(customer: Customer): Promise<Order> {
      if (method === 'buy') return purchase(customer, 'k');
      const { body } = await send(survivor.baseUrl, purchase(customer));
      const [proxy] = body['proxies'] as { id: string }[];
      return prolongation(customer, proxy?.id ?? '', 'k');
    }

    /** Counts the orders of the customer that the provider has carried out. */
    async function executions({ id }: Customer): Promise<number> {
      const book = await replicas.control.getState();
      const sales = book.sales.filter(({ descr }) => descr.includes(`.u${id}.`));
      if (method === 'buy') return sales.length;
      const proxyIds = new Set(sales.flatMap((sale) => sale.proxyIds));
      return book.prolongations.filter(({ proxies }) => proxies.some((proxy) => proxyIds.has(proxy.id)))
        .length;
    }

    async function expectOneOrder(customer: Customer, order: Order): Promise<void> {
      const answer = await sendUntilAnswered(() => survivor.baseUrl, order);
      expect(answer.status).toBe(200);
      await replicas.untilSettled();
      expect(await executions(customer)).toBe(1);
      const captures = await replicas.query(
        `SELECT captured FROM orders WHERE user_id = $1 AND kind = $2 AND state = 'completed'`,
        [customer.id, method === 'buy' ? 'purchase' : 'prolongation'],
      );
      expect(captures).toEqual([{ captured: answer.body['price_charged'] }]);
      await replicas.audit();
    }

    it.each(MOMENTS)('at %s, %s its commit: the order is carried out and paid once', async (step, moment) => {
      const customer = await replicas.createCustomer();
      const order = await prepare(customer);
      const caught = replicas.relay.catchNext({ statement: STEPS[step], moment, action: 'hold' });
      const lost = send(victim.baseUrl, order).catch(() => 'lost');
      await caught.reached;
      victim.kill('SIGKILL');
      expect(await lost).toBe('lost');
      caught.letGo();
      await expectOneOrder(customer, order);
    });

    it.each(['reserve', 'claim', 'settle'] as const)(
      'at %s, while its statement waits for a lock: the order is carried out and paid once',
      async (step) => {
        const customer = await replicas.createCustomer();
        const order = await prepare(customer);
        const caught = replicas.relay.catchNext({
          statement: STEPS[step],
          moment: 'before',
          action: 'hold',
        });
        const lost = send(victim.baseUrl, order).catch(() => 'lost');
        await caught.reached;
        const lock = await replicas.lockTable('orders', 'EXCLUSIVE');
        caught.letGo();
        await lock.untilWaiting(BEGINNINGS[step]);
        victim.kill('SIGKILL');
        expect(await lost).toBe('lost');
        await lock.release();
        await expectOneOrder(customer, order);
      },
    );

    it.each(STAGES)('when the provider has %s it: the order is carried out and paid once', async (stage) => {
      const customer = await replicas.createCustomer();
      const order = await prepare(customer);
      const gate = await replicas.control.addGate({ method, stage });
      const lost = send(victim.baseUrl, order).catch(() => 'lost');
      await replicas.control.untilGateReached(gate);
      victim.kill('SIGKILL');
      expect(await lost).toBe('lost');
      await replicas.control.openGate(gate);
      await expectOneOrder(customer, order);
    });

    it.each(['before', 'after'] as const)(
      'at reserve, %s its commit, with a max_price: a retry with another one buys nothing again',
      async (moment) => {
        const customer = await replicas.createCustomer();
        const order = await prepare(customer);
        const guarded = (maxPrice: string): Order => ({
          ...order,
          body: { ...order.body, max_price: maxPrice },
        });
        const caught = replicas.relay.catchNext({ statement: STEPS.reserve, moment, action: 'hold' });
        const lost = send(victim.baseUrl, guarded('1000.00')).catch(() => 'lost');
        await caught.reached;
        victim.kill('SIGKILL');
        expect(await lost).toBe('lost');
        caught.letGo();
        await replicas.untilSettled();
        const tooLow = await send(survivor.baseUrl, guarded('0.01'));
        // Nothing was placed before the commit; after it the order is answered, or was refunded unsent.
        expect([200, 409]).toContain(tooLow.status);
        await expectOneOrder(customer, guarded('2000.00'));
      },
    );

    it('during a dry run: nothing is placed, and the key is free', async () => {
      const customer = await replicas.createCustomer();
      const order = await prepare(customer);
      const [before] = await replicas.query('SELECT count(*) FROM orders');
      const caught = replicas.relay.catchNext({
        statement: 'order_refusals',
        moment: 'after',
        action: 'hold',
      });
      const dryRun = { ...order, body: { ...order.body, dry_run: true } };
      const lost = send(victim.baseUrl, dryRun).catch(() => 'lost');
      await caught.reached;
      victim.kill('SIGKILL');
      expect(await lost).toBe('lost');
      caught.letGo();
      expect((await send(survivor.baseUrl, dryRun)).body).toMatchObject({ dry_run: true, refusals: [] });
      expect(await replicas.query('SELECT count(*) FROM orders')).toEqual([before]);
      await expectOneOrder(customer, order);
    });

    it('and of all replicas: the next start settles what they left', async () => {
      const customer = await replicas.createCustomer();
      const order = await prepare(customer);
      const gate = await replicas.control.addGate({ method, stage: 'executed' });
      const lost = send(victim.baseUrl, order).catch(() => 'lost');
      await replicas.control.untilGateReached(gate);
      victim.kill('SIGKILL');
      survivor.kill('SIGKILL');
      await lost;
      await survivor.ended();
      await replicas.control.openGate(gate);
      survivor = await replicas.start();
      await expectOneOrder(customer, order);
    });
  });
}
