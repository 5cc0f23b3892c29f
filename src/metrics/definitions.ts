export interface MetricDefinition {
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** Shown in every scrape and in docs/metrics.md. */
  readonly help: string;
  /** Callers must not be able to choose a label's value, so a path or a country is never a label. */
  readonly labels: Labels;
  /** In seconds. */
  readonly buckets?: readonly number[];
  /** Whether all replicas report the same value, read from the shared database. */
  readonly isShared?: boolean;
}

export const METRIC_PREFIX = 'proxy_rental_';

const REQUEST_BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const CALL_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 7.5, 10, 15, 30];
const CREDIT_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3600, 7200];
const WAIT_BUCKETS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60];

const JOB_BUCKETS = [0.005, 0.05, 0.5, 5, 30, 300, 3600];

const METHOD = '`GET`, …; `other` if unknown';
const ROUTE = 'the path template, or `unmatched` if there is none';
const PAYMENT_METHOD = '`create`, `read`, `list`, `refund`, `refunds`';
const PROVIDER_METHOD = 'a method of the provider, such as `buy`';
const PAYMENT_REASON =
  'as in `cli payments list`; `found-refund`; `receipt`: not registered; shown for a week';
const OPEN_STATE = '`reserved`, `submitting`, `confirming`, `review`';
/** The label is called `name`, because `job` would clash with Prometheus's own label. */
const JOB_NAME = 'as in `cli status`';
const WAITED_FOR =
  '`dispatch-orders`, `reconcile-orders`, `publish-events`, `send-webhooks`, `renewals`, ' +
  '`read-deposits`, `deposit-refunds`, `proxy-refunds`, `proxy-deletions`';
const SCOPE = '`day`, `all`';
/** Not derived from the reasons in `src/renewals`, because that module imports this one. */
const RENEWAL_REASON = 'why a renewal was skipped or failed, as in `cli renewals list`; otherwise empty';

type Labels = Readonly<Record<string, string>>;

const counter = <Own extends Labels>(help: string, labels: Own) =>
  ({ type: 'counter', help, labels }) as const;

const NO_LABELS = {} as const;

const histogram = <Own extends Labels = typeof NO_LABELS>(
  help: string,
  buckets: readonly number[],
  labels: Own = NO_LABELS as Own,
) => ({ type: 'histogram', help, buckets, labels }) as const;

const gauge = <Own extends Labels = typeof NO_LABELS>(help: string, labels: Own = NO_LABELS as Own) =>
  ({ type: 'gauge', help, labels }) as const;

const sharedGauge = <Own extends Labels = typeof NO_LABELS>(help: string, labels: Own = NO_LABELS as Own) =>
  ({ type: 'gauge', help, labels, isShared: true }) as const;

