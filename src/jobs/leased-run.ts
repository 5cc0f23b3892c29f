import { Logger } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { REPLICA_ID } from '../common';
import { queryRows } from '../database';
import type { BacklogSql, DueConditionSql } from './due-work';

/** Thrown if a run did not renew its lease in time. */
export class LeaseLost extends Error {}

/** Thrown if the process is stopping. */
export class RunInterrupted extends Error {}

/** Longer than a processor or a database connection usually stalls. */
const LEASE_SECONDS = 60;
/** Longer than the time limit of any statement. */
const LONGEST_STEP_SECONDS = 120;
const RENEWALS_OF_A_LEASE = 3;
const PROGRESS_EVERY_MS = 10_000;

export interface LeasedJob {
  readonly name: string;
  readonly everySeconds: number;
  readonly waiting?: BacklogSql;
  /** Returns how long after the last run's start the next run is due. Defaults to the interval. */
  readonly dueForSeconds?: () => number | Promise<number>;
  /** Evaluated when a due run begins. If it is false, the same statement ends the run. */
  readonly hasWork?: DueConditionSql | undefined;
  /** Defaults to a tenth of the interval, at most a minute. */
  readonly pollEveryMs?: number;
  /** Defaults to 60. A failed run is also retried after this time. */
  readonly leaseSeconds?: number;
  /** Maximum duration of a step, after which the lease is no longer renewed. Defaults to 120. */
  readonly longestStepSeconds?: number;
  /**
   * Must work in idempotent steps, because a run may be interrupted. Must call `renew()` before each step.
   * @returns counts by name, which are stored
   */
  execute(run: LeasedRun, cutOff: AbortSignal): Promise<object>;
}

/** The run's id fences its lease in `job_runs`: a run that lost the lease cannot affect a later run. */
export class LeasedRun {
  private readonly logger = new Logger('Jobs');
  private readonly renewing: NodeJS.Timeout;
  private soFar: object = {};
  private loggedAtMs = performance.now();
  private stepBeganMs = performance.now();

  private constructor(
    private readonly dataSource: DataSource,
    private readonly run: LeasedJob,
    private readonly id: string,
    private readonly isStopping: () => boolean,
    private readonly progressEveryMs: number,
  ) {
    const { leaseSeconds = LEASE_SECONDS, longestStepSeconds = LONGEST_STEP_SECONDS } = run;
    this.renewing = setInterval(
      () => {
        if (performance.now() - this.stepBeganMs > longestStepSeconds * 1000) return;
        // A failure is ignored here, because the next step checks whether the lease was lost.
        this.extend().catch(() => undefined);
      },
      (leaseSeconds * 1000) / RENEWALS_OF_A_LEASE,
    );
  }

  /** Returns null if the run is not due or has no work, or another replica holds its lease. */
  static async begin(
    dataSource: DataSource,
    run: LeasedJob,
    dueForSeconds: number,
    isStopping: () => boolean,
    progressEveryMs = PROGRESS_EVERY_MS,
  ): Promise<LeasedRun | null> {
    const [begun] = await queryRows<{ id: string; isOver: boolean }>(
      dataSource,
      `INSERT INTO job_runs AS run (name, holder, started_at, lease_seconds, leased_until, interval_seconds,
                                    finished_at, succeeded_at, report)
       SELECT $1, $2, now(), $4, now() + make_interval(secs => $4), $5, ended_at, ended_at,
              CASE WHEN ended_at IS NOT NULL THEN '{}'::jsonb END
         FROM (SELECT CASE WHEN NOT (${run.hasWork?.() ?? true}) THEN now() END AS ended_at) AS work
       ON CONFLICT (name) DO UPDATE
          SET run_id = excluded.run_id, holder = excluded.holder, started_at = now(),
              finished_at = excluded.finished_at,
              succeeded_at = coalesce(excluded.succeeded_at, run.succeeded_at),
              report = excluded.report, lease_seconds = excluded.lease_seconds,
              leased_until = excluded.leased_until, interval_seconds = excluded.interval_seconds
        WHERE CASE WHEN run.finished_at IS NULL THEN run.leased_until
                   ELSE run.started_at + make_interval(secs => $3) END <= now()
           -- A start in the future means that the database's clock was set back. The minute allows for
           -- statements that had to wait for locks.
           OR run.started_at > now() + interval '1 minute'
       RETURNING run_id AS id, finished_at IS NOT NULL AS "isOver"`,
      [run.name, REPLICA_ID, dueForSeconds, run.leaseSeconds ?? LEASE_SECONDS, run.everySeconds],
    );
    return begun && !begun.isOver
      ? new LeasedRun(dataSource, run, begun.id, isStopping, progressEveryMs)
      : null;
  }

  static isDue({ name, everySeconds }: LeasedJob): string {
    return `NOT EXISTS (SELECT FROM job_runs
                         WHERE name = '${name}' AND started_at <= now() + interval '1 minute'
                           AND CASE WHEN finished_at IS NULL THEN leased_until
                                    ELSE started_at + make_interval(secs => ${everySeconds}) END > now())`;
  }

  /** Runs steps until `next` is null, renewing the lease before each. A step receives the previous `next`. */
  async repeat<Cursor>(
    soFar: Record<string, number>,
    name: string,
    step: (cursor: Cursor | null) => Promise<{ readonly done: number; readonly next: Cursor | null }>,
  ): Promise<void> {
    let cursor: Cursor | null = null;
    do {
      await this.renew(soFar);
      const { done, next }: { done: number; next: Cursor | null } = await step(cursor);
      soFar[name] = (soFar[name] ?? 0) + done;
      cursor = next;
    } while (cursor !== null);
  }

  /** Must be called before each step. @throws LeaseLost, or RunInterrupted if the process is stopping */
  async renew(soFar: object): Promise<void> {
    this.soFar = soFar;
    if (this.isStopping()) throw new RunInterrupted(`${this.run.name}: the process is stopping`);
    if (!(await this.extend())) throw new LeaseLost(`the lease of ${this.run.name} expired`);
    this.stepBeganMs = performance.now();
    if (performance.now() - this.loggedAtMs < this.progressEveryMs) return;
    this.loggedAtMs = performance.now();
    const counts = Object.entries(soFar).map(([what, count]) => `${count} ${what}`);
    this.logger.log(`${this.run.name} is still running: ${counts.join(', ')} so far`);
  }

  async execute(cutOff: AbortSignal): Promise<object> {
    try {
      const report = await this.run.execute(this, cutOff);
      await queryRows(
        this.dataSource,
        `UPDATE job_runs SET finished_at = now(), succeeded_at = now(), report = $3
          WHERE name = $1 AND run_id = $2`,
        [this.run.name, this.id, report],
      );
      return report;
    } catch (error) {
      if (error instanceof RunInterrupted) await this.handOver();
      throw error;
    } finally {
      clearInterval(this.renewing);
    }
  }

  /** Returns false if the lease was lost. */
  private async extend(): Promise<boolean> {
    const renewed = await queryRows(
      this.dataSource,
      `UPDATE job_runs SET leased_until = now() + make_interval(secs => lease_seconds), report = $3
        WHERE name = $1 AND run_id = $2 AND finished_at IS NULL AND leased_until > now()
       RETURNING name`,
      [this.run.name, this.id, this.soFar],
    );
    return renewed.length > 0;
  }

  private async handOver(): Promise<void> {
    await queryRows(
      this.dataSource,
      'UPDATE job_runs SET leased_until = now() WHERE name = $1 AND run_id = $2 AND finished_at IS NULL',
      [this.run.name, this.id],
    );
  }
}
