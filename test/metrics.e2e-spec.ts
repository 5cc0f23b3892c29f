import { ALL_PAYMENT_SCOPES, type Scope, TokensService } from '../src/auth';
import { AppConfig } from '../src/config';
import { Jobs } from '../src/jobs';
import { type MetricDefinition, METRICS, Metrics, MetricsServer, METRIC_PREFIX } from '../src/metrics';
import { connectAgent } from './support/agent';
import { eventually } from './support/built-service';
import { forAllTests } from './support/fixtures';
import { captureLog } from './support/log-capture';
import { readMetrics, type Scrape } from './support/scrape';
import { DESCRIBES_DEPOSITS, startTestService } from './support/test-service';

const metricsUrl = (): string => service.app.get(MetricsServer).url ?? '';
const scrape = (): Promise<Scrape> => readMetrics(metricsUrl());

const log = forAllTests(captureLog);
// One of its own: what is measured is the whole installation.
const service = forAllTests(() =>
  startTestService({
    environment: { METRICS_PORT: '0', LOG_LEVEL: 'info', ...DESCRIBES_DEPOSITS },
    jobIntervalsMs: { 'replica-report': 20_000 },
    tuning: { webhookAttemptsAtOnce: 0 },
  }),
);
const user = forAllTests(() => service.createUser());
beforeAll(async () => {
  await service.dataSource.query(
    `INSERT INTO audit_runs (scope, started_at, finished_at, ok, violations)
     VALUES ('day', now(), now(), true, '[]'),
            ('all', now(), to_timestamp(1000), false, '[{"name": "a", "violations": 3, "rows": []}]')`,
  );
  expect((await user.buy()).response.status).toBe(200);
  await service.runJob('sweep');
  // Spending is read rarely: here, before tests change orders.
  await scrape();
});

const OTHER_PAYMENT = `
  INSERT INTO payments (provider, payment_id, state, paid_amount, currency, paid_at, created_at, reason)
  SELECT 'sandbox', 'other', 'unmatched', 100, 'RUB', at, at, 'other-amount'
    FROM (VALUES (now() - interval '2 days')) AS paid (at)`;

const change = (statements: string) =>
  service.owner.query(`BEGIN; SET LOCAL session_replication_role = replica; ${statements}; COMMIT`);

/** Reverts what the tests of single values write. */
const UNDO = `
  DELETE FROM maintenance; DELETE FROM webhooks; DELETE FROM webhook_deliveries; DELETE FROM payments;
  DELETE FROM unmatched_proxies; DELETE FROM events WHERE position IS NULL;
  UPDATE orders SET state = 'completed', captured = hold_amount, closed_at = now() WHERE state = 'review';
  UPDATE job_runs SET report = '{}' WHERE name = 'sweep'; UPDATE renewals_pause SET paused_at = NULL;
  SELECT pg_advisory_unlock_all()`;

