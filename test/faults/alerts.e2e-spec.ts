import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { createDrillDirectory } from '../../drills/support/accounts';
import { missingPackages } from '../../drills/support/debian';
import { freePorts, LOOPBACK } from '../../drills/support/ports';
import { until } from '../../drills/support/until';
import { ALL_PAYMENT_SCOPES, ALL_SCOPES } from '../../src/auth';
import { PaymentsSandbox } from '../../src/sandbox';
import { Facts } from '../../src/status/facts';
import { fetchAs } from '../support/api-client';
import type { BuiltService } from '../support/built-service';
import { forAllTests } from '../support/fixtures';
import { OPERATIONS, readAlertRules } from '../support/operations';
import { startOwnPostgres } from '../support/own-postgres';
import { describeWith } from '../support/programs';
import { type Labels, startNodeExporter, startPrometheus } from '../support/prometheus';
import { purchase, Replicas, send } from '../support/replicas';
import { connectStreamingStandby } from '../support/streaming-standby';
import { paymentsEnvironment } from '../support/test-service';
import { WireClient } from '../support/wire-client';

/** Often enough that a test need not wait. */
const SCRAPE_MS = 1000;
/** A busy machine scrapes late, and an alert fires after the second scrape. */
const LONGEST_MS = 60_000;
/** Failures that open the circuit breaker of a replica. */
const FAILURES = 20;

/** Once this file is there, nothing can be archived. */
const FULL_ARCHIVE = 'archive-is-full';

const ENVIRONMENT = {
  PROVIDER_RATE_PER_SECOND: '50',
  PROVIDER_TIMEOUT_MS: '5000',
  PURCHASE_WAIT_MS: '60000',
  SETTLEMENT_DELAY_SECONDS: '600',
  SWEEP_INTERVAL_SECONDS: '2',
  PAYMENTS_COMPARE_SECONDS: '5',
  YOOKASSA_RECEIPT: 'shop@example.com:4',
  DRAIN_SECONDS: '60',
};
const TUNING = { webhookAttemptsAtOnce: 0, ordersPerCall: 1, breakerFailures: FAILURES };

/** The rules as they are, but for the time that each must hold before it fires, which promtool tests. */
const quickRules = (): string =>
  readFileSync(join(OPERATIONS, 'alerts.yml'), 'utf8').replaceAll(/^( +for: ).*$/gm, '$11s');

const DISK_BYTES = 8 * 1024 * 1024;

/** Mounts a small file system, which only root may. Gives its path, or undefined. */
function mountSmallDisk(): string | undefined {
  const path = mkdtempSync(join(tmpdir(), 'proxy-rental-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', path], { stdio: 'ignore' });
    return path;
  } catch {
    rmdirSync(path);
    return undefined;
  }
}

function unmountSmallDisk(path: string): void {
  execFileSync('umount', [path]);
  rmdirSync(path);
}

