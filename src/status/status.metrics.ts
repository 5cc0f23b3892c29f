import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { Jobs, messageOf, SERVICE_VERSION } from '../common';
import { connectionPool, leasedJobs, sqlList } from '../database';
import { Metrics, type SetGauge } from '../metrics';
import { OPEN_STATES, type OpenState } from '../orders';
import { ProxyProvider } from '../provider';
import { RENEWAL_STATES, RENEWAL_WAITS } from '../renewals';
import { FRESH_SECONDS } from './replica-reports';

/** A scraper usually waits 10 s, and is to learn of a database that hangs. */
const DATABASE_TIMEOUT_MS = 2000;

/** What grows with the history is read at most this often. */
const SLOW_FACTS_EVERY_MS = 60_000;

const DAY_SECONDS = 86_400;

interface Facts {
  readonly orders: readonly { state: OpenState; count: number; oldest: number }[];
  readonly orphans: number;
  readonly unpublished: number;
  /** Seconds; null: there is none. */
  readonly unpublishedAge: number | null;
  readonly replicas: number;
  readonly balance: number | null;
  readonly jobs: readonly { name: string; succeeded: number | null; interval: number | null }[];
  readonly renewals_due: number;
  readonly renewals_oldest: number | null;
  readonly renewals: readonly { state: string; reason: string; count: number }[];
  readonly renewals_paused: { readonly all: number; readonly users: number };
  readonly audits: readonly { scope: string; ok: boolean; finished: number; violations: number }[];
  readonly webhooks: WebhookFacts;
}

interface WebhookFacts {
  readonly pending: number;
  readonly oldest: number;
  readonly disabled: number;
}

interface SlowFacts {
  /** Roubles that the provider charged in the last 24 hours. */
  readonly spent: number;
  readonly size: number;
}

const epoch = (time: string): string => `extract(epoch FROM ${time})::float8`;
const list = (rows: string): string => `(SELECT coalesce(json_agg(found), '[]') FROM (${rows}) AS found)`;

/** The states are written into the statement, so that PostgreSQL can use the partial index on them. */
const FACTS = `
  SELECT ${list(`SELECT state, count(*) AS count, ${epoch('now() - min(created_at)')} AS oldest
                   FROM orders WHERE state IN ${sqlList(OPEN_STATES)} GROUP BY state`)} AS orders,
         (SELECT count(*) FROM orphans WHERE resolution IS NULL)::integer AS orphans,
         (SELECT count(*) FROM events WHERE position IS NULL)::integer AS unpublished,
         (SELECT ${epoch('clock_timestamp() - min(at)')} FROM events
           WHERE position IS NULL) AS "unpublishedAge",
         (SELECT count(*) FROM replica_reports
           WHERE reported_at > now() - interval '${FRESH_SECONDS} seconds')::integer AS replicas,
         (SELECT balance::float8 FROM provider_accounts WHERE provider = $1) AS balance,
         ${list(`SELECT name, ${epoch('greatest(succeeded_at, finished_at)')} AS succeeded,
                        interval_seconds AS interval FROM job_runs`)} AS jobs,
         due.count AS renewals_due, ${epoch('now() - due.oldest')} AS renewals_oldest,
         ${list(`SELECT state, coalesce(reason, '') AS reason, count(*) AS count
                   FROM renewals WHERE due_at > now() - interval '24 hours' AND due_at <= now()
                  GROUP BY state, reason`)} AS renewals,
         (SELECT json_build_object(
                   'all', (renewals_paused_at IS NOT NULL)::integer,
                   'users', (SELECT count(*) FROM renewal_settings WHERE paused_at IS NOT NULL))
            FROM installation) AS renewals_paused,
         ${list(`SELECT scope, ok, ${epoch('finished_at')} AS finished,
                        (SELECT coalesce(sum((broken->>'violations')::bigint), 0)
                           FROM jsonb_array_elements(violations) AS broken) AS violations
                   FROM (VALUES ('day'), ('all')) AS scopes (name),
                        LATERAL (SELECT * FROM audit_runs WHERE scope = name
                                  ORDER BY id DESC LIMIT 1) AS run`)} AS audits,
         (SELECT json_build_object(
                   'pending', count(*),
                   'oldest', coalesce(max(${epoch('now() - next_attempt_at')})
                                        FILTER (WHERE failing_since IS NULL AND next_attempt_at <= now()), 0),
                   'disabled', (SELECT count(*) FROM webhooks WHERE disabled_reason IN ('failing', 'gone')))
            FROM webhooks JOIN webhook_deliveries ON webhook_id = webhooks.id
           WHERE disabled_at IS NULL AND state = 'pending') AS webhooks
    FROM (SELECT count(*)::integer, min(due_at) AS oldest FROM renewals WHERE ${RENEWAL_WAITS}) AS due`;

const SLOW_FACTS = `
  SELECT pg_database_size(current_database())::float8 AS size,
         (SELECT coalesce(sum(provider_charge), 0)::float8 FROM orders
           WHERE captured > 0 AND closed_at > now() - interval '24 hours' AND provider = $1) AS spent`;

/**
 * Reads the gauges for a scrape: those of this replica from its memory, those of the whole installation from
 * the database. It has a connection of its own, which is there when requests have taken all others.
 */
