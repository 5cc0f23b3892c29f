import { PaymentsSandbox } from '../../src/sandbox';
import { BUILD_TIMEOUT_MS, type BuiltService, eventually } from '../support/built-service';
import { LEASES_END } from '../support/crash-matrix';
import { forAllTests } from '../support/fixtures';
import { inLongForm } from '../support/long-form';
import { type Customer, prolongation, Replicas, send, sendUntilResponse } from '../support/replicas';
import { startTcpRelay } from '../support/tcp-relay';
import { paymentsEnvironment } from '../support/test-service';

// Kills the replica that checks, refuses or makes refunds of dead proxies, or deletes them, at each step, and
// one that begins refunds.

jest.setTimeout(480_000);

const HELD_MS = 60_000;
const REQUESTS = inLongForm(40, 12);
const payments = forAllTests(() => PaymentsSandbox.start());
const echo = forAllTests(startTcpRelay);
const replicas = forAllTests(() =>
  Replicas.open({
    environment: {
      ECHO_URL: `http://127.0.0.1:${echo.port}/echo`,
      SWEEP_INTERVAL_SECONDS: '2',
      PROVIDER_TIMEOUT_MS: String(HELD_MS),
      ...paymentsEnvironment(payments),
    },
  }),
);
let service: BuiltService;
const baseUrl = () => service.baseUrl;

async function start(): Promise<void> {
  service = await replicas.start({ throughRelay: true });
  echo.target = Number(new URL(baseUrl()).port);
}

beforeAll(async () => {
  await start();
  const rule = 'enabled = true, failed_checks = 2, quota = 9, daily_sum = 1e6';
  await replicas.query(`UPDATE refund_rule SET ${rule}`);
}, BUILD_TIMEOUT_MS);

async function rent() {
  const customers = await Promise.all([1, 2, 3].map(() => replicas.createCustomer()));
  const body = { country: 'ru', period: 30, version: '4', count: 6 };
  const order = { key: 'buy', path: '/proxies/buy', body };
  for (const customer of customers) await sendUntilResponse(baseUrl, { customer, ...order });
  await replicas.untilSettled();
  const rentals = await replicas.query<{ id: number; providerId: number }>(
    'SELECT id::integer, provider_proxy_id::integer AS "providerId" FROM proxies ORDER BY id',
  );
  for (const { providerId } of rentals.slice(12)) {
    await replicas.control.changeProxy(providerId, { host: 'localhost' });
  }
  await replicas.untilSwept();
  return rentals.map((rental, n) => ({ ...rental, customer: customers[Math.floor(n / 6)] }));
}

/** When a run has ended, makes the next one due, and refunds that no statement locks an hour older. */
const passTimeUntil = (check: () => boolean | Promise<boolean>) =>
  eventually(async () => {
    await replicas.query(
      `WITH ended AS (
         UPDATE job_runs SET started_at = now() - interval '1 minute'
          WHERE name IN ('proxy-refunds', 'proxy-deletions') AND finished_at IS NOT NULL
            AND started_at > now() - interval '1 minute'
         RETURNING name
       )
       UPDATE proxy_refunds SET next_check_at = next_check_at - interval '1 hour',
                                next_deletion_at = next_deletion_at - interval '1 hour'
        WHERE EXISTS (SELECT FROM ended)
          AND id IN (SELECT id FROM proxy_refunds FOR UPDATE SKIP LOCKED)`,
    );
    return check();
  });

interface Stop {
  readonly reached: Promise<unknown>;
  readonly letGo: () => unknown;
}
const stopAt = (statement: string, moment: 'before' | 'after'): Stop =>
  replicas.relay.catchNext({ statement, moment, action: 'hold' });
function stopAtCommit(): Stop {
  const executed = stopAt('LATERAL refund_proxy', 'after');
  let commit: Stop | undefined;
  const reached = executed.reached.then(() => {
    commit = stopAt('COMMIT', 'after');
    executed.letGo();
    return commit.reached;
  });
  return { reached, letGo: () => commit?.letGo() };
}
async function stopDeletion(stage: 'received' | 'executed'): Promise<Stop> {
  const gate = await replicas.control.addGate({ method: 'delete', stage });
  const reached = replicas.control.untilGateReached(gate, HELD_MS);
  return { reached, letGo: () => replicas.control.openGate(gate, 'drop') };
}

/** Ends the dead one's leases once the next stops are set, and starts another. */
async function killAt<Next>(stops: readonly Stop[], setNext: () => Next): Promise<Awaited<Next>> {
  let areReached = false;
  void Promise.all(stops.map(({ reached }) => reached)).then(() => (areReached = true));
  await passTimeUntil(() => areReached);
  service.kill('SIGKILL');
  await service.ended();
  for (const { letGo } of stops) await letGo();
  const next = await setNext();
  await replicas.query(LEASES_END);
  await start();
  return next;
}

const requestRefund = (at: string, customer: Customer, id: number | string) =>
  send(at, { customer, path: `/proxies/${id}/refund`, body: {} });