/** Names omit {@link METRIC_PREFIX}. prom-client adds Node's own metrics. */
export const METRICS = {
  http_requests_total: counter('Requests by route and status.', {
    method: METHOD,
    route: ROUTE,
    status: 'the status code, or `aborted` if the client disconnected',
  }),
  http_request_duration_seconds: histogram(
    'Duration of requests, excluding those that wait for events.',
    REQUEST_BUCKETS,
    { method: METHOD, route: ROUTE },
  ),
  event_readers: gauge('Requests on this replica that are waiting for events.', { kind: '`poll`, `stream`' }),
  orders_total: counter('Orders by outcome; an order in review is counted again once staff have decided.', {
    kind: '`purchase`, `prolongation`',
    outcome: '`completed`, `partial`, `canceled`, `review`; `refused`: not placed',
  }),
  queue_wait_seconds: histogram(
    'Time between placing an order and sending it to the provider.',
    WAIT_BUCKETS,
  ),
  agent_calls_total: counter('Tool calls by agents (MCP).', {
    tool: 'as in `docs/agents.md`',
    outcome: '`done`; `refused`; `failed`: an error in the service',
  }),
  payments_total: counter(
    'Deposit payments, counted once when created and again when their outcome is known.',
    {
      outcome: '`created`; `credited`; `ended`: not paid; `unmatched`: staff decide',
    },
  ),
  deposits_pending: sharedGauge('Deposits that have not been paid yet; absent if payments are off.'),
  deposits_pending_oldest_seconds: sharedGauge(
    'Age of the oldest pending deposit; 0 if none, absent if payments are off.',
  ),
  payments_undecided: sharedGauge(
    'Payments, and refunds made at the payment provider, that await a decision; absent if payments ' +
      'are off.',
    {
      reason: PAYMENT_REASON,
    },
  ),
  payments_undecided_oldest_seconds: sharedGauge(
    'Age of the oldest undecided payment or refund; 0 if none, absent if payments are off.',
    {
      reason: PAYMENT_REASON,
    },
  ),
  payment_credit_seconds: histogram('Time from a payment until it is credited.', CREDIT_BUCKETS),
  payment_notifications_total: counter('Notifications from the payment provider, genuine or not.', {
    outcome: '`known`: for a deposit; `unknown`; `ignored`: not about a payment, or repeated',
  }),
  payment_calls_total: counter('Calls to the payment provider.', {
    method: PAYMENT_METHOD,
    outcome:
      '`done`, `refused`; `forbidden`: the shop or its key was refused; `unavailable`: nothing was done; ' +
      '`unknown`: may have been executed',
  }),
  payment_call_duration_seconds: histogram('Duration of calls to the payment provider.', CALL_BUCKETS, {
    method: PAYMENT_METHOD,
  }),
  payment_rows_unusable_total: counter("Rows in the payment provider's lists that could not be used.", {}),
  provider_calls_total: counter('Calls to the provider.', {
    method: PROVIDER_METHOD,
    outcome: '`done`, `refused`; `unavailable`: not sent; `unknown`: may have been executed',
  }),
  provider_call_duration_seconds: histogram(
    'Duration of calls to the provider, excluding the wait for a rate permit.',
    CALL_BUCKETS,
    { method: PROVIDER_METHOD },
  ),
  provider_calls_waiting: gauge('Provider calls of this replica that are waiting for a rate permit.'),
  provider_permit_wait_seconds: histogram(
    'How long provider calls waited until they got a rate permit or gave up.',
    WAIT_BUCKETS,
  ),
  breaker_open: gauge('1 if a circuit breaker of this replica is open.', {
    breaker: '`money`, `reads`, `funds`',
  }),
  provider_balance_roubles: sharedGauge(
    "Our balance in the provider's latest response; absent before the first response.",
  ),
  provider_runway_seconds: sharedGauge(
    'How long our balance will last at the spending rate of the last 24 hours; absent if nothing was ' +
      'spent.',
  ),
  orders_open: sharedGauge('Open orders by state.', { state: OPEN_STATE }),
  orders_open_oldest_seconds: sharedGauge('Age of the oldest open order; 0 if none.', {
    state: OPEN_STATE,
  }),
  provider_rows_unread: sharedGauge('Unreadable rows in the last sweep; absent before the first sweep.', {
    owner:
      '`own` (with our order references), `foreign`, or `unknown`, in which case no proxy counts as missing',
  }),
  unmatched_proxies_open: sharedGauge('Unmatched proxies that await a decision by staff.'),
  renewals: sharedGauge('Renewals that became due in the last 24 hours.', {
    state: '`planned`, `placed`, `done`, `skipped`, `failed`',
    reason: RENEWAL_REASON,
  }),
  renewals_paused: sharedGauge(
    '1 if staff have paused all renewals (`all`); number of users whose renewals are paused (`users`).',
    {
      of: '`all`, `users`',
    },
  ),
  reconciliation_searches_total: counter("Searches of the provider's listing for the outcome of orders.", {
    outcome:
      '`bought`, `prolonged`, `nothing`, `inconclusive`, `contradictory`; `failed`: the listing was not read',
  }),
  job_last_success_timestamp_seconds: gauge(
    'When the job last succeeded: on this replica if every replica runs it, otherwise on any replica.',
    {
      name: JOB_NAME,
    },
  ),
  job_interval_seconds: gauge('Interval of a job.', { name: JOB_NAME }),
  job_failures_total: counter('Failed runs of a job on this replica.', { name: JOB_NAME }),
  job_claimed_total: counter('Rows claimed, or runs started, by a job on this replica.', { name: JOB_NAME }),
  job_seconds: histogram('Duration of a job, per run or row.', JOB_BUCKETS, {
    name: JOB_NAME,
  }),
  job_pending: sharedGauge('Rows that are waiting for a job.', { name: WAITED_FOR }),
  job_oldest_seconds: sharedGauge(
    'How long the oldest row has been waiting for a job; 0 if none. Excludes failing webhooks, and ' +
      'renewals that are queued or waiting for customers.',
    { name: WAITED_FOR },
  ),
  webhook_attempts_total: counter('Attempts to send an event to a webhook.', {
    outcome:
      '`delivered`; `refused`: not a 2xx response; `timeout`; `unreachable`; `forbidden`: the address is ' +
      'not allowed; `cut-off`: the replica stopped',
  }),
  webhook_attempt_duration_seconds: histogram(
    'Duration of attempts to send an event to a webhook.',
    CALL_BUCKETS,
  ),
  webhooks_disabled: sharedGauge(
    'Webhooks disabled after their receivers failed for three days or returned 410.',
  ),
  closed_for_maintenance: sharedGauge('1 while the service is closed for maintenance.'),
  replicas: sharedGauge('Replicas that reported in the last 20 seconds.'),
  catalog_age_seconds: gauge(
    'Age of the oldest catalog copy among those that customers read through this replica in the last ' +
      '15 minutes; absent if none.',
    { copy: '`countries`, `stock`, `prices`, `exact_prices`' },
  ),
  database_pool_connections: gauge('Database connections of this replica.', {
    state: '`idle`, `busy`; `waiting`: requests for a connection',
  }),
  database_up: gauge('1 if the database responded to this scrape in time.'),
  database_size_bytes: sharedGauge('Size of the database.'),
  database_standbys: sharedGauge(
    'Standbys that are streaming from the database; without pg_read_all_stats, only those with a ' +
      'replication slot.',
  ),
  database_archive_failing: sharedGauge(
    '1 if the last attempt to archive a WAL file failed; absent if archive_mode is off.',
  ),
  database_archive_age_seconds: sharedGauge(
    'Time since the last WAL file was archived; absent if archive_mode is off.',
  ),
  audit_ok: sharedGauge('1 if the last audit of the books found no violation; absent before any audit.', {
    scope: SCOPE,
  }),
  audit_last_run_timestamp_seconds: sharedGauge('When the last audit of the books ended.', {
    scope: SCOPE,
  }),
  audit_violations: sharedGauge('Rows that violated an invariant in the last audit of the books.', {
    scope: SCOPE,
  }),
  ready: gauge('1 if GET /health/ready reports ready.'),
  build_info: gauge('Always 1; the label shows the version of this replica.', {
    version: 'as in package.json',
  }),
} satisfies Readonly<Record<string, MetricDefinition>>;

type Names<Type extends MetricDefinition['type']> = {
  [Name in keyof typeof METRICS]: (typeof METRICS)[Name]['type'] extends Type ? Name : never;
}[keyof typeof METRICS];

export type MetricName = keyof typeof METRICS;
export type CounterName = Names<'counter'>;
export type GaugeName = Names<'gauge'>;
export type HistogramName = Names<'histogram'>;

export type LabelsOf<Name extends MetricName> = Readonly<
  Record<keyof (typeof METRICS)[Name]['labels'], string>
>;
