import { BUILD_TIMEOUT_MS, type BuiltService, eventually } from '../support/built-service';
import { forAllTests } from '../support/fixtures';
import { Replicas, send, sendUntilResponse } from '../support/replicas';
import { startTcpRelay } from '../support/tcp-relay';

// kill -9 of the replica that checks, refunds or deletes dead proxies, at each step, after a time without the
// echo endpoint. The run's lease of a dead replica keeps the other one from it until the next stop is set.

jest.setTimeout(480_000);

/** Calls that are held do not time out before their replica is killed. */
const HELD_MS = 60_000;

const echo = forAllTests(startTcpRelay);
const replicas = forAllTests(() =>
  Replicas.open({
    environment: {
      ECHO_URL: `http://127.0.0.1:${echo.port}/echo`,
      SWEEP_INTERVAL_SECONDS: '2',
      PROVIDER_TIMEOUT_MS: String(HELD_MS),
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

/** Three customers with six proxies each, by id. Those of the last are at another host, to compare with. */
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

/** An hour passes for refunds that no statement locks, and a minute since the last runs. */
const passHour = () =>
  replicas.query(
    `UPDATE proxy_refunds SET next_check_at = next_check_at - interval '1 hour',
                              next_deletion_at = next_deletion_at - interval '1 hour'
      WHERE id IN (SELECT id FROM proxy_refunds FOR UPDATE SKIP LOCKED)`,
  );
const passMinute = () =>
  replicas.query(
    `UPDATE job_runs SET started_at = now() - interval '1 minute'
      WHERE name IN ('refunds', 'refund-deletions') AND finished_at IS NOT NULL`,
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
  return ['refunds', reached, letGo];
}
/** Loses a call that deletes a proxy, or its response. */
async function stopDeletion(stage: 'received' | 'executed'): Promise<Stop> {
  const gate = await replicas.control.addGate({ method: 'delete', stage });
  const reached = replicas.control.untilGateReached(gate, HELD_MS);
  return ['refund-deletions', reached, () => replicas.control.openGate(gate, 'drop')];
}

/** Kills the replica that executes a run once it is stopped, and starts another one. */
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

it('Each dead proxy is refunded and deleted once, and no other, though replicas are killed', async () => {
  const rentals = await rent();
  const dead = rentals.filter((_, n) => n % 3 === 0);
  for (const { providerId } of dead) await replicas.control.setProxyFault(providerId, 'close');
  // Refunds of some that work are requested, too.
  for (const { id, customer } of rentals.filter((_, n) => n % 3 === 0 || n % 6 === 1)) {
    if (customer) await send(baseUrl(), { customer, path: `/proxies/${id}/refund`, body: {} });
  }
  const refunds = (where: string) => replicas.query(`SELECT proxy_id FROM proxy_refunds WHERE ${where}`);
  expect(await refunds(`state = 'checking'`)).toHaveLength(9);

  // While the echo endpoint is down, no check says anything: nothing listens at this port.
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
  stop = await killAt(stop, () => stopAt('LATERAL refund_proxy', 'before'));
  stop = await killAt(stop, () => stopAt('LATERAL refund_proxy', 'after'));
  stop = await killAt(stop, () => stopDeletion('received'));
  stop = await killAt(stop, () => stopDeletion('executed'));
  await killAt(stop, () => null);
  const isOpen = `state = 'checking' OR (state = 'refunded') <> (deleted_at IS NOT NULL)`;
  await passTimeUntil(async () => (await refunds(isOpen)).length === 0);

  const refunded = await replicas.query(
    `SELECT proxies.id::integer, count(entry)::integer AS entries, sum(available_delta) = amount AS "isExact"
       FROM proxies LEFT JOIN proxy_refunds refund ON proxy_id = proxies.id AND state = 'refunded'
            LEFT JOIN ledger_entries entry ON proxy_refund_id = refund.id
      WHERE refunded_at IS NOT NULL GROUP BY proxies.id, refund.id ORDER BY proxies.id`,
  );
  expect(refunded).toEqual(dead.map(({ id }) => ({ id, entries: 1, isExact: true })));
  const { goneProxyIds } = await replicas.control.getState();
  expect(new Set(goneProxyIds)).toEqual(new Set(dead.map(({ providerId }) => providerId)));
  await replicas.untilSwept();
  await replicas.audit();
});