describe('GET /metrics', () => {
  afterEach(() => change(UNDO));

  // The server of the tests archives nothing: `test/faults/metrics.e2e-spec.ts` reads these.
  const documented = Object.entries<MetricDefinition>(METRICS).filter(
    ([name]) => !name.startsWith('database_archive_'),
  );

  it('has every documented metric with its help and its kind, where there is what it measures', async () => {
    const { text } = await scrape();
    for (const [name, { help, type }] of documented) {
      expect(text).toContain(
        `# HELP ${METRIC_PREFIX}${name} ${help}\n# TYPE ${METRIC_PREFIX}${name} ${type}\n`,
      );
    }
    const ours = [...text.matchAll(/^# TYPE proxy_rental_(\S+)/gm)].map(([, name]) => name);
    expect(new Set(ours)).toEqual(new Set(documented.map(([name]) => name)));
  });

  it('counts requests by the template of their route, and unknown paths and methods together', async () => {
    const before = await scrape();
    const get = (path: string, method = 'GET') =>
      fetch(service.baseUrl + path, { method, headers: { Authorization: `Bearer ${user.token}` } });
    await get('/proxies/1');
    await get('/proxies/987654321');
    await get('/proxies/buy');
    await get('/a/b/c?d=e');
    await get('/also-unknown', 'PROPFIND');
    const after = await scrape();
    const counted = (labels: string): number =>
      after.value(`http_requests_total{${labels}}`) - before.value(`http_requests_total{${labels}}`);
    expect(counted('method="GET",route="/proxies/{proxy_id}",status="200"')).toBe(1);
    expect(counted('method="GET",route="/proxies/{proxy_id}",status="404"')).toBe(1);
    expect(counted('method="GET",route="unmatched",status="405"')).toBe(1);
    expect(counted('method="GET",route="unmatched",status="404"')).toBe(1);
    expect(counted('method="other",route="unmatched",status="404"')).toBe(1);
    expect(after.value('http_request_duration_seconds_count{method="GET",route="/proxies/{proxy_id}"}')).toBe(
      before.value('http_request_duration_seconds_count{method="GET",route="/proxies/{proxy_id}"}') + 2,
    );
  });

  it('counts orders by outcome, and what the provider was asked', async () => {
    const before = await scrape();
    const poor = await service.createUser({ balance: '0.00' });
    await poor.buy();
    expect((await user.buy({}, 'a-key')).response.status).toBe(200);
    expect((await user.buy({}, 'a-key')).response.status).toBe(200);
    const after = await scrape();
    const grew = (series: string): number => after.value(series) - before.value(series);
    expect(grew('orders_total{kind="purchase",outcome="completed"}')).toBe(1);
    expect(grew('orders_total{kind="purchase",outcome="refused"}')).toBe(1);
    expect(grew('queue_wait_seconds_count')).toBe(1);
    expect(grew('provider_calls_total{method="buy",outcome="done"}')).toBe(1);
    expect(grew('provider_call_duration_seconds_count{method="buy"}')).toBe(1);
  });

  it('shows the state of the whole installation', async () => {
    const { value } = await scrape();
    expect(value('database_up')).toBe(1);
    expect(value('ready')).toBe(1);
    expect(value('database_size_bytes')).toBeGreaterThan(1_000_000);
    expect(value('database_standbys')).toBe(0);
    expect(value('orders_open{state="review"}')).toBe(0);
    expect(value('provider_balance_roubles')).toBeGreaterThan(0);
    expect(value('provider_runway_seconds')).toBeGreaterThan(0);
    expect(value('audit_ok{scope="day"}')).toBe(1);
    expect(value('audit_ok{scope="all"}')).toBe(0);
    expect(value('audit_violations{scope="all"}')).toBe(3);
    expect(value('audit_last_run_timestamp_seconds{scope="all"}')).toBe(1000);
  });

  it('shows which renewals are due and wait for the service, and the outcomes of a day', async () => {
    const before = await scrape();
    expect(before.value('job_pending{name="renewals"}')).toBe(0);
    const renewing = await service.createUser();
    await renewing.buy();
    await service.dataSource.query(
      `WITH rule AS (INSERT INTO renewal_rules (user_id, period) VALUES ($1, 30) RETURNING id)
       INSERT INTO renewals (proxy_id, user_id, rule_id, date_end_before, period, state, reason, due_at,
                             next_try_at)
       SELECT proxies.id, $1, rule.id, date_end + make_interval(hours => n), 30, state, reason,
              now() - make_interval(hours => n), CASE state WHEN 'failed' THEN NULL ELSE now() END
         FROM (SELECT id, date_end FROM proxies WHERE user_id = $1 LIMIT 1) AS proxies, rule,
              (VALUES (1, 'planned', NULL), (2, 'skipped', 'no-price'), (3, 'skipped', 'balance-short'),
                      (4, 'failed', 'no-price'), (-5, 'planned', NULL)) AS renewal (n, state, reason)`,
      [renewing.id],
    );
    const { value } = await scrape();
    expect(value('job_pending{name="renewals"}')).toBe(2);
    expect(Math.round(value('job_oldest_seconds{name="renewals"}') / 3600)).toBe(2);
    expect(value('renewals{state="planned",reason=""}')).toBe(1);
    expect(value('renewals{state="skipped",reason="balance-short"}')).toBe(1);
    expect(value('renewals{state="failed",reason="no-price"}')).toBe(1);
    const done = 'renewals{state="done",reason=""}';
    expect(value(done)).toBe(before.value(done));
    expect(value('renewals_paused{of="all"}')).toBe(0);
    await service.dataSource.query('UPDATE renewals_pause SET paused_at = now()');
    expect((await scrape()).value('renewals_paused{of="all"}')).toBe(1);
  });

  it('measures the waits of customers in the queue, and not those of renewals', async () => {
    const renewing = await service.createUser();
    await renewing.buy({ period: 7 });
    await service.dataSource.query(
      'INSERT INTO renewal_rules (user_id, period, hours_before) VALUES ($1, 7, 168)',
      [renewing.id],
    );
    const before = await scrape();
    await service.runJob('renewals');
    const after = await scrape();
    const grew = (series: string): number => after.value(series) - before.value(series);
    expect(grew('orders_total{kind="prolongation",outcome="completed"}')).toBe(1);
    expect(grew('queue_wait_seconds_count')).toBe(0);
  });

  it('shows when a job last succeeded, also while its next run is under way', async () => {
    let meanwhile = (): Promise<void> => Promise.resolve();
    const jobs = service.app.get(Jobs);
    jobs.run({ name: 'a-job', everySeconds: 900, execute: async () => ({ done: await meanwhile() }) });
    const lastSuccess = async () =>
      (await scrape()).value('job_last_success_timestamp_seconds{name="a-job"}');
    expect(await lastSuccess()).toBe(0);
    await jobs.runNow('a-job');
    const first = await lastSuccess();
    expect(first).toBeGreaterThan(1_000_000_000);
    meanwhile = async () => expect(await lastSuccess()).toBe(first);
    await jobs.runNow('a-job');
    expect(await lastSuccess()).toBeGreaterThan(first);
    const { value } = await scrape();
    expect(value('job_interval_seconds{name="a-job"}')).toBe(900);
    expect(value('job_interval_seconds{name="replica-report"}')).toBe(20);
  });

  it.each<[series: string, value: number, statement: string]>([
    ['closed_for_maintenance', 1, 'INSERT INTO maintenance DEFAULT VALUES'],
    [
      'webhooks_disabled',
      1,
      `INSERT INTO webhooks (user_id, url, secret, disabled_at, disabled_reason)
       VALUES (1, 'https://hooks.example.com/', 'whsec_', now(), 'failing')`,
    ],
    [
      'unmatched_proxies_open',
      1,
      `INSERT INTO unmatched_proxies (provider, provider_proxy_id, order_reference, host, port, login,
                                      password, proxy_type, date_start, date_end)
       VALUES ('px6', 1, 'prs', 'host', '1', 'login', 'password', 'http', now(), now())`,
    ],
    [
      'orders_open_oldest_seconds{state="review"}',
      7200,
      `UPDATE orders SET state = 'review', created_at = now() - interval '2 hours', closed_at = NULL,
                         captured = 0, released = 0`,
    ],
    ['payments_undecided_oldest_seconds{reason="other-amount"}', 172_800, OTHER_PAYMENT],
    ['payments_undecided{reason="other-amount"}', 1, OTHER_PAYMENT],
    [
      'provider_rows_unread{owner="own"}',
      3,
      `UPDATE job_runs SET report = '{"unread_own": 3}' WHERE name = 'sweep'`,
    ],
    [
      'job_oldest_seconds{name="send-webhooks"}',
      660,
      `WITH webhook AS (INSERT INTO webhooks (user_id, url, secret) VALUES (1, 'https://a.example/', 'whsec_')
                        RETURNING id)
       INSERT INTO webhook_deliveries (event_id, webhook_id, next_attempt_at)
       SELECT 1, id, now() - interval '11 minutes' FROM webhook`,
    ],
    [
      'job_oldest_seconds{name="publish-events"}',
      120,
      `SELECT pg_advisory_lock(publishing_lock());
       INSERT INTO events (user_id, type, data, at)
       VALUES (1, 'token.created', '{}', now() - interval '2 minutes')`,
    ],
  ])('shows %s', async (series, value, statement) => {
    await change(statement);
    // Ages grow meanwhile, and a scrape during which the database is slow lacks its values.
    await eventually(async () => Math.abs((await scrape()).value(series) - value) < (value > 60 ? 60 : 1));
  });

  it('omits a job that was disabled', async () => {
    await service.dataSource.query(
      `INSERT INTO job_runs (name, holder, started_at, finished_at, succeeded_at, lease_seconds, leased_until,
                             interval_seconds)
       VALUES ('of-before', gen_random_uuid(), now(), now(), now(), 60, now(), 900)`,
    );
    const { text } = await scrape();
    expect(text).not.toContain('of-before');
  });

  it('has no token, password or key in it', async () => {
    const { text } = await scrape();
    const [{ password, login } = { password: '-', login: '-' }] = await service.dataSource.query<
      { password: string; login: string }[]
    >('SELECT login, password FROM proxies LIMIT 1');
    const { provider } = service.app.get<unknown, AppConfig>(AppConfig);
    const databasePassword = new URL(service.databaseUrl).password;
    for (const secret of [user.token, password, login, provider.apiKey, databasePassword, 'a-key']) {
      expect(secret.length).toBeGreaterThan(1);
      expect(text).not.toContain(secret);
    }
  });

  it('returns nothing else', async () => {
    const statusOf = async (path: string, method = 'GET') =>
      (await fetch(new URL(path, metricsUrl()), { method })).status;
    expect(await statusOf('/')).toBe(404);
    expect(await statusOf('/metrics/x')).toBe(404);
    expect(await statusOf('/metrics', 'POST')).toBe(405);
    expect((await fetch(`${service.baseUrl}/metrics`)).status).toBe(404);
    expect(new URL(metricsUrl()).hostname).toBe('127.0.0.1');
  });
});

describe('Calls of agents', () => {
  it('are logged with the tool and counted by it, and have deposits where those are on', async () => {
    const { id } = await service.createUser();
    const scopes = ALL_PAYMENT_SCOPES as readonly Scope[];
    const { text } = await service.app.get(TokensService).issue({ userId: id, scopes });
    const payer = await connectAgent(service.baseUrl, text);
    const { tools } = await payer.client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['list_deposits', 'create_deposit']);
    expect((await payer.call('list_deposits')).result).toEqual({ items: [], next_cursor: null });
    expect(await payer.call('create_deposit', { amount: '1.00', key: 'a' })).toMatchObject({
      error: { code: 'deposit-out-of-bounds' },
    });
    await payer.close();
    const { value } = await scrape();
    expect(value('agent_calls_total{tool="list_deposits",outcome="done"}')).toBe(1);
    expect(value('agent_calls_total{tool="create_deposit",outcome="refused"}')).toBe(1);
    const lines = await eventually(() => {
      const found = log.lines.filter((line) => line.includes('"tool":"create_deposit"'));
      return found.length > 0 && found.map((line) => JSON.parse(line) as Record<string, unknown>);
    });
    expect(lines).toEqual([expect.objectContaining({ method: 'POST', path: '/mcp', status: 200 })]);
    expect(log.lines.join()).not.toContain(text);
  });
});

describe('without METRICS_PORT', () => {
  it('measures nothing', async () => {
    const metrics = await Metrics.open(false);
    metrics.count('orders_total', { kind: 'purchase', outcome: 'completed' });
    expect(metrics.isEnabled).toBe(false);
    await expect(metrics.render()).rejects.toThrow('METRICS_PORT');
  });
});
