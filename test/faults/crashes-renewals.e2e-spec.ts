import { type BuiltService, eventually } from '../support/built-service';
import { STAGES } from '../support/crash-matrix';
import type { Caught } from '../support/database-relay';
import { forAllTests } from '../support/fixtures';
import { type Customer, Replicas, send } from '../support/replicas';

/** Runs begin every five seconds, and the lease of a dead replica lasts as long. */
jest.setTimeout(240_000);

const STEPS = {
  plan: 'INSERT INTO renewals',
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
  beforeEach(async () => {
    victim = await replicas.start({ throughRelay: true });
  });

  async function rent(): Promise<Customer> {
    const customer = await replicas.createCustomer();
    const body = { country: 'ru', period: 3 };
    expect((await send(victim.baseUrl, { customer, path: '/proxies/buy', body })).status).toBe(200);
    return customer;
  }

  const switchOn = ({ id }: Customer) =>
    replicas.query('INSERT INTO renewal_rules (user_id, period, hours_before) VALUES ($1, 3, 72)', [id]);

  async function expectOneRenewalEach(customers: readonly Customer[]): Promise<void> {
    const heir = await replicas.start();
    for (const customer of customers) await expectOneRenewal(customer);
    await replicas.audit();
    heir.kill('SIGKILL');
    await heir.ended();
  }

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
  }

  it('and of its heirs, each a step later: the rental is renewed, paid once, with one reminder', async () => {
    const customer = await rent();
    const stopAt = (statement: string, moment: 'before' | 'after') =>
      replicas.relay.catchNext({ statement, moment, action: 'hold' });
    const replaceBy = async (caught: Caught, next: () => Caught): Promise<Caught> => {
      await caught.reached;
      await kill();
      caught.letGo();
      const ofHeir = next();
      victim = await replicas.start({ throughRelay: true });
      return ofHeir;
    };
    // After the commit of a step it is as before that of the next, unless something else happens in between.
    const planned = stopAt(STEPS.plan, 'before');
    await switchOn(customer);
    const reminded = await replaceBy(planned, () => stopAt(STEPS.remind, 'before'));
    const unplaced = await replaceBy(reminded, () => stopAt(STEPS.place, 'before'));
    const placed = await replaceBy(unplaced, () => stopAt(STEPS.place, 'after'));
    const closed = await replaceBy(placed, () => stopAt('closed_at = now()', 'after'));
    await closed.reached;
    // Nothing can be noted earlier.
    const unrecorded = stopAt(STEPS.note, 'before');
    closed.letGo();
    const recorded = await replaceBy(unrecorded, () => stopAt(STEPS.note, 'after'));
    await recorded.reached;
    await kill();
    recorded.letGo();
    await expectOneRenewalEach([customer]);
  });

  it(`when the provider has ${STAGES.join(', ')} its calls: one payment, one reminder`, async () => {
    const customers = [await rent(), await rent(), await rent()];
    const gates = [];
    for (const stage of STAGES) gates.push(await replicas.control.addGate({ method: 'prolong', stage }));
    for (const customer of customers) await switchOn(customer);
    for (const gate of gates) await replicas.control.untilGateReached(gate);
    await kill();
    for (const gate of gates) await replicas.control.openGate(gate);
    await expectOneRenewalEach(customers);
  });
});
