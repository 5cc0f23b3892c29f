import { PaymentsSandbox } from '../../src/sandbox';
import { BUILD_TIMEOUT_MS, type BuiltService, eventually } from '../support/built-service';
import { forAllTests } from '../support/fixtures';
import { type Customer, prolongation, Replicas, send, sendUntilResponse } from '../support/replicas';
import { startTcpRelay } from '../support/tcp-relay';
import { paymentsEnvironment } from '../support/test-service';

// Kills the replica that begins, checks, refuses or makes refunds of dead proxies, or deletes them, at each
// step. The dead replica's lease keeps the other one away until the next stop is set.

jest.setTimeout(480_000);

const HELD_MS = 60_000;
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
let running: BuiltService[] = [];
const baseUrl = () => running[0]?.baseUrl ?? '';
const start = () => replicas.start({ throughRelay: true });
const serveEcho = () => void (echo.target = Number(new URL(baseUrl()).port));

beforeAll(async () => {
  running = [await start(), await start()];
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

/** Makes refunds that no statement locks an hour older, and the last runs a minute. */
const passHour = () =>
  replicas.query(
    `UPDATE proxy_refunds SET next_check_at = next_check_at - interval '1 hour',
                              next_deletion_at = next_deletion_at - interval '1 hour'
      WHERE id IN (SELECT id FROM proxy_refunds FOR UPDATE SKIP LOCKED)`,
  );
const passMinute = () =>
  replicas.query(
    `UPDATE job_runs SET started_at = now() - interval '1 minute'
      WHERE name IN ('proxy-refunds', 'proxy-deletions') AND finished_at IS NOT NULL`,
  );
const passTimeUntil = (check: () => boolean | Promise<boolean>) =>
  eventually(async () => {
    await passHour();
    await passMinute();
    return check();
  });

type Stop = readonly [run: string, reached: Promise<unknown>, letGo: () => unknown];
function stopAt(statement: string, moment: 'before' | 'after'): Stop {
  const { reached, letGo } = replicas.relay.catchNext({ statement, moment, action: 'hold' });
  return ['proxy-refunds', reached, letGo];
}
function stopAtCommit(): Stop {
  const [run, executed, letGo] = stopAt('LATERAL refund_proxy', 'after');
  let commit: Stop | undefined;
  const reached = executed.then(() => {
    commit = stopAt('COMMIT', 'after');
    letGo();
    return commit[1];
  });
  return [run, reached, () => commit?.[2]()];
}
async function stopDeletion(stage: 'received' | 'executed'): Promise<Stop> {
  const gate = await replicas.control.addGate({ method: 'delete', stage });
  const reached = replicas.control.untilGateReached(gate, HELD_MS);
  return ['proxy-deletions', reached, () => replicas.control.openGate(gate, 'drop')];
}

async function killAt<Next>([run, reached, letGo]: Stop, setNext: () => Next): Promise<Awaited<Next>> {
  let isReached = false;
  void reached.then(() => (isReached = true));
  await passTimeUntil(() => isReached);
  const { holder, victim } = await eventually(async () => {
    const [lease] = await replicas.query<{ holder: string; pid: number }>(
      `SELECT holder, (replica.report ->> 'pid')::integer AS pid
         FROM job_runs JOIN replica_reports replica USING (holder) WHERE name = $1`,
      [run],
    );
    const found = running.find(({ pid }) => pid === lease?.pid);
    return lease && found && { holder: lease.holder, victim: found };
  });
  victim.kill('SIGKILL');
  await victim.ended();
  await letGo();
  running = running.filter((one) => one !== victim);
  serveEcho();
  const next = await setNext();
  await replicas.query('UPDATE job_runs SET leased_until = now() WHERE holder = $1', [holder]);
  running.push(await start());
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
  // The first one is prolonged meanwhile; the provider refuses the second.
  const [{ id: prolonged, customer: prolonger } = { id: 0 }, refused] = dead;
  if (!prolonger || !refused?.customer) throw new Error('two customers have dead proxies');
  await sendUntilResponse(baseUrl, prolongation(prolonger, String(prolonged), 'prolong'));
  await replicas.control.addFault({ method: 'prolong', kind: 'error', errorId: 400 });
  expect((await send(baseUrl(), prolongation(refused.customer, String(refused.id), 'none'))).status).toBe(
    503,
  );
  await replicas.control.resetFaults();
  await replicas.untilSettled();
  await replicas.untilSwept();

  // Nothing listens at this port, so that no check says anything.
  echo.target = 9;
  await passHour();
  await eventually(async () => {
    await passMinute();
    return (await refunds('next_check_at <= now()')).length === 0;
  });
  expect(await refunds(`state <> 'checking' OR failures <> '{}'`)).toEqual([]);

  let stop = stopAt('failures = failures ||', 'before');
  serveEcho();
  stop = await killAt(stop, () => stopAt('failures = failures ||', 'after'));
  const refusal = `reason = $2, next_check_at = NULL, closed_at`;
  stop = await killAt(stop, () => stopAt('LATERAL refund_proxy', 'after'));
  stop = await killAt(stop, () => stopAt(refusal, 'before'));
  stop = await killAt(stop, () => stopAt(refusal, 'after'));
  expect(await refunds(`reason = 'prolonged'`)).toEqual([{ proxy_id: prolonged }]);
  stop = await killAt(stop, () => stopAt('LATERAL refund_proxy', 'before'));
  stop = await killAt(stop, () => stopAt('LATERAL refund_proxy', 'after'));
  stop = await killAt(stop, stopAtCommit);
  stop = await killAt(stop, () => stopDeletion('received'));
  stop = await killAt(stop, () => stopDeletion('executed'));
  await killAt(stop, () => null);
  const isOpen = `state = 'checking' OR (state = 'refunded') <> (deleted_at IS NOT NULL)`;
  await passTimeUntil(async () => (await refunds(isOpen)).length === 0);
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
  expect(refunded).toEqual(dead.map(({ id }, n) => ({ id, entries: n === 0 ? 2 : 1, isExact: true })));
  const { goneProxyIds } = await replicas.control.getState();
  expect(new Set(goneProxyIds)).toEqual(new Set(dead.map(({ providerId }) => providerId)));
  await replicas.untilSwept();
  await replicas.audit();
});

it.each(['before', 'after'] as const)(
  'kill -9 %s the commit of one of 40 requests at once, on two replicas: the quota is not exceeded',
  async (moment) => {
    await replicas.query('UPDATE refund_rule SET quota = 3, quota_percent = 0');
    const customer = await replicas.createCustomer();
    const order = { key: 'buy', path: '/proxies/buy', body: { country: 'ru', period: 30, count: 40 } };
    const { body } = await sendUntilResponse(baseUrl, { customer, ...order });
    const [first, ...others] = (body['proxies'] as { id: string }[]).map(({ id }) => id);
    const [survivor, victim] = running;
    if (!survivor || !victim || !first) throw new Error('two replicas run');
    const [, reached, letGo] = stopAt('begin_refund', moment);
    const request = (id: string, { baseUrl: at }: BuiltService) =>
      requestRefund(at, customer, id).catch(() => null);
    const lost = request(first, victim);
    await reached;
    const requests = others.map((id, n) => request(id, n % 2 === 0 ? survivor : victim));
    await Promise.all(requests.filter((_, n) => n % 2 === 0));
    victim.kill('SIGKILL');
    await victim.ended();
    await letGo();
    await Promise.all([lost, ...requests]);
    running = [survivor, await start()];
    const responses = await Promise.all(
      [first, ...others].map((id, n) => request(id, running[n % 2] ?? survivor)),
    );
    expect(responses.map((response) => response?.status)).toEqual(Array.from({ length: 40 }, () => 202));
    const states = await replicas.query<{ state: string }>(
      'SELECT state FROM proxy_refunds WHERE user_id = $1',
      [customer.id],
    );
    expect(states).toEqual(Array.from({ length: 3 }, () => ({ state: 'checking' })));
    await replicas.audit();
  },
);
