import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type { FaultSpec } from '../../src/sandbox';
import { BUILD_TIMEOUT_MS, type BuiltService, eventually } from '../support/built-service';
import { forAllTests } from '../support/fixtures';
import { inLongForm } from '../support/long-form';
import { type Customer, Replicas, sendUntilResponse } from '../support/replicas';

const CUSTOMERS = inLongForm(100, 3);
const PURCHASES_EACH = inLongForm(5, 1);
const PROXIES_PER_PURCHASE = inLongForm(200, 100);
const PROXIES = CUSTOMERS * PURCHASES_EACH * PROXIES_PER_PURCHASE;
const RATE = inLongForm(3, 20);
/** At each of these shares a replica is killed. One more starts. */
const KILLED_AT = inLongForm([0.1, 0.5], [0.3]);
const TIMEOUT_MS = inLongForm(900_000, 240_000);
const LOOK_EVERY_MS = 250;
const PATIENCE_MS = inLongForm(180_000, 40_000);
const HOUR_MS = 3_600_000;
const WEEK_MS = 7 * 24 * HOUR_MS;

const LIES: readonly FaultSpec[] = [
  { method: 'prolong', kind: 'response-lost', probability: 0.03 },
  { method: 'prolong', kind: 'response-lost', hiddenForMs: 700, probability: 0.01 },
  { method: 'prolong', kind: 'reset', probability: 0.01 },
  { method: 'prolong', kind: 'late', beforeMs: 700, probability: 0.01 },
  { method: 'prolong', kind: 'http-status', status: 503, effect: true, probability: 0.01 },
  { method: 'prolong', kind: 'http-status', status: 429, probability: 0.02 },
  { method: 'prolong', kind: 'truncated-json', probability: 0.01 },
  { method: 'getproxy', kind: 'http-status', status: 500, probability: 0.03 },
  { method: 'getproxy', kind: 'truncated-json', probability: 0.02 },
];

jest.setTimeout(TIMEOUT_MS);

