import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Pool, type QueryConfig } from 'pg';
import { DataSource } from 'typeorm';
import { messageOf, SERVICE_VERSION } from '../common';
import { AppConfig } from '../config';
import { connectionPool } from '../database';
import { Jobs } from '../jobs';
import { Metrics, type SetGauge } from '../metrics';
import { OPEN_STATES } from '../orders';
import { UNDECIDED_REASONS } from '../payments';
import { ProxyProvider } from '../provider';
import { RENEWAL_STATES } from '../renewals';
import { StatusFacts } from './status-facts';

/** Shorter than a scraper's usual timeout of 10 s. */
const DATABASE_TIMEOUT_MS = 2000;

/** Minimum interval between queries that take longer as the history grows. */
const SLOW_FACTS_EVERY_MS = 60_000;

const DAY_SECONDS = 86_400;

@Injectable()
export class StatusMetrics implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(StatusMetrics.name);
  private readonly pool: Pool;
  private slowFacts: { readonly spent: number; readonly size: number; readonly atMs: number } | undefined;

  constructor(
    private readonly dataSource: DataSource,
    private readonly provider: ProxyProvider,
    private readonly jobs: Jobs,
    private readonly metrics: Metrics,
    private readonly config: AppConfig,
  ) {
    const { options } = connectionPool(dataSource);
    this.pool = new Pool({
      ...options,
      application_name: 'proxy-rental-service metrics',
      password: options.password,
      max: 1,
      // Longer than the time between two scrapes, so that the connection is kept.
      idleTimeoutMillis: 120_000,
      connectionTimeoutMillis: DATABASE_TIMEOUT_MS,
    });
    // The next scrape replaces a connection that was lost while idle.
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
    for (const { name, isRun, intervalMs, lastSuccessMs } of this.jobs.list()) {
      // Jobs that one replica runs on behalf of all are read from the database instead.
      if (isRun) continue;
      set('job_interval_seconds', { name }, intervalMs / 1000);
      if (lastSuccessMs === undefined) continue;
      set('job_last_success_timestamp_seconds', { name }, lastSuccessMs / 1000);
    }
  }

  private async readInstallation(set: SetGauge): Promise<void> {
    // Set all gauges together at the end. If one of them cannot be read, set none.
    const gauges: (() => void)[] = [];
    const setLater: SetGauge = (...gauge) => gauges.push(() => set(...gauge));
    try {
      const facts = this.factsWithin(DATABASE_TIMEOUT_MS);
      const { at, ...overview } = await facts.overview();
      const ageOf: AgeOf = (moment) => (moment ? Math.max(0, (at.getTime() - moment.getTime()) / 1000) : 0);
      setLater('closed_for_maintenance', {}, overview.isClosed ? 1 : 0);
      setLater('unmatched_proxies_open', {}, overview.openUnmatchedProxies);
      setLater('renewals_paused', { of: 'all' }, overview.renewalsPausedAt ? 1 : 0);
      setLater('renewals_paused', { of: 'users' }, overview.usersWithPausedRenewals);
      await readOrders(facts, setLater, ageOf);
      await readRenewals(facts, setLater);
      if (this.config.payments.provider !== 'off') await readPayments(facts, setLater, ageOf);
      setLater('webhooks_disabled', {}, await facts.failedWebhooks());
      await this.readWaiting(facts, setLater, ageOf);
      await this.readProvider(facts, setLater);
      await this.readRuns(facts, setLater);
      await readCopies(facts, setLater, ageOf);
      setLater('replicas', {}, (await facts.replicas()).length);
      for (const setNow of gauges) setNow();
      set('database_up', {}, 1);
    } catch (error) {
      this.logger.debug(`the database did not respond to a scrape: ${messageOf(error)}`);
      set('database_up', {}, 0);
    }
  }

  private async readProvider(facts: StatusFacts, set: SetGauge): Promise<void> {
    const { size, spent } = await this.readSlowFacts(facts);
    set('database_size_bytes', {}, size);
    const account = await facts.balance();
    if (account === null) return;
    const balance = Number(account.amount);
    set('provider_balance_roubles', {}, balance);
    if (spent > 0) set('provider_runway_seconds', {}, (DAY_SECONDS * Math.max(0, balance)) / spent);
  }

  private async readWaiting(facts: StatusFacts, set: SetGauge, ageOf: AgeOf): Promise<void> {
    for (const { name, waiting } of this.jobs.list()) {
      if (waiting === undefined) continue;
      const { count, oldest } = await facts.waiting(waiting);
      set('job_pending', { name }, count);
      set('job_oldest_seconds', { name }, ageOf(oldest));
    }
  }

  private async readRuns(facts: StatusFacts, set: SetGauge): Promise<void> {
    // Skip rows of jobs that have since been disabled.
    const runs = new Set(this.jobs.list().flatMap(({ name, isRun }) => (isRun ? [name] : [])));
    for (const {
      name,
      state,
      report,
      succeeded_at: succeeded,
      interval_seconds: interval,
    } of await facts.jobs()) {
      if (!runs.has(name)) continue;
      for (const owner of name === 'sweep' && state === 'done' ? ['own', 'foreign', 'unknown'] : []) {
        set('provider_rows_unread', { owner }, report?.[`unread_${owner}`] ?? 0);
      }
      if (interval !== null) set('job_interval_seconds', { name }, interval);
      if (succeeded !== null) {
        set('job_last_success_timestamp_seconds', { name }, succeeded.getTime() / 1000);
      }
    }
    await readAudits(facts, set);
  }

  /** One time limit applies to all statements together. */
  private factsWithin(limitMs: number): StatusFacts {
    const untilMs = performance.now() + limitMs;
    return new StatusFacts(async (text, values = []) => {
      const query_timeout = Math.ceil(untilMs - performance.now());
      if (query_timeout <= 0) throw new Error('there was no time left for the other facts');
      const query: QueryConfig & { query_timeout: number } = { text, values: [...values], query_timeout };
      return (await this.pool.query(query)).rows;
    }, this.provider.name);
  }

  private async readSlowFacts(facts: StatusFacts) {
    const isRecent = this.slowFacts && performance.now() - this.slowFacts.atMs < SLOW_FACTS_EVERY_MS;
    if (this.slowFacts && isRecent) return this.slowFacts;
    const spent = Number(await facts.spentInADay());
    this.slowFacts = { spent, size: await facts.databaseBytes(), atMs: performance.now() };
    return this.slowFacts;
  }
}

