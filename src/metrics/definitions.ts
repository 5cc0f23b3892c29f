export interface MetricDefinition {
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** For operators: part of every scrape, and of docs/metrics.md. */
  readonly help: string;
  /**
   * The values of each label: a fixed set, never chosen by a caller, such as a path, a token or a country.
   */
  readonly labels: Readonly<Record<string, string>>;
  /** Of a histogram, in seconds. */
  readonly buckets?: readonly number[];
  /** Whether all replicas report the same value, because it comes from their shared database. */
  readonly isShared?: boolean;
}

export const PREFIX = 'proxy_rental_';

/** From a request that reads one row to an order that waits for the provider, with its queue. */
const REQUEST_BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const CALL_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 7.5, 10, 15, 30];
/** From a notification to a payment that only the comparison found. */
const CREDIT_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3600, 7200];
const WAIT_BUCKETS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60];

/** From a check that finds nothing to the audit of all books. */
const JOB_BUCKETS = [0.005, 0.05, 0.5, 5, 30, 300, 3600];

const METHOD = '`GET`, `POST`, …; `other` for unknown methods';
const ROUTE = 'the template of the path; `unmatched` for paths without a route';
const PAYMENT_METHOD = '`create`, `read`, `list`, `refund`, `refunds`';
const PROVIDER_METHOD = 'of the provider, such as `buy`';
const PAYMENT_REASON = 'as in `cli payments list`; `found-refund`';
const OPEN_STATE = '`reserved`, `submitting`, `confirming`, `review`';
/** Prometheus's own label `job`, which every scrape gets, would hide a label of that name. */
const JOB_NAME = 'as in `cli status`';
const WAITED_FOR =
  '`dispatch-orders`, `read-ends`, `reconcile-orders`, `publish-events`, `send-webhooks`, `renewals`, ' +
  '`check-deposits`';
const SCOPE = '`day`, `all`';
/** The reasons are those of `src/renewals`, which imports this module. */
const RENEWAL_REASON = 'of a skipped or failed one, as in `cli renewals list`; otherwise empty';