describeWith(missingPackages('prometheus', 'nodeExporter'), 'With the real Prometheus', () => {
  jest.setTimeout(300_000);
  const disk = mountSmallDisk();
  const seen = new Set<string>();

  const directory = forAllTests(
    () => createDrillDirectory('alerts'),
    async (opened) => {
      if (disk !== undefined) unmountSmallDisk(disk);
      await opened.remove();
    },
  );
  const exporter = forAllTests(
    () => startNodeExporter(directory.path),
    (daemon) => daemon.stop(),
  );
  // Its log is archived, and a standby streams it.
  const database = forAllTests(() => {
    const archive = `test ! -e ${join(directory.path, FULL_ARCHIVE)}`;
    return startOwnPostgres({}, { archive_mode: 'on', archive_command: archive });
  });
  const standby = forAllTests(() => connectStreamingStandby(database.ownerUrl));
  const owner = forAllTests(
    () => new Client({ connectionString: database.ownerUrl }),
    (client) => client.end(),
  );
  const payments = forAllTests(() => PaymentsSandbox.start());
  const replicas = forAllTests(() => {
    const environment = { ...ENVIRONMENT, ...paymentsEnvironment(payments) };
    return Replicas.open({ database, environment, tuning: TUNING });
  });
  const customer = forAllTests(() =>
    replicas.createCustomer('10000.00', [...ALL_SCOPES, ...ALL_PAYMENT_SCOPES]),
  );
  const metrics = forAllTests(() => freePorts(2));
  const start = (at: number): Promise<BuiltService> =>
    replicas.start({ throughRelay: true, environment: { METRICS_PORT: String(metrics[at]) } });
  const first = forAllTests(() => start(0));
  const second = forAllTests(() => start(1));
  const prometheus = forAllTests(
    () =>
      startPrometheus({
        directory: directory.path,
        intervalMs: SCRAPE_MS,
        jobs: {
          'proxy-rental': [...metrics].map((port) => `${LOOPBACK}:${port}`),
          'database-host': [exporter.address],
        },
        rules: quickRules(),
      }),
    (daemon) => daemon.stop(),
  );
  beforeAll(() => owner.connect());

  /** The firing alerts, without those of the other disks of this machine. */
  const firing = async (): Promise<Labels[]> =>
    (await prometheus.firing()).filter(
      ({ alertname, mountpoint }) => !alertname?.startsWith('DatabaseDisk') || mountpoint === disk,
    );

  /** Waits until all of these fire. */
  async function fires(...names: readonly string[]): Promise<void> {
    const areFiring = async () => {
      const alerts = (await firing()).map(({ alertname }) => alertname);
      if (names.every((name) => alerts.includes(name))) return true;
      throw new Error(`firing are ${alerts.join(', ')}`);
    };
    await until(names.join(', '), areFiring, { timeoutMs: LONGEST_MS });
    for (const name of names) seen.add(name);
  }

  const buy = (from: BuiltService) => send(from.baseUrl, purchase(customer)).catch(() => undefined);
  const deposit = (key: string) =>
    send(first.baseUrl, { customer, key, path: '/deposits', body: { amount: '100.00' } });
  const requestPrice = () => fetchAs(customer, 'GET', `${first.baseUrl}/price?count=1&period=30`);

  /** Some things take a day. A test has that pass for a row. */
  const age = (statement: string, parameters: unknown[] = []) => owner.query(statement, parameters);

  async function leaveOrdersOpen(): Promise<void> {
    await replicas.control.addFault({ method: 'buy', kind: 'response-lost', times: 2 });
    await replicas.control.addFault({
      method: 'getproxy',
      kind: 'http-status',
      status: 500,
      match: { descr: 'prs*' },
      times: null,
    });
    await Promise.all([buy(first), buy(first)]);
    const { rows } = await owner.query<{ id: string }>(`SELECT id FROM orders WHERE state = 'confirming'`);
    const [aDayOld, anHourOld] = rows;
    await age(
      `UPDATE orders SET sent_before = now() - interval '1 day', next_search_at = now() WHERE id = $1`,
      [aDayOld?.id],
    );
    await age(`UPDATE orders SET created_at = now() - interval '2 hours' WHERE id = $1`, [anHourOld?.id]);
  }

  async function buyForNoOrder(): Promise<void> {
    const [{ orderReference } = { orderReference: '' }] = await replicas.query<{ orderReference: string }>(
      'SELECT order_reference AS "orderReference" FROM orders',
    );
    await new WireClient(replicas.sandbox.baseUrl, replicas.sandbox.apiKey).call(
      `buy/?count=1&period=30&country=ru&version=6&descr=${orderReference.replace(/\.o\d+x$/, '.o999999x')}`,
    );
  }

  async function auditBrokenBooks(): Promise<void> {
    await owner.query('SET session_replication_role = replica');
    await owner.query('UPDATE accounts SET available = available + 1');
    await owner.query('SET session_replication_role = DEFAULT');
    await replicas.runAudit();
  }

  /** No replica of this test sends webhooks. */
  async function leaveWebhooksUnsent(): Promise<void> {
    await owner.query(
      `INSERT INTO webhooks (user_id, url, secret) VALUES ($1, 'https://hooks.example.com/', 'whsec_')`,
      [customer.id],
    );
    await owner.query(`INSERT INTO events (user_id, type, data) VALUES ($1, 'proxy.moved', '{}')`, [
      customer.id,
    ]);
    await until('a delivery', async () => {
      const { rowCount } = await age(
        `UPDATE webhook_deliveries SET next_attempt_at = now() - interval '11 minutes'`,
      );
      return (rowCount ?? 0) > 0;
    });
  }

  async function failToArchive(): Promise<void> {
    await writeFile(join(directory.path, FULL_ARCHIVE), '');
    await owner.query('SELECT pg_switch_wal() FROM pg_logical_emit_message(false, $1, $1)', ['test']);
  }

  /** The proxy that was bought is not renewed in time, and another renewal of it fails. */
  const failToRenew = () =>
    owner.query(
      `WITH rule AS (INSERT INTO renewal_rules (user_id, period) VALUES ($1, 30) RETURNING id)
         INSERT INTO renewals (proxy_id, user_id, rule_id, date_end_before, period, state, reason, due_at,
                               next_try_at)
         SELECT proxies.id, $1, rule.id, date_end + make_interval(hours => n), 30, state, reason,
                now() - interval '1 hour', next_try_at
           FROM proxies, rule,
                (VALUES (0, 'skipped', 'no-price', now() + interval '1 day'),
                        (1, 'failed', 'no-price', NULL)) AS renewal (n, state, reason, next_try_at)
          WHERE user_id = $1 ORDER BY proxies.id LIMIT 2`,
      [customer.id],
    );

  /** No notification arrives, and receipts are canceled. An older payment has another amount. */
  async function payWithoutNotifications(): Promise<void> {
    payments.notifier.goWrong({ lost: true });
    payments.book.receiptState = 'canceled';
    payments.alter = (method, result) =>
      method === 'list' ? { items: [null, ...(result as { items: unknown[] }).items] } : result;
    for (let n = 0; n < 8; n += 1) await deposit(`deposit-${n}`);
    for (const id of payments.book.payments.keys()) payments.pay(id);
    await owner.query(
      `INSERT INTO payments (provider, payment_id, state, paid_amount, currency, paid_at, created_at,
                               reason)
         SELECT 'sandbox', 'other', 'unmatched', 100.01, 'RUB', at, at, 'other-amount'
           FROM (VALUES (now() - interval '2 days')) AS paid (at)`,
    );
  }

  /** The first refusal creates the counter: Prometheus sees an increase only from the second one on. */
  async function depositWithRefusedKey(): Promise<void> {
    payments.fail('create', ...Array<'401'>(100).fill('401'));
    await deposit('refused-1');
    const refused = 'proxy_rental_payment_calls_total{outcome="forbidden"}';
    await until('a refusal', async () => (await prometheus.query(refused)).length > 0);
    await deposit('refused-2');
  }

  /** It may be a row of ours. */
  const listUnreadableRow = () =>
    replicas.control.addFault({
      method: 'getproxy',
      kind: 'altered',
      match: { page: '1' },
      changes: [{ path: ['list', '9000001'], value: null }],
      times: null,
    });

  it('none fires while all is well, and each fires by its fault', async () => {
    expect((await buy(first))?.status).toBe(200);
    await requestPrice();
    await until('scrapes of all', async () => (await prometheus.query('up == 1')).length === 3);
    await until('readiness', async () => (await prometheus.query('proxy_rental_ready == 1')).length === 2);
    const copied = 'proxy_rental_database_standbys == 1 and proxy_rental_database_archive_failing == 0';
    await until('copies of the database', async () => (await prometheus.query(copied)).length === 2);
    // The service's role counts slots, and one that may read how standbys stream counts those.
    const facts = new Facts(async (text) => (await owner.query(text)).rows, 'px6');
    expect(await facts.copiesOfTheDatabase()).toMatchObject({ standbys: 1, isArchived: true });
    // Before its first scrape Prometheus knows of no replica.
    await until('silence', async () => (await firing()).length === 0);

    await standby.leave();
    await failToArchive();
    const nineDaysAgo = Math.floor(Date.now() / 1000) - 9 * 86_400;
    await writeFile(
      join(directory.path, 'backup.prom'),
      `proxy_rental_full_backup_timestamp_seconds ${nineDaysAgo}\n`,
    );
    await fires('StandbyGone', 'BackupLate', 'FullBackupOld');
    await leaveWebhooksUnsent();
    await fires('WebhooksNotSent');
    await age(`UPDATE webhooks SET disabled_at = now(), disabled_reason = 'failing'`);
    await fires('WebhookDisabled');
    await age('INSERT INTO maintenance DEFAULT VALUES');
    await fires('ClosedForMaintenance');
    await age('UPDATE maintenance SET ended_at = now()');
    await payWithoutNotifications();
    await fires('PaymentNotificationsMissing', 'PaymentAmountDiffers', 'PaymentUndecided');
    await fires('PaymentRowUnusable', 'ReceiptFailed');
    await depositWithRefusedKey();
    await fires('PaymentsForbidden');
    payments.resetFaults();
    await listUnreadableRow();
    await fires('ListingUnreadable');
    await replicas.control.resetFaults();
    await failToRenew();
    await buyForNoOrder();
    await leaveOrdersOpen();
    await fires('UnmatchedProxyOpen', 'OrdersUnconfirmed', 'OrderInReview', 'RenewalsLate', 'RenewalsFailed');

    let waiting: Promise<unknown> | undefined;
    await replicas.holdPermits(async () => {
      waiting = buy(first);
      await until('an order that waits', async () => {
        const { rowCount } = await age(
          `UPDATE orders SET created_at = created_at - interval '10 seconds' WHERE state = 'reserved'`,
        );
        return (rowCount ?? 0) > 0;
      });
      await auditBrokenBooks();
      await age(`UPDATE audit_runs SET finished_at = finished_at - interval '31 hours'`);
      await owner.query('SELECT pg_advisory_lock(publishing_lock())');
      await age(
        `INSERT INTO events (user_id, type, data, at)
           VALUES (1, 'token.created', '{}', now() - interval '2 minutes')`,
      );
      await fires('AuditFails', 'AuditLate', 'QueueTooLong', 'EventsUnpublished');
      await owner.query('SELECT pg_advisory_unlock(publishing_lock())');
    });
    await waiting;

    await replicas.control.setBalance('20.00');
    await fires('ProviderFundsLow', 'ProviderOutOfFunds');
    await replicas.control.setBalance('100000.00');
    await until(
      'funds',
      async () => !(await firing()).some(({ alertname }) => alertname === 'ProviderOutOfFunds'),
    );

    await replicas.control.addFault({ method: 'any', kind: 'http-status', status: 500, times: null });
    // Either replica sends them.
    const failing = Array.from({ length: 3 * FAILURES }, () => buy(first));
    await fires('ProviderDown', 'ProviderCallsFailing', 'RequestsFailing');
    await age(
      `UPDATE catalog_copies SET fetched_at = fetched_at - interval '10 minutes', changed_at = now()`,
    );
    await age(`UPDATE job_runs SET succeeded_at = succeeded_at - interval '10 minutes' WHERE name = 'sweep'`);
    await fires('CatalogStale', 'JobLate');

    second.kill('SIGTERM');
    await fires('ReplicaNotReady');
    second.kill('SIGKILL');
    await fires('ReplicaGone');
    await replicas.relay.close();
    await fires('DatabaseDown');
    first.kill('SIGKILL');
    await fires('ServiceDown');
    await Promise.all(failing);

    const others = readAlertRules().filter(({ alert }) => !alert.startsWith('DatabaseDisk'));
    expect([...seen].toSorted()).toEqual(others.map(({ alert }) => alert).toSorted());
  });

  const onDisk = disk === undefined ? it.skip : it;
  onDisk('a disk of the database that fills is told, twice', async () => {
    await writeFile(join(disk ?? '', 'pg_wal'), Buffer.alloc(DISK_BYTES * 0.97));
    await fires('DatabaseDiskFilling', 'DatabaseDiskFull');
  });
});