/** Returns the age in seconds; 0 if there is no moment. */
type AgeOf = (moment: Date | null | undefined) => number;

async function readOrders(facts: StatusFacts, set: SetGauge, ageOf: AgeOf): Promise<void> {
  const orders = await facts.openOrders();
  for (const state of OPEN_STATES) {
    const { count = 0, oldest } = orders.get(state) ?? {};
    set('orders_open', { state }, count);
    set('orders_open_oldest_seconds', { state }, ageOf(oldest));
  }
}

async function readRenewals(facts: StatusFacts, set: SetGauge): Promise<void> {
  for (const state of RENEWAL_STATES) set('renewals', { state, reason: '' }, 0);
  for (const { state, reason, count } of await facts.dueRenewals()) {
    set('renewals', { state, reason }, count);
  }
}

async function readPayments(facts: StatusFacts, set: SetGauge, ageOf: AgeOf): Promise<void> {
  const waiting = new Map((await facts.waitingPayments()).map(({ reason, ...one }) => [reason, one]));
  set('deposits_pending', {}, waiting.get(null)?.count ?? 0);
  set('deposits_pending_oldest_seconds', {}, ageOf(waiting.get(null)?.oldest));
  for (const reason of UNDECIDED_REASONS) {
    set('payments_undecided', { reason }, waiting.get(reason)?.count ?? 0);
    set('payments_undecided_oldest_seconds', { reason }, ageOf(waiting.get(reason)?.oldest));
  }
}

async function readCopies(facts: StatusFacts, set: SetGauge, ageOf: AgeOf): Promise<void> {
  const { standbys, isArchived, isFailing, archivedAt } = await facts.copiesOfTheDatabase();
  set('database_standbys', {}, standbys);
  if (!isArchived) return;
  set('database_archive_failing', {}, isFailing ? 1 : 0);
  set('database_archive_age_seconds', {}, ageOf(archivedAt));
}

async function readAudits(facts: StatusFacts, set: SetGauge): Promise<void> {
  for (const { scope, ok, finished_at: finished, violations } of await facts.lastAudits()) {
    set('audit_ok', { scope }, ok ? 1 : 0);
    set('audit_last_run_timestamp_seconds', { scope }, finished.getTime() / 1000);
    const broken = violations.reduce((sum, invariant) => sum + invariant.violations, 0);
    set('audit_violations', { scope }, broken);
  }
}
