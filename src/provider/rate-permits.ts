import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { messageOf } from '../common';
import { queryRows } from '../database';
import { Metrics } from '../metrics';
import { Deadline } from './deadline';
import { NoPermitInTime } from './provider-errors';
import { CALL_PRIORITIES, type CallPriority, type RatePermit } from './proxy-provider';

/**
 * A call is sent within PERMIT_MS of its permit. MARGIN_MS makes our window longer than the provider's, to
 * cover this delay and variations in network delay.
 */
const PERMIT_MS = 60;
const MARGIN_MS = 150;

/** Long enough for one database query. */
const SHORTEST_WAIT_MS = 100;

const RETRY_AFTER_FAILURE_MS = 100;

/** How often a call, except a confirmation, may be passed over. Must match `take_rate_permit`. */
export const MAX_PASSED_OVER = 8;

const UNLIMITED: RatePermit = { until: Deadline.never, giveBack: () => Promise.resolve() };

type Grant = (permit: RatePermit) => void;

interface PermitRow {
  /** Position in CALL_PRIORITIES, from 1, of the call to send; `null` if all must wait for `wait_ms`. */
  readonly priority: number | null;
  readonly wait_ms: number;
  readonly granted_at: string | null;
}

/**
 * Limits the combined calls of all replicas in any time window. Each call's turn depends on its priority and
 * on how often it was passed over. (rate-limiter-flexible has only fixed windows, and no priorities across
 * processes.)
 */
export class RatePermits {
  private readonly logger = new Logger(RatePermits.name);
  /** Identifies this process in `permit_demand`. */
  private readonly holder = randomUUID();
  private readonly waiting: Record<CallPriority, Grant[]> = {
    order: [],
    confirmation: [],
    price: [],
    rest: [],
    exact: [],
    spare: [],
  };
  private readonly giveUps = new Set<() => void>();
  private isStopped = false;
  private isPolling = false;
  /** Highest priority reported to the database, as a position in CALL_PRIORITIES from 1. */
  private announced = Infinity;
  private wakeUp = new AbortController();
  private hasFailed = false;
  private pausing: Promise<void> = Promise.resolve();

  /** @param calls maximum number of calls in a window; 0 for no limit, which needs no queries */
  constructor(
    private readonly dataSource: DataSource,
    private readonly provider: string,
    private readonly calls: number,
    private readonly windowMs = 1000,
    private readonly metrics = Metrics.disabled,
  ) {}

  /** @param goesFirst puts the call first within its priority, because its previous permit expired */
  waitForPermit(priority: CallPriority, maxWaitMs: number, goesFirst = false): Promise<RatePermit> {
    if (this.isStopped) return Promise.reject(new NoPermitInTime());
    if (this.calls === 0) return Promise.resolve(UNLIMITED);
    return new Promise((resolve, reject) => {
      const queue = this.waiting[priority];
      const sinceMs = performance.now();
      const endWait = () => {
        clearTimeout(timer);
        this.giveUps.delete(giveUp);
        this.metrics.observe('provider_permit_wait_seconds', {}, (performance.now() - sinceMs) / 1000);
      };
      const giveUp = () => {
        endWait();
        queue.splice(queue.indexOf(grant), 1);
        if (this.highest() === Infinity) this.wakeUp.abort();
        reject(new NoPermitInTime());
      };
      const timer = setTimeout(giveUp, Math.max(maxWaitMs, SHORTEST_WAIT_MS));
      const grant = (permit: RatePermit) => {
        endWait();
        resolve(permit);
      };
      this.giveUps.add(giveUp);
      if (goesFirst) queue.unshift(grant);
      else queue.push(grant);
      if (!this.isPolling) void this.pollWhileCallsWait();
      else if (this.highest() < this.announced) this.wakeUp.abort();
    });
  }

  stop(): void {
    this.isStopped = true;
    for (const giveUp of this.giveUps) giveUp();
  }

  /** Pauses all replicas for a second, after the provider reported too many calls with this key. */
  pauseAll(): void {
    if (this.calls === 0) return;
    this.pausing = this.tryToUpdate(
      `UPDATE rate_permits
          SET paused_until = greatest(paused_until, clock_timestamp() + interval '1 second')
        WHERE provider = $1`,
      [this.provider],
    );
  }

  waitingCalls(): Record<CallPriority, number> {
    const counts = CALL_PRIORITIES.map((priority) => [priority, this.waiting[priority].length]);
    return Object.fromEntries(counts) as Record<CallPriority, number>;
  }

