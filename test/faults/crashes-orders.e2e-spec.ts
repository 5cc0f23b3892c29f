import { BUILD_TIMEOUT_MS, type BuiltService } from '../support/built-service';
import { BEGINNINGS, CALLS_END, HELD, STAGES, STEPS } from '../support/crash-matrix';
import { forAllTests } from '../support/fixtures';
import {
  expectNoRefusal,
  type Order,
  prolongation,
  purchase,
  Replicas,
  send,
  sendUntilResponse,
} from '../support/replicas';

// Kills a process at every step of an order and every stage of its call. One kill stops several orders.

const METHODS = ['buy', 'prolong'] as const;
type Method = (typeof METHODS)[number];

interface Stopped {
  readonly order: Order;
  readonly outcome: Promise<unknown>;
  readonly letGo: () => void;
}

jest.setTimeout(120_000);

describe('kill -9 of a replica during purchases and prolongations', () => {
  let survivor: BuiltService;
  let victim: BuiltService;

  const replicas = forAllTests(() => Replicas.open({ environment: { PROVIDER_TIMEOUT_MS: '2500' } }));
  beforeAll(async () => {
    survivor = await replicas.start();
  }, BUILD_TIMEOUT_MS);

  async function startVictim(environment = {}): Promise<void> {
    victim = await replicas.start({ throughRelay: true, environment });
    // The victim fetches what it checks orders against.
    await send(victim.baseUrl, purchase(await replicas.createCustomer()));
  }

  async function prepare(method: Method): Promise<Order> {
    const customer = await replicas.createCustomer();
    if (method === 'buy') return purchase(customer, 'k');
    const { body } = await sendUntilResponse(() => survivor.baseUrl, purchase(customer, 'first'));
    const [proxy] = body['proxies'] as { id: string }[];
    return prolongation(customer, proxy?.id ?? '', 'k');
  }

  const sendTo = ({ baseUrl }: BuiltService, order: Order): Promise<unknown> =>
    send(baseUrl, order).catch(() => 'lost');

  async function stopAt(statement: string, moment: 'before' | 'after', order: Order): Promise<Stopped> {
    // The survivor would send what the victim is kept from sending.
    survivor.kill('SIGSTOP');
    const caught = replicas.relay.catchNext({ statement, moment, action: 'hold' });
    const outcome = sendTo(victim, order);
    await caught.reached;
    return { order, outcome, letGo: caught.letGo };
  }

  const prepareBoth = async (): Promise<Order[]> => [await prepare('buy'), await prepare('prolong')];

  async function killVictim(
    stopped: readonly Pick<Stopped, 'outcome'>[],
    meanwhile: () => unknown = () => undefined,
  ): Promise<void> {
    victim.kill('SIGKILL');
    await victim.ended();
    await meanwhile();
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
    for (const [at, { customer, path }] of orders.entries()) {
      const kind = path.endsWith('/prolong') ? 'prolongation' : 'purchase';
      const ids = owned.filter(({ userId }) => userId === customer.id).map(({ id }) => id);
      expect(ids).toHaveLength(1);
      if (kind === 'prolongation') expect(prolonged.filter((id) => ids.includes(id))).toEqual(ids);
      const captures = await replicas.query(
        `SELECT captured FROM orders WHERE user_id = $1 AND kind = $2 AND state = 'completed'`,
        [customer.id, kind],
      );
      expect(captures).toEqual([{ captured: responses[at]?.body['price_charged'] }]);
    }
    await replicas.audit();
  }

  it(`when the provider has ${STAGES.join(', ')} its calls: another one settles them`, async () => {
    await startVictim(HELD);
    const calls: { stage: (typeof STAGES)[number]; method: Method; order: Order }[] = [];
    for (const stage of STAGES) {
      for (const method of METHODS) calls.push({ stage, method, order: await prepare(method) });
    }
    survivor.kill('SIGSTOP');
    const stopped: { outcome: Promise<unknown>; gate: number }[] = [];
    for (const { stage, method, order } of calls) {
      const gate = await replicas.control.addGate({ method, stage });
      stopped.push({ outcome: sendTo(victim, order), gate });
      await replicas.control.untilGateReached(gate);
    }
    await killVictim(stopped, async () => {
      for (const { gate } of stopped) await replicas.control.openGate(gate);
      await replicas.query(CALLS_END);
    });
    await expectEachOnce(calls.map(({ order }) => order));
  });

  // A replica makes one claim at a time: what follows a claim is stopped before the claim.
  it.each(['before', 'after'] as const)(
    'at each step, %s its commit, with a max_price, and in a dry run: each order is executed and paid once',
    async (moment) => {
      await startVictim(HELD);
      const guarded = (order: Order, maxPrice: string): Order => ({
        ...order,
        body: { ...order.body, max_price: maxPrice },
      });
      const [settled, reserved, tried] = [await prepareBoth(), await prepareBoth(), await prepareBoth()];
      const listed = await prepare('prolong');
      const [read, claimed] = [await prepare('prolong'), await prepare('prolong')];
      const dryRuns = tried.map((order) => ({ ...order, body: { ...order.body, dry_run: true } }));
      const countOrders = () =>
        replicas.query('SELECT count(*) FROM orders WHERE user_id = ANY ($1)', [
          tried.map(({ customer }) => customer.id),
        ]);
      const counted = await countOrders();
      const stopped: Stopped[] = [];
      for (const order of settled) stopped.push(await stopAt(STEPS.settle, moment, order));
      const stage = moment === 'before' ? 'received' : 'executed';
      const gate = await replicas.control.addGate({ method: 'getproxy', stage });
      const outcome = sendTo(victim, listed);
      await replicas.control.untilGateReached(gate);
      stopped.push(await stopAt(STEPS.storeEnd, moment, read));
      const claim = moment === 'before' ? STEPS.claimReading : STEPS.claim;
      stopped.push(await stopAt(claim, moment, claimed));
      for (const order of reserved) {
        stopped.push(await stopAt(STEPS.reserve, moment, guarded(order, '1000.00')));
      }
      for (const order of dryRuns) stopped.push(await stopAt('order_refusals', 'after', order));
      await killVictim([...stopped, { outcome }], async () => {
        for (const { letGo } of stopped) letGo();
        await replicas.control.openGate(gate);
        await replicas.query(CALLS_END);
      });
      await replicas.untilSettled();
      for (const order of reserved) {
        const tooLow = await send(survivor.baseUrl, guarded(order, '0.01'));
        // Nothing was placed before the commit; after it the order returns, or was canceled unsent.
        expect([200, 409]).toContain(tooLow.status);
      }
      for (const dryRun of dryRuns) {
        expect((await send(survivor.baseUrl, dryRun)).body).toMatchObject({ dry_run: true, refusals: [] });
      }
      expect(await countOrders()).toEqual(counted);
      const retried = reserved.map((order) => guarded(order, '2000.00'));
      await expectEachOnce([...settled, listed, read, claimed, ...retried, ...tried]);
    },
  );

  it('frozen between the claim of a reading and its store: another one reads and prolongs', async () => {
    await startVictim();
    const order = await prepare('prolong');
    survivor.kill('SIGSTOP');
    const gate = await replicas.control.addGate({ method: 'getproxy', stage: 'executed' });
    const outcome = sendTo(victim, order);
    await replicas.control.untilGateReached(gate);
    victim.kill('SIGSTOP');
    survivor.kill('SIGCONT');
    await replicas.untilSettled();
    expect(
      await replicas.query(`SELECT state FROM orders WHERE kind = 'prolongation' ORDER BY id DESC LIMIT 1`),
    ).toEqual([{ state: 'completed' }]);
    await replicas.control.openGate(gate);
    victim.kill('SIGCONT');
    await expectEachOnce([order]);
    await killVictim([{ outcome }]);
  });

  it('at reserve, claim and settle, while they wait for a lock: each is executed once', async () => {
    await startVictim();
    const stops = [
      ['settle', await prepare('buy')],
      ['settle', await prepare('prolong')],
      ['claim', await prepare('prolong')],
      ['reserve', await prepare('buy')],
    ] as const;
    const stopped: Stopped[] = [];
    for (const [step, order] of stops) stopped.push(await stopAt(STEPS[step], 'before', order));
    const lock = await replicas.lockTable('orders', 'EXCLUSIVE');
    for (const [at, [step]] of stops.entries()) {
      stopped[at]?.letGo();
      const before = stops.slice(0, at).filter(([other]) => other === step).length;
      await lock.untilWaiting(BEGINNINGS[step], before + 1);
    }
    await killVictim(stopped);
    await lock.release();
    await expectEachOnce(stopped.map(({ order }) => order));
  });
});