/** Every metric of the service, by its name without {@link PREFIX}. Node's own come with prom-client. */
export const METRICS = {
  http_requests_total: {
    type: 'counter',
    help: 'Requests by route and status.',
    labels: {
      method: METHOD,
      route: ROUTE,
      status: 'the status code, or `aborted` if the client disconnected',
    },
  },
  http_request_duration_seconds: {
    type: 'histogram',
    help:
      'Duration of requests, with waits for orders, until the end of the response. Requests that wait ' +
      'for events are not measured.',
    labels: { method: METHOD, route: ROUTE },
    buckets: REQUEST_BUCKETS,
  },
  event_readers: {
    type: 'gauge',
    help: 'Requests of this replica that wait for events.',
    labels: { kind: '`poll`, `stream`' },
  },
  orders_total: {
    type: 'counter',
    help: 'Orders by outcome. Orders in review count again after the decision of staff.',
    labels: {
      kind: '`purchase`, `prolongation`',
      outcome: '`completed`, `partial`, `refunded`, `review`; `refused`: not placed',
    },
  },
  queue_wait_seconds: {
    type: 'histogram',
    help: 'Time from placing an order until it is sent to the provider.',
    labels: {},
    buckets: WAIT_BUCKETS,
  },
  payments_total: {
    type: 'counter',
    help: 'Payments of deposits, counted at their creation and by their outcome.',
    labels: { outcome: '`created`; `credited`; `ended`: not paid; `unmatched`: staff decide' },
  },
  deposits_pending: {
    type: 'gauge',
    help: 'Deposits that are not paid yet. Absent without payments, like the next three.',
    labels: {},
    isShared: true,
  },
  deposits_pending_oldest_seconds: {
    type: 'gauge',
    help: 'Age of the oldest pending deposit; 0 if there is none.',
    labels: {},
    isShared: true,
  },
  payments_undecided: {
    type: 'gauge',
    help: 'Payments, and refunds made at the provider, that wait for staff.',
    labels: { reason: PAYMENT_REASON },
    isShared: true,
  },
  payments_undecided_oldest_seconds: {
    type: 'gauge',
    help: 'Age of the oldest of them by reason; 0 if there is none.',
    labels: { reason: PAYMENT_REASON },
    isShared: true,
  },
  payment_credit_seconds: {
    type: 'histogram',
    help: 'Time from a payment to its credit.',
    labels: {},
    buckets: CREDIT_BUCKETS,
  },
  payment_notifications_total: {
    type: 'counter',
    help: 'Notifications of the payment provider, genuine or not.',
    labels: { outcome: '`known`: of a pending deposit; `unknown`; `ignored`: without a payment' },
  },
  payment_calls_total: {
    type: 'counter',
    help: 'Calls to the payment provider.',
    labels: {
      method: PAYMENT_METHOD,
      outcome: '`done`, `refused`; `unavailable`: nothing was done; `unknown`: may have been executed',
    },
  },
  payment_call_duration_seconds: {
    type: 'histogram',
    help: 'Duration of calls to the payment provider.',
    labels: { method: PAYMENT_METHOD },
    buckets: CALL_BUCKETS,
  },
  provider_calls_total: {
    type: 'counter',
    help: 'Calls to the provider.',
    labels: {
      method: PROVIDER_METHOD,
      outcome: '`done`, `refused`; `unavailable`: not sent; `unknown`: may have been executed',
    },
  },
  provider_call_duration_seconds: {
    type: 'histogram',
    help: 'Duration of calls to the provider, without the wait for a rate permit.',
    labels: { method: PROVIDER_METHOD },
    buckets: CALL_BUCKETS,
  },
  provider_calls_waiting: {
    type: 'gauge',
    help: 'Calls of this replica that wait for a rate permit.',
    labels: {},
  },
  provider_permit_wait_seconds: {
    type: 'histogram',
    help: 'Time that calls waited for a rate permit, including calls that gave up.',
    labels: {},
    buckets: WAIT_BUCKETS,
  },
  breaker_open: {
    type: 'gauge',
    help: '1 if a circuit breaker of this replica is open.',
    labels: { breaker: '`money`, `reads`, `funds`' },
  },
  provider_balance_roubles: {
    type: 'gauge',
    help: 'Our balance in the latest response of the provider. Absent before the first.',
    labels: {},
    isShared: true,
  },
  provider_runway_seconds: {
    type: 'gauge',
    help: 'Time that the balance lasts at the spending of the last 24 hours. Absent without spending.',
    labels: {},
    isShared: true,
  },
  orders_open: {
    type: 'gauge',
    help: 'Open orders by state.',
    labels: { state: OPEN_STATE },
    isShared: true,
  },
  orders_open_oldest_seconds: {
    type: 'gauge',
    help: 'Age of the oldest open order by state; 0 if there is none.',
    labels: { state: OPEN_STATE },
    isShared: true,
  },
  orphans_open: {
    type: 'gauge',
    help: 'Proxies at the provider that no order accounts for, until staff decide.',
    labels: {},
    isShared: true,
  },
  renewals: {
    type: 'gauge',
    help: 'Renewals that became due in the last 24 hours.',
    labels: {
      state: '`planned`, `placed`, `done`, `skipped`, `failed`',
      reason: RENEWAL_REASON,
    },
    isShared: true,
  },
  renewals_paused: {
    type: 'gauge',
    help: '1 if staff have paused all renewals, and the number of paused users.',
    labels: { of: '`all`, `users`' },
    isShared: true,
  },
  reconciliation_checks_total: {
    type: 'counter',
    help: 'Checks for the outcome of orders, by the listing of the provider.',
    labels: {
      outcome: '`bought`, `prolonged`, `nothing`, `inconclusive`, `contradictory`; `failed`: no listing',
    },
  },
  job_last_success_timestamp_seconds: {
    type: 'gauge',
    help: 'Last success of a job: on any replica, or on this one if each runs it.',
    labels: { name: JOB_NAME },
  },
  job_interval_seconds: {
    type: 'gauge',
    help: 'Interval of a job.',
    labels: { name: JOB_NAME },
  },
  job_failures_total: {
    type: 'counter',
    help: 'Failed rounds of a job on this replica.',
    labels: { name: JOB_NAME },
  },
  job_claimed_total: {
    type: 'counter',
    help: 'Rows claimed, or runs begun, by a job of this replica.',
    labels: { name: JOB_NAME },
  },
  job_seconds: {
    type: 'histogram',
    help: 'Duration of a row, a run or a round of a job.',
    labels: { name: JOB_NAME },
    buckets: JOB_BUCKETS,
  },
  job_pending: {
    type: 'gauge',
    help: 'Rows that wait for a job.',
    labels: { name: WAITED_FOR },
    isShared: true,
  },
  job_oldest_seconds: {
    type: 'gauge',
    help:
      'Time that the oldest row has waited for a job; 0 if there is none. Orders of renewals in the ' +
      'queue, webhooks whose last attempt failed, and renewals that wait for customers do not count.',
    labels: { name: WAITED_FOR },
    isShared: true,
  },
  webhook_attempts_total: {
    type: 'counter',
    help: 'Attempts to send an event to a webhook.',
    labels: {
      outcome:
        '`delivered`; `refused`: a status other than 2xx; `timeout`; `unreachable`; `forbidden`: an ' +
        'address that is not allowed; `cut-off`: the replica stopped',
    },
  },
  webhook_attempt_duration_seconds: {
    type: 'histogram',
    help: 'Duration of attempts to send an event to a webhook.',
    labels: {},
    buckets: CALL_BUCKETS,
  },
  webhooks_disabled: {
    type: 'gauge',
    help: 'Webhooks disabled because their receivers failed for too long, or are gone.',
    labels: {},
    isShared: true,
  },
  orders_shut: {
    type: 'gauge',
    help: '1 while a recovery shuts orders, which then return 503.',
    labels: {},
    isShared: true,
  },
  replicas: {
    type: 'gauge',
    help: 'Replicas that reported in the last 20 seconds.',
    labels: {},
    isShared: true,
  },
  catalog_age_seconds: {
    type: 'gauge',
    help:
      'Age of the oldest copy that customers requested from this replica in 15 minutes. Absent without ' +
      'requests.',
    labels: { copy: '`countries`, `stock`, `prices`, `exact_prices`' },
  },
  database_pool_connections: {
    type: 'gauge',
    help: 'Connections of this replica to the database.',
    labels: { state: '`idle`, `busy`; `waiting`: requests for one' },
  },
  database_up: {
    type: 'gauge',
    help:
      '1 if the database responded to this scrape in time. Otherwise the gauges that are read from it ' +
      'are absent.',
    labels: {},
  },
  database_size_bytes: {
    type: 'gauge',
    help: 'Size of the database.',
    labels: {},
    isShared: true,
  },
  database_standbys: {
    type: 'gauge',
    help:
      'Standbys that stream from the database: from pg_stat_replication if the role may read it ' +
      '(pg_read_all_stats), otherwise from the replication slots.',
    labels: {},
    isShared: true,
  },
  database_archive_failing: {
    type: 'gauge',
    help: '1 if the last attempt to archive a WAL file failed. Absent if archive_mode is off.',
    labels: {},
    isShared: true,
  },
  database_archive_age_seconds: {
    type: 'gauge',
    help: 'Time since the last WAL file was archived. Absent if archive_mode is off.',
    labels: {},
    isShared: true,
  },
  audit_ok: {
    type: 'gauge',
    help: '1 if the last audit of the books found no violation. Absent before the first.',
    labels: { scope: SCOPE },
    isShared: true,
  },
  audit_last_run_timestamp_seconds: {
    type: 'gauge',
    help: 'End of the last audit of the books.',
    labels: { scope: SCOPE },
    isShared: true,
  },
  audit_violations: {
    type: 'gauge',
    help: 'Rows that broke an invariant in the last audit of the books.',
    labels: { scope: SCOPE },
    isShared: true,
  },
  ready: {
    type: 'gauge',
    help: '1 if this replica should receive requests, as GET /health/ready reports.',
    labels: {},
  },
  build_info: {
    type: 'gauge',
    help: 'Always 1; the label has the version of this replica.',
    labels: { version: 'as in package.json' },
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>;

type Names<Type extends MetricDefinition['type']> = {
  [Name in keyof typeof METRICS]: (typeof METRICS)[Name]['type'] extends Type ? Name : never;
}[keyof typeof METRICS];

export type MetricName = keyof typeof METRICS;
export type CounterName = Names<'counter'>;
export type GaugeName = Names<'gauge'>;
export type HistogramName = Names<'histogram'>;

/** A value for each label of a metric. */
export type LabelsOf<Name extends MetricName> = Readonly<
  Record<keyof (typeof METRICS)[Name]['labels'], string>
>;
