import { BUILD_TIMEOUT_MS, type BuiltService, isRunning } from '../support/built-service';
import { BEGINNINGS, CALLS_END, HELD, READINGS_END, STAGES, STEPS } from '../support/crash-matrix';
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
const MOMENTS = ['before', 'after'] as const;

interface Stopped {
  readonly order: Order;
  readonly outcome: Promise<unknown>;
  readonly letGo: () => unknown;
}

jest.setTimeout(120_000);

describe('kill -9 of a replica during purchases and prolongations', () => {
  let survivor: BuiltService;
  let victim: BuiltService;

  const replicas = forAllTests(() => Replicas.open({ environment: { PROVIDER_TIMEOUT_MS: '2500' } }));
  const startVictim = () => replicas.start({ throughRelay: true, environment: HELD });
  beforeAll(async () => {
    [survivor, victim] = await Promise.all([replicas.start(), startVictim()]);
  }, BUILD_TIMEOUT_MS);
  beforeEach(async () => {
    if (!isRunning(victim.pid)) victim = await startVictim();
    // The victim fetches what it checks orders against.
    await send(victim.baseUrl, purchase(await replicas.createCustomer()));
  });

  async function prepare(method: Method): Promise<Order> {
    const customer = await replicas.createCustomer();
    if (method === 'buy') return purchase(customer, 'k');
    const { body } = await sendUntilResponse(() => survivor.baseUrl, purchase(customer, 'first'));
    const [proxy] = body['proxies'] as { id: string }[];
    return prolongation(customer, proxy?.id ?? '', 'k');
  }

  const sendTo = ({ baseUrl }: BuiltService, order: Order): Promise<unknown> =>
    send(baseUrl, order).catch(() => 'lost');

  async function stopAt(statement: string, moment: (typeof MOMENTS)[number], order: Order): Promise<Stopped> {
    // The survivor would send what the victim is kept from sending.
    survivor.kill('SIGSTOP');
    const caught = replicas.relay.catchNext({ statement, moment, action: 'hold' });
    const outcome = sendTo(victim, order);
    await caught.reached;
    return { order, outcome, letGo: caught.letGo };
  }

  const prepareBoth = (): Promise<Order[]> => Promise.all(METHODS.map(prepare));

  async function stopCall(
    method: Method | 'getproxy',
    stage: (typeof STAGES)[number],
    order: Order,
  ): Promise<Stopped> {
    survivor.kill('SIGSTOP');
    const gate = await replicas.control.addGate({ method, stage });
    const outcome = sendTo(victim, order);
    await replicas.control.untilGateReached(gate);
    return { order, outcome, letGo: () => replicas.control.openGate(gate) };
  }

  async function killVictim(stopped: readonly Stopped[], meanwhile = () => Promise.resolve()): Promise<void> {
    victim.kill('SIGKILL');
    await victim.ended();
    await meanwhile();
    for (const { letGo } of stopped) await letGo();
    await replicas.query(CALLS_END);
    await replicas.query(READINGS_END);
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
  it('before and after each commit, and in a dry run: each order is executed and paid once', async () => {
    const guarded = (order: Order, maxPrice: string): Order => ({
      ...order,
      body: { ...order.body, max_price: maxPrice },
    });
    const cases = await Promise.all(
      MOMENTS.map(async (moment) => ({
        moment,
        settled: await prepareBoth(),
        listed: await prepare('prolong'),
        read: await prepare('prolong'),
        reserved: await prepareBoth(),
      })),
    );
    const [claimed, tried] = [await prepare('buy'), await prepareBoth()];
    const dryRuns = tried.map((order) => ({ ...order, body: { ...order.body, dry_run: true } }));
    const countOrders = () =>
      replicas.query('SELECT count(*) FROM orders WHERE user_id = ANY ($1)', [
        tried.map(({ customer }) => customer.id),
      ]);
    const counted = await countOrders();
    const stopped: Stopped[] = [];
    for (const { moment, settled } of cases) {
      for (const order of settled) stopped.push(await stopAt(STEPS.settle, moment, order));
    }
    for (const { moment, listed } of cases) {
      stopped.push(await stopCall('getproxy', moment === 'before' ? 'received' : 'executed', listed));
    }
    for (const { moment, read } of cases) stopped.push(await stopAt(STEPS.storeEnd, moment, read));
    stopped.push(await stopAt(STEPS.claim, 'after', claimed));
    for (const { moment, reserved } of cases) {
      for (const order of reserved) {
        stopped.push(await stopAt(STEPS.reserve, moment, guarded(order, '1000.00')));
      }
    }
    for (const order of dryRuns) stopped.push(await stopAt('order_refusals', 'after', order));
    await killVictim(stopped);
    await replicas.untilSettled();
    const reserved = cases.flatMap((one) => one.reserved);
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
    const others = cases.flatMap(({ settled, listed, read }) => [...settled, listed, read]);
    await expectEachOnce([...others, claimed, ...retried, ...tried]);
  });

  it('frozen between the claim of a reading and its store: another one reads and prolongs', async () => {
    const { order, outcome, letGo } = await stopCall('getproxy', 'executed', await prepare('prolong'));
    victim.kill('SIGSTOP');
    await replicas.query(READINGS_END);
    survivor.kill('SIGCONT');
    await replicas.untilSettled();
    expect(
      await replicas.query(`SELECT state FROM orders WHERE kind = 'prolongation' ORDER BY id DESC LIMIT 1`),
    ).toEqual([{ state: 'completed' }]);
    await letGo();
    victim.kill('SIGCONT');
    await expectEachOnce([order]);
    expectNoRefusal([await outcome]);
  });

  it('at each stage of a call, and while statements wait for a lock: each is executed once', async () => {
    const calls = await Promise.all(
      STAGES.flatMap((stage) =>
        METHODS.map(async (method) => ({ stage, method, order: await prepare(method) })),
      ),
    );
    const stops = [
      ['settle', await prepare('buy')],
      ['settle', await prepare('prolong')],
      ['claim', await prepare('prolong')],
      ['reserve', await prepare('buy')],
    ] as const;
    const called: Stopped[] = [];
    for (const { stage, method, order } of calls) called.push(await stopCall(method, stage, order));
    const waiting: Stopped[] = [];
    for (const [step, order] of stops) waiting.push(await stopAt(STEPS[step], 'before', order));
    const lock = await replicas.lockTable('orders', 'EXCLUSIVE');
    for (const [at, [step]] of stops.entries()) {
      waiting[at]?.letGo();
      const before = stops.slice(0, at).filter(([other]) => other === step).length;
      await lock.untilWaiting(BEGINNINGS[step], before + 1);
    }
    await killVictim([...called, ...waiting], async () => {
      await lock.release();
      await replicas.untilEnded(BEGINNINGS.claim);
    });
    await expectEachOnce([...called, ...waiting].map(({ order }) => order));
  });
});