it('Each dead proxy is refunded and deleted once, and no other, though replicas are killed', async () => {
  const rentals = await rent();
  const dead = rentals.filter((_, n) => n % 3 === 0);
  for (const { providerId } of dead) await replicas.control.setProxyFault(providerId, 'close');
  for (const { id, customer } of rentals.filter((_, n) => n % 3 === 0 || n % 6 === 1)) {
    if (customer) await requestRefund(baseUrl(), customer, id);
  }
  const refunds = (where: string) => replicas.query(`SELECT proxy_id FROM proxy_refunds WHERE ${where}`);
  expect(await refunds(`state = 'checking'`)).toHaveLength(9);
  // The last one is prolonged meanwhile; the provider refuses the one before it.
  const [refused, { id: prolonged, customer: prolonger } = { id: 0 }] = dead.slice(-2);
  if (!prolonger || !refused?.customer) throw new Error('customers have dead proxies');
  await sendUntilResponse(baseUrl, prolongation(prolonger, String(prolonged), 'prolong'));
  await replicas.control.addFault({ method: 'prolong', kind: 'error', errorId: 400 });
  expect((await send(baseUrl(), prolongation(refused.customer, String(refused.id), 'none'))).status).toBe(
    503,
  );
  await replicas.control.resetFaults();
  await replicas.untilSettled();
  await replicas.untilSwept();

  const refusal = 'reason = $2, next_check_at = NULL, closed_at';
  let stops = ['failures = failures ||', refusal].flatMap((statement) => [
    stopAt(statement, 'before'),
    stopAt(statement, 'after'),
  ]);
  stops = await killAt(stops, async () => [stopAtCommit(), await stopDeletion('received')]);
  stops = await killAt(stops, async () => [
    stopAt('LATERAL refund_proxy', 'after'),
    await stopDeletion('executed'),
  ]);
  await killAt(stops, () => null);
  const isOpen = `state = 'checking' OR (state = 'refunded') <> (deleted_at IS NOT NULL)`;
  await passTimeUntil(async () => (await refunds(isOpen)).length === 0);
  expect(await refunds(`reason = 'prolonged'`)).toEqual([{ proxy_id: prolonged }]);
  expect(await refunds(`state = 'refunded'`)).toHaveLength(dead.length - 1);
  // The prolongation is refunded by a request that follows it.
  await requestRefund(baseUrl(), prolonger, prolonged);
  await passTimeUntil(async () => (await refunds(isOpen)).length === 0);

  const refunded = await replicas.query(
    `SELECT proxies.id::integer, count(entry)::integer AS entries, sum(available_delta) = amount AS "isExact"
       FROM proxies LEFT JOIN proxy_refunds refund ON proxy_id = proxies.id AND state = 'refunded'
            LEFT JOIN ledger_entries entry ON proxy_refund_id = refund.id
      WHERE refunded_at IS NOT NULL GROUP BY proxies.id, refund.id ORDER BY proxies.id`,
  );
  expect(refunded).toEqual(dead.map(({ id }) => ({ id, entries: id === prolonged ? 2 : 1, isExact: true })));
  const { goneProxyIds } = await replicas.control.getState();
  expect(new Set(goneProxyIds)).toEqual(new Set(dead.map(({ providerId }) => providerId)));
  await replicas.untilSwept();
  await replicas.audit();
});

it(`kill -9 at one of ${REQUESTS} requests at once, on two replicas: the quota is not exceeded`, async () => {
  await replicas.query('UPDATE refund_rule SET quota = 3, quota_percent = 0');
  const survivor = service;
  const victim = await replicas.start({ throughRelay: true });
  const request = ({ customer, id }: { customer: Customer; id: string }, { baseUrl: at }: BuiltService) =>
    requestRefund(at, customer, id).catch(() => null);
  const rentals = [];
  const lost: Promise<unknown>[] = [];
  const stops: Stop[] = [];
  for (const moment of ['before', 'after'] as const) {
    const customer = await replicas.createCustomer();
    const body = { country: 'ru', period: 30, count: REQUESTS };
    const bought = await sendUntilResponse(baseUrl, { customer, key: 'buy', path: '/proxies/buy', body });
    const own = (bought.body['proxies'] as { id: string }[]).map(({ id }) => ({ customer, id }));
    const stop = stopAt('begin_refund', moment);
    lost.push(...own.slice(0, 1).map((rental) => request(rental, victim)));
    await stop.reached;
    stops.push(stop);
    rentals.push(...own);
  }
  const requests = rentals.map((rental, n) => request(rental, n % 2 === 0 ? survivor : victim));
  await Promise.all(requests.filter((_, n) => n % 2 === 0));
  victim.kill('SIGKILL');
  await victim.ended();
  for (const { letGo } of stops) await letGo();
  await Promise.all([...lost, ...requests]);
  const responses = await Promise.all(rentals.map((rental) => request(rental, survivor)));
  expect(responses.map((response) => response?.status)).toEqual(rentals.map(() => 202));
  const begun = await replicas.query(
    `SELECT user_id, state, count(*)::integer FROM proxy_refunds
      WHERE user_id = ANY ($1) GROUP BY user_id, state`,
    [rentals.map(({ customer }) => customer.id)],
  );
  expect(begun).toMatchObject(stops.map(() => ({ state: 'checking', count: 3 })));
  await replicas.audit();
});
