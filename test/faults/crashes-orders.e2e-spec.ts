import { BUILD_TIMEOUT_MS, type BuiltService, isRunning } from '../support/built-service';
import { BEGINNINGS, STAGES, STEPS } from '../support/crash-matrix';
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
type Stop = readonly [step: keyof typeof STEPS, method: Method];

interface Stopped {
  readonly order: Order;
  readonly outcome: Promise<unknown>;
  readonly letGo: () => void;
}

jest.setTimeout(120_000);

describe('kill -9 of a replica during purchases and prolongations', () => {
  let survivor: BuiltService;
  let victim: BuiltService;

  const replicas = forAllTests(() =>
    // Long enough to catch several orders before the victim looks for the first of them.
    Replicas.open({ environment: { PROVIDER_TIMEOUT_MS: '2500' } }),
  );
  beforeAll(async () => {
    survivor = await replicas.start();
    await startVictim();
  }, BUILD_TIMEOUT_MS);
  beforeEach(async () => {
    if (!isRunning(victim.pid)) await startVictim();
  });

  async function startVictim(): Promise<void> {
    victim = await replicas.start({ throughRelay: true });
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

  const sendToVictim = (order: Order): Promise<unknown> => send(victim.baseUrl, order).catch(() => 'lost');

  async function stopAt(statement: string, moment: 'before' | 'after', order: Order): Promise<Stopped> {
    // The survivor would send what the victim is kept from sending.
    survivor.kill('SIGSTOP');
    const caught = replicas.relay.catchNext({ statement, moment, action: 'hold' });
    const outcome = sendToVictim(order);
    await caught.reached;
    return { order, outcome, letGo: caught.letGo };
  }

  async function stopAtEach(stops: readonly Stop[], moment: 'before' | 'after'): Promise<Stopped[]> {
    const orders: Order[] = [];
    for (const [, method] of stops) orders.push(await prepare(method));
    const stopped: Stopped[] = [];
    for (const [at, [step]] of stops.entries()) {
      stopped.push(await stopAt(STEPS[step], moment, orders[at] as Order));
    }
    return stopped;
  }

  async function killVictim(stopped: readonly Pick<Stopped, 'outcome'>[]): Promise<void> {
    victim.kill('SIGKILL');
    await victim.ended();
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

  // A replica makes one claim at a time: what follows a claim is stopped before the claim.
  it.each<['before' | 'after', Method]>([
    ['before', 'buy'],
    ['after', 'prolong'],
  ])(
    'at reserve, claim and settle, %s their commits: each order is executed and paid once',
    async (moment, claimed) => {
      const stops: Stop[] = [
        ['settle', 'buy'],
        ['settle', 'prolong'],
        ['claim', claimed],
        ['reserve', 'buy'],
        ['reserve', 'prolong'],
      ];
      const stopped = await stopAtEach(stops, moment);
      await killVictim(stopped);
      for (const { letGo } of stopped) letGo();
      await expectEachOnce(stopped.map(({ order }) => order));
    },
  );

  it.each(['before', 'after'] as const)(
    'at the claim of a reading, its listing and its store, %s: each is prolonged once',
    async (moment) => {
      const [listed, ...orders] = [
        await prepare('prolong'),
        await prepare('prolong'),
        await prepare('prolong'),
      ];
      survivor.kill('SIGSTOP');
      const stage = moment === 'before' ? 'received' : 'executed';
      const gate = await replicas.control.addGate({ method: 'getproxy', stage });
      const outcome = sendToVictim(listed);
      await replicas.control.untilGateReached(gate);
      const stopped = [
        await stopAt(STEPS.storeEnd, moment, orders[0]),
        await stopAt(STEPS.claimReading, moment, orders[1]),
      ];
      await killVictim([...stopped, { outcome }]);
      for (const { letGo } of stopped) letGo();
      await replicas.control.openGate(gate);
      await expectEachOnce([listed, ...orders]);
    },
  );

  it('frozen between the claim of a reading and its store: another one reads and prolongs', async () => {
    const order = await prepare('prolong');
    survivor.kill('SIGSTOP');
    const gate = await replicas.control.addGate({ method: 'getproxy', stage: 'executed' });
    const outcome = sendToVictim(order);
    await replicas.control.untilGateReached(gate);
    victim.kill('SIGSTOP');
    survivor.kill('SIGCONT');
    await replicas.untilSettled();
    expect(
      await replicas.query(`SELECT state FROM orders WHERE kind = 'prolongation' ORDER BY id DESC LIMIT 1`),
    ).toEqual([{ state: 'completed' }]);
    await replicas.control.openGate(gate);
    victim.kill('SIGCONT');
    await outcome;
    await expectEachOnce([order]);
  });

  it('at reserve, claim and settle, while they wait for a lock: each is executed once', async () => {
    const stops: Stop[] = [
      ['settle', 'buy'],
      ['settle', 'prolong'],
      ['claim', 'prolong'],
      ['reserve', 'buy'],
    ];
    const stopped = await stopAtEach(stops, 'before');
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

  it(`when the provider has ${STAGES.join(', ')} its calls: each is executed once`, async () => {
    const calls: { stage: (typeof STAGES)[number]; method: Method; order: Order }[] = [];
    for (const stage of STAGES) {
      for (const method of METHODS) calls.push({ stage, method, order: await prepare(method) });
    }
    survivor.kill('SIGSTOP');
    const stopped: { outcome: Promise<unknown>; gate: number }[] = [];
    for (const { stage, method, order } of calls) {
      const gate = await replicas.control.addGate({ method, stage });
      stopped.push({ outcome: sendToVictim(order), gate });
      await replicas.control.untilGateReached(gate);
    }
    await killVictim(stopped);
    for (const { gate } of stopped) await replicas.control.openGate(gate);
    await expectEachOnce(calls.map(({ order }) => order));
  });

  it('at reserve, with a max_price, and in a dry run: a retry buys nothing again', async () => {
    const guarded = (order: Order, maxPrice: string): Order => ({
      ...order,
      body: { ...order.body, max_price: maxPrice },
    });
    const both = async (): Promise<Order[]> => [await prepare('buy'), await prepare('prolong')];
    const [tried, before, after] = [await both(), await both(), await both()];
    const dryRuns = tried.map((order) => ({ ...order, body: { ...order.body, dry_run: true } }));
    const countOrders = () =>
      replicas.query('SELECT count(*) FROM orders WHERE user_id = ANY ($1)', [
        tried.map(({ customer }) => customer.id),
      ]);
    const counted = await countOrders();
    const stopped: Stopped[] = [];
    for (const order of dryRuns) stopped.push(await stopAt('order_refusals', 'after', order));
    for (const order of before) {
      stopped.push(await stopAt(STEPS.reserve, 'before', guarded(order, '1000.00')));
    }
    for (const order of after) {
      stopped.push(await stopAt(STEPS.reserve, 'after', guarded(order, '1000.00')));
    }
    await killVictim(stopped);
    for (const { letGo } of stopped) letGo();
    await replicas.untilSettled();
    for (const order of [...before, ...after]) {
      const tooLow = await send(survivor.baseUrl, guarded(order, '0.01'));
      // Nothing was placed before the commit; after it the order returns, or was canceled unsent.
      expect([200, 409]).toContain(tooLow.status);
    }
    for (const dryRun of dryRuns) {
      expect((await send(survivor.baseUrl, dryRun)).body).toMatchObject({ dry_run: true, refusals: [] });
    }
    expect(await countOrders()).toEqual(counted);
    await expectEachOnce([...[...before, ...after].map((order) => guarded(order, '2000.00')), ...tried]);
  });

  it('and of all replicas: the next start settles what they left', async () => {
    const left: { order: Order; outcome: Promise<unknown>; gate: number }[] = [];
    for (const method of METHODS) {
      const order = await prepare(method);
      const gate = await replicas.control.addGate({ method, stage: 'executed' });
      left.push({ order, outcome: sendToVictim(order), gate });
      await replicas.control.untilGateReached(gate);
    }
    survivor.kill('SIGKILL');
    await killVictim(left);
    await survivor.ended();
    for (const { gate } of left) await replicas.control.openGate(gate);
    survivor = await replicas.start();
    await expectEachOnce(left.map(({ order }) => order));
  });
});