describe(`${PROXIES} renewals that are due at once`, () => {
  let services: BuiltService[];
  const customers: Customer[] = [];

  const replicas = forAllTests(() =>
    Replicas.open({
      environment: {
        PURCHASE_WAIT_MS: '10000',
        PROVIDER_TIMEOUT_MS: String(inLongForm(5000, 500)),
        SETTLEMENT_DELAY_SECONDS: String(inLongForm(10, 1)),
        SWEEP_INTERVAL_SECONDS: String(inLongForm(900, 3)),
        AUDIT_TIME: 'off',
      },
      tuning: { ordersPerCall: inLongForm(200, 20) },
    }),
  );
  beforeAll(async () => {
    await replicas.control.setStock('6', 'ru', 1_000_000);
    await replicas.control.setBalance('1000000000.00');
    await replicas.control.setLatencies({ prolong: inLongForm(300, 100) });
  }, BUILD_TIMEOUT_MS);

  async function rent(): Promise<void> {
    const seller = await replicas.start({ environment: { SWEEP_INTERVAL_SECONDS: '1' } });
    await replicas.control.setClockOffset(2 * HOUR_MS - WEEK_MS);
    for (let n = 0; n < CUSTOMERS; n += 1) {
      const customer = await replicas.createCustomer('1000000.00');
      const body = { country: 'ru', period: 7, count: PROXIES_PER_PURCHASE };
      for (let purchase = 0; purchase < PURCHASES_EACH; purchase += 1) {
        const order = { customer, key: `first-${purchase}`, path: '/proxies/buy', body };
        expect((await sendUntilResponse(() => seller.baseUrl, order)).status).toBe(200);
      }
      customers.push(customer);
    }
    await replicas.control.setClockOffset(0);
    await untilSwept();
    seller.kill('SIGKILL');
    await seller.ended();
  }

  /** A sweep of so many takes longer than most tests wait for one. */
  async function untilSwept(): Promise<void> {
    const [{ now } = { now: new Date() }] = await replicas.query<{ now: Date }>('SELECT now()');
    const isSwept = async () =>
      (await replicas.query('SELECT FROM completed_sweeps WHERE began_at >= $1', [now])).length > 0;
    while (!(await isSwept())) await pause(500);
  }

  const countOf = async (state: string): Promise<number> => {
    const [row] = await replicas.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM renewals WHERE state = $1',
      [state],
    );
    return row?.count ?? 0;
  };

  async function killDecider(done: number): Promise<void> {
    await untilDone(done);
    const decider = await eventually(async () => {
      const [run] = await replicas.query<{ pid: number }>(
        `SELECT (replica.report ->> 'pid')::int AS pid
             FROM job_runs JOIN replica_reports replica USING (holder)
          WHERE name = 'renewals' AND finished_at IS NULL`,
      );
      return services.find(({ pid }) => pid === run?.pid);
    });
    decider.kill('SIGKILL');
    process.stdout.write(`killed after ${await countOf('done')} of ${PROXIES}\n`);
    await decider.ended();
  }

  async function untilDone(done: number): Promise<void> {
    let count = 0;
    for (let idleMs = 0; count < done; idleMs += LOOK_EVERY_MS) {
      if (idleMs > PATIENCE_MS) throw new Error(`${count} of ${done} are done, and no more`);
      await pause(LOOK_EVERY_MS);
      const now = await countOf('done');
      if (now > count) idleMs = 0;
      count = now;
    }
  }

  it('are each charged once, within the rate, also if replicas are killed and responses lost', async () => {
    await rent();
    // A replica plans at once, and then each minute.
    for (const { id } of customers) {
      await replicas.query('INSERT INTO renewal_rules (user_id, period, hours_before) VALUES ($1, 7, 2)', [
        id,
      ]);
    }
    for (const fault of LIES) await replicas.control.addFault({ ...fault, times: null, seed: 7 });
    await replicas.control.clearCalls();
    const startedAtMs = Date.now();
    const stalls = monitorEventLoopDelay();
    stalls.enable();
    const environment = { PROVIDER_RATE_PER_SECOND: String(RATE) };
    services = await Promise.all([0, ...KILLED_AT].map(() => replicas.start({ environment })));
    for (const share of KILLED_AT) await killDecider(PROXIES * share);
    await untilDone(PROXIES);
    const seconds = (Date.now() - startedAtMs) / 1000;
    const calls = await replicas.control.getCalls();
    await replicas.control.resetFaults();
    await replicas.untilSettled();

    const times = new Map<number, number>();
    const { prolongations } = await replicas.control.getState();
    for (const { id } of prolongations.flatMap(({ proxies }) => proxies)) {
      times.set(id, (times.get(id) ?? 0) + 1);
    }
    expect(times.size).toBe(PROXIES);
    expect([...times.values()].filter((count) => count !== 1)).toEqual([]);
    const [charged] = await replicas.query(
      `SELECT count(*)::int AS orders, count(DISTINCT renewal.proxy_id)::int AS proxies,
              count(*) FILTER (
                WHERE renewal.closed_at > renewal.date_end_before - interval '1 hour')::int AS late,
              count(*) FILTER (WHERE renewal.price <> captured)::int AS otherwise
         FROM orders JOIN renewals renewal ON renewal.order_id = orders.id
        WHERE orders.kind = 'prolongation' AND orders.state = 'completed'`,
    );
    expect(charged).toEqual({ orders: PROXIES, proxies: PROXIES, late: 0, otherwise: 0 });
    const logged = await replicas.query(
      `SELECT type, count(*)::int AS count, count(DISTINCT data ->> 'proxy_id')::int AS proxies
         FROM events
        WHERE type IN ('renewal.planned', 'renewal.done', 'renewal.failed') GROUP BY type ORDER BY type`,
    );
    expect(logged).toEqual([
      { type: 'renewal.done', count: PROXIES, proxies: PROXIES },
      { type: 'renewal.planned', count: PROXIES, proxies: PROXIES },
    ]);
    const sent = calls.map(({ receivedAtMs }) => receivedAtMs).toSorted((one, other) => one - other);
    // The sandbox of this process notices a call late during a stall, and the next one in time.
    const shortestMs = 1000 - stalls.max / 1e6;
    const crowded = sent.filter((at, n) => (sent[n + RATE] ?? Infinity) - at < shortestMs);
    expect(crowded).toEqual([]);
    await replicas.audit();
    const counts = [...new Set(calls.map(({ method }) => method))].map(
      (method) => `${calls.filter((call) => call.method === method).length} ${method}`,
    );
    process.stdout.write(`${PROXIES} renewals in ${seconds.toFixed(0)} s; calls: ${counts.join(', ')}\n`);
  });
});
