import { BUILD_TIMEOUT_MS, type BuiltService, eventually } from '../support/built-service';
import { CALLS_END, HELD, LEASES_END, STAGES } from '../support/crash-matrix';
import { forAllTests } from '../support/fixtures';
import { type Customer, Replicas, send } from '../support/replicas';

/** Runs begin every five seconds. */
jest.setTimeout(240_000);

const STEPS = {
  remind: 'SET last_reminded_days',
  place: 'place_renewals',
  note: 'recorded AS',
};

describe('kill -9 of the replica that renews', () => {
  /** Has just started, so that it plans at once. */
  let victim: BuiltService;

  const replicas = forAllTests(() =>
    Replicas.open({
      environment: {
        // An heir needs time to find an order that was placed but not sent.
        PURCHASE_WAIT_MS: '60000',
      },
      tuning: {
        // Each renewal has its own call, so that each is held at another stage.
        ordersPerCall: 1,
      },
    }),
  );
  const start = async (environment = {}) => {
    victim = await replicas.start({ throughRelay: true, environment });
  };
  beforeAll(() => start(HELD), BUILD_TIMEOUT_MS);

  async function rent(): Promise<Customer> {
    const customer = await replicas.createCustomer();
    const body = { country: 'ru', period: 3 };
    expect((await send(victim.baseUrl, { customer, path: '/proxies/buy', body })).status).toBe(200);
    return customer;
  }

  const switchOn = (...customers: Customer[]) =>
    replicas.query(
      'INSERT INTO renewal_rules (user_id, period, hours_before) SELECT unnest($1::bigint[]), 3, 72',
      [customers.map(({ id }) => id)],
    );

  async function expectOneRenewal({ id }: Customer): Promise<void> {
    const isDone = () => replicas.query(`SELECT FROM renewals WHERE user_id = $1 AND state = 'done'`, [id]);
    await eventually(async () => (await isDone()).length > 0);
    await replicas.untilSettled();
    const { prolongations } = await replicas.control.getState();
    const rentals = await replicas.query<{ id: string }>(
      'SELECT provider_proxy_id AS id FROM proxies WHERE user_id = $1',
      [id],
    );
    const prolonged = prolongations.flatMap(({ proxies }) => proxies.map((proxy) => String(proxy.id)));
    expect(rentals).toHaveLength(1);
    expect(prolonged.filter((one) => one === rentals[0]?.id)).toHaveLength(1);
    const renewals = await replicas.query(
      `SELECT renewal.state, renewal.price = captured AS "isPaid",
              proxies.date_end - renewal.date_end_before = interval '3 days' AS "isExtended"
         FROM renewals renewal JOIN orders ON orders.id = renewal.order_id
              JOIN proxies ON proxies.id = renewal.proxy_id
        WHERE renewal.user_id = $1`,
      [id],
    );
    expect(renewals).toEqual([{ state: 'done', isPaid: true, isExtended: true }]);
    const logged = await replicas.query(
      `SELECT type, count(*)::int AS count
         FROM events JOIN orders ON orders.user_id = events.user_id AND orders.kind = 'prolongation'
        WHERE events.user_id = $1 AND type LIKE 'renewal.%'
          AND (data ->> 'date_end')::timestamptz = date_end_before
        GROUP BY type ORDER BY type`,
      [id],
    );
    expect(logged).toEqual([
      { type: 'renewal.done', count: 1 },
      { type: 'renewal.planned', count: 1 },
    ]);
  }

  async function kill(): Promise<void> {
    victim.kill('SIGKILL');
    await victim.ended();
    await replicas.query(LEASES_END);
  }

  it('and of its heirs, at each step: each rental is renewed, paid once, with one reminder', async () => {
    const [late, ...others] = await Promise.all([rent(), rent(), ...STAGES.map(rent)]);
    const stopAt = (statement: string, moment: 'before' | 'after') =>
      replicas.relay.catchNext({ statement, moment, action: 'hold' });
    const gates: number[] = [];
    for (const stage of STAGES) gates.push(await replicas.control.addGate({ method: 'prolong', stage }));
    // As many as there are gates are placed at once.
    const first = stopAt(STEPS.place, 'before');
    await switchOn(...others);
    await first.reached;
    const placed = stopAt(STEPS.place, 'after');
    first.letGo();
    for (const gate of gates) await replicas.control.untilGateReached(gate);
    await placed.reached;
    await switchOn(late);
    await kill();
    placed.letGo();
    for (const gate of gates) await replicas.control.openGate(gate);
    await replicas.query(CALLS_END);

    // After the commit of a step it is as before that of the next.
    const planned = stopAt(STEPS.remind, 'before');
    await start();
    await planned.reached;
    await replicas.untilSettled();
    await kill();
    planned.letGo();

    const reminded = stopAt(STEPS.place, 'before');
    await start();
    await reminded.reached;
    await kill();
    reminded.letGo();

    const recorded = stopAt(STEPS.note, 'after');
    await start();
    await recorded.reached;
    await kill();
    recorded.letGo();

    await start();
    for (const customer of [late, ...others]) await expectOneRenewal(customer);
    await replicas.audit();
  });
});