  private async pollWhileCallsWait(): Promise<void> {
    this.isPolling = true;
    for (;;) {
      if (this.highest() < Infinity) {
        // Reset the signal before the query: an event during the query must shorten the pause.
        this.wakeUp = new AbortController();
        const { signal } = this.wakeUp;
        const pauseMs = await this.poll();
        if (pauseMs > 0) await sleep(Math.ceil(pauseMs), undefined, { signal }).catch(() => undefined);
      } else if (this.announced < Infinity) {
        await this.withdrawDemand();
      } else {
        break;
      }
    }
    this.isPolling = false;
  }

  /** @returns the pause before the next query, in milliseconds */
  private async poll(): Promise<number> {
    try {
      const response = await this.queryDatabase();
      this.hasFailed = false;
      if (!response) return 0;
      const { row, until } = response;
      if (row.priority === null) return row.wait_ms;
      await this.grantNext(row.priority, row.granted_at, until);
      return 0;
    } catch (error) {
      if (!this.hasFailed) {
        this.logger.warn(`could not get rate permits from the database: ${messageOf(error)}`);
      }
      this.hasFailed = true;
      return RETRY_AFTER_FAILURE_MS;
    }
  }

  private async queryDatabase(): Promise<{ row: PermitRow; until: Deadline } | undefined> {
    await this.pausing;
    this.announced = this.highest();
    const runner = this.dataSource.createQueryRunner();
    try {
      // Connect first: waiting for a connection may take a while, and must not use up the permit's time.
      await runner.connect();
      const demand = this.demand();
      if (demand.length === 0) return undefined;
      this.announced = this.highest();
      const until = Deadline.after(PERMIT_MS);
      const [row]: PermitRow[] = await runner.query('SELECT * FROM take_rate_permit($1, $2, $3, $4, $5)', [
        this.provider,
        this.holder,
        demand,
        this.calls,
        this.windowMs + MARGIN_MS,
      ]);
      if (!row) throw new Error('no response');
      // If our last waiting call gets a permit, the database also deletes our row of `permit_demand`.
      if (row.priority !== null && demand.length === 1) this.announced = Infinity;
      return { row, until };
    } finally {
      await runner.release();
    }
  }

  /** Removes this replica's stored demand, so that calls that gave up do not delay other replicas' calls. */
  private async withdrawDemand(): Promise<void> {
    this.announced = Infinity;
    await this.tryToUpdate('DELETE FROM permit_demand WHERE provider = $1 AND holder = $2', [
      this.provider,
      this.holder,
    ]);
  }

  private async grantNext(priority: number, grantedAt: string | null, until: Deadline): Promise<void> {
    let isGivenBack = false;
    const giveBack = async () => {
      if (isGivenBack) return;
      isGivenBack = true;
      // Also restore `passed_over`, as if no permit had been granted, and let this priority go next.
      await this.tryToUpdate(
        `UPDATE rate_permits
            SET granted = array_remove(granted, $2::timestamptz),
                passed_over = ARRAY(
                  SELECT CASE kind WHEN $3::smallint THEN ${MAX_PASSED_OVER}
                                   ELSE greatest(passed_over[kind] - 1, 0) END
                    FROM generate_series(1, cardinality(passed_over)) AS kind ORDER BY kind)
          WHERE provider = $1`,
        [this.provider, grantedAt, priority],
      );
      this.wakeUp.abort();
    };
    const grant = until.hasPassed() ? undefined : this.takeNext(CALL_PRIORITIES[priority - 1]);
    if (grant) grant({ until, giveBack });
    else await giveBack();
  }

  private takeNext(granted: CallPriority | undefined): Grant | undefined {
    const queues = CALL_PRIORITIES.map((priority) => this.waiting[priority]);
    const queue = granted && this.waiting[granted].length > 0 ? this.waiting[granted] : undefined;
    return (queue ?? queues.find(({ length }) => length > 0))?.shift();
  }

  /** Returns the priorities of the waiting calls. A priority with two or more calls appears twice. */
  private demand(): number[] {
    return CALL_PRIORITIES.flatMap((priority, at) => this.waiting[priority].slice(0, 2).map(() => at + 1));
  }

  private highest(): number {
    return this.demand()[0] ?? Infinity;
  }

  /** Ignores failures, because they only make calls wait longer. */
  private async tryToUpdate(statement: string, parameters: readonly unknown[]): Promise<void> {
    await queryRows(this.dataSource, statement, parameters).catch((error: unknown) =>
      this.logger.debug(`could not update the rate permits: ${messageOf(error)}`),
    );
  }
}