@Injectable()
export class StatusMetrics implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(StatusMetrics.name);
  private readonly pool: Pool;
  private slowFacts: (SlowFacts & { readonly atMs: number }) | undefined;

  constructor(
    private readonly dataSource: DataSource,
    private readonly provider: ProxyProvider,
    private readonly jobs: Jobs,
    private readonly metrics: Metrics,
  ) {
    const { options } = connectionPool(dataSource);
    this.pool = new Pool({
      ...options,
      application_name: 'proxy-rental-service metrics',
      password: options.password,
      max: 1,
      // Longer than the time between two scrapes.
      idleTimeoutMillis: 120_000,
      connectionTimeoutMillis: DATABASE_TIMEOUT_MS,
      query_timeout: DATABASE_TIMEOUT_MS,
    });
    // A connection that is lost while nobody uses it is replaced by the next scrape.
    this.pool.on('error', () => undefined);
  }

  onApplicationBootstrap(): void {
    this.metrics.addReader((set) => this.readReplica(set));
    this.metrics.addReader((set) => this.readInstallation(set));
  }

  async onApplicationShutdown(): Promise<void> {
    await this.pool.end();
  }

  private readReplica(set: SetGauge): void {
    const { breakers, waitingCalls } = this.provider.status();
    const { totalCount, idleCount, waitingCount } = connectionPool(this.dataSource);
    set('build_info', { version: SERVICE_VERSION }, 1);
    for (const { name, state } of breakers) {
      set('breaker_open', { breaker: name }, state === 'closed' ? 0 : 1);
    }
    const waiting = Object.values(waitingCalls).reduce((sum, count) => sum + count, 0);
    set('provider_calls_waiting', {}, waiting);
    set('database_pool_connections', { state: 'idle' }, idleCount);
    set('database_pool_connections', { state: 'busy' }, totalCount - idleCount);
    set('database_pool_connections', { state: 'waiting' }, waitingCount);
    for (const [name, { intervalMs, lastSuccessMs }] of this.jobs.times()) {
      // Its rounds only ask whether it is due.
      if (leasedJobs().has(name)) continue;
      set('job_interval_seconds', { name }, intervalMs / 1000);
      if (lastSuccessMs === undefined) continue;
      set('job_last_success_timestamp_seconds', { name }, lastSuccessMs / 1000);
    }
  }

  private async readInstallation(set: SetGauge): Promise<void> {
    try {
      const facts = await this.query<Facts>(FACTS);
      const slow = await this.readSlowFacts();
      this.tell(set, facts, slow);
      set('database_up', {}, 1);
    } catch (error) {
      this.logger.debug(`the database did not answer a scrape: ${messageOf(error)}`);
      set('database_up', {}, 0);
    }
  }

  private tell(set: SetGauge, facts: Facts, { size, spent }: SlowFacts): void {
    const { orders, orphans, unpublished, unpublishedAge, replicas, balance, jobs, audits, webhooks } = facts;
    for (const state of OPEN_STATES) {
      const { count = 0, oldest = 0 } = orders.find((row) => row.state === state) ?? {};
      set('orders_open', { state }, count);
      set('orders_open_oldest_seconds', { state }, oldest);
      if (state !== 'reserved') continue;
      set('queue_orders', {}, count);
      set('queue_oldest_seconds', {}, oldest);
    }
    set('orphans_open', {}, orphans);
    set('webhook_deliveries_pending', {}, webhooks.pending);
    set('webhook_deliveries_oldest_seconds', {}, webhooks.oldest);
    set('webhooks_disabled', {}, webhooks.disabled);
    set('events_unpublished', {}, unpublished);
    set('events_unpublished_oldest_seconds', {}, Math.max(0, unpublishedAge ?? 0));
    this.tellRenewals(set, facts);
    set('replicas', {}, replicas);
    set('database_size_bytes', {}, size);
    if (balance !== null) set('provider_balance_roubles', {}, balance);
    if (balance !== null && spent > 0) {
      set('provider_runway_seconds', {}, (DAY_SECONDS * Math.max(0, balance)) / spent);
    }
    for (const { name, succeeded, interval } of jobs) {
      if (!leasedJobs().has(name)) continue;
      if (interval !== null) set('job_interval_seconds', { name }, interval);
      if (succeeded !== null) set('job_last_success_timestamp_seconds', { name }, succeeded);
    }
    for (const { scope, ok, finished, violations } of audits) {
      set('audit_ok', { scope }, ok ? 1 : 0);
      set('audit_last_run_timestamp_seconds', { scope }, finished);
      set('audit_violations', { scope }, violations);
    }
  }

  private tellRenewals(set: SetGauge, facts: Facts): void {
    set('renewals_due', {}, facts.renewals_due);
    set('renewals_oldest_due_seconds', {}, facts.renewals_oldest ?? 0);
    for (const state of RENEWAL_STATES) set('renewals', { state, reason: '' }, 0);
    for (const { state, reason, count } of facts.renewals) set('renewals', { state, reason }, count);
    set('renewals_paused', { of: 'all' }, facts.renewals_paused.all);
    set('renewals_paused', { of: 'users' }, facts.renewals_paused.users);
  }

  private async readSlowFacts(): Promise<SlowFacts> {
    const isRecent = this.slowFacts && performance.now() - this.slowFacts.atMs < SLOW_FACTS_EVERY_MS;
    if (this.slowFacts && isRecent) return this.slowFacts;
    this.slowFacts = { ...(await this.query<SlowFacts>(SLOW_FACTS)), atMs: performance.now() };
    return this.slowFacts;
  }

  /** Runs a statement that answers with one row. */
  private async query<Row extends object>(statement: string): Promise<Row> {
    const parameters = statement.includes('$1') ? [this.provider.name] : [];
    const { rows } = await this.pool.query<Row>(statement, parameters);
    const [row] = rows;
    if (!row) throw new Error('the database returned no row for a scrape');
    return row;
  }
}
