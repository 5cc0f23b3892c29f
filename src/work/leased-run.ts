import { Logger } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { REPLICA_ID } from '../common';
import { queryRows } from '../database';
import type { WaitingSql } from './due-work';

/** A run did not renew its lease in time, so another replica may have taken it over. */
export class LeaseLost extends Error {}

/** The process stops: the run goes on elsewhere, from where it has come to. */
export class RunInterrupted extends Error {}

/** As long as a replica may be without its database or its processor for a moment. */
const LEASE_SECONDS = 60;
/** Longer than any statement may take. */
const LONGEST_STEP_SECONDS = 120;
/** How many times a lease is renewed while it lasts. */
const RENEWALS_OF_A_LEASE = 3;
const PROGRESS_EVERY_MS = 10_000;

/** What one replica does at a time, whichever it is. */
export interface Run {
  /** In the log and in `job_runs`, and the label of its metrics. */
  readonly name: string;
  readonly everySeconds: number;
  /** For the metrics, where rows wait for the run. */
  readonly waiting?: WaitingSql;
  /**
   * How long ago a run must have begun for the next one to be due, in seconds, where that is not always the
   * interval: it has a time of day, or is more urgent for a while.
   */
  readonly dueForSeconds?: () => number | Promise<number>;
  /** How often each replica asks whether it is due; usually ten times in an interval, or each minute. */
  readonly askEveryMs?: number;
  /** How soon another replica takes over after a death, and a run that failed is due again; usually 60. */
  readonly leaseSeconds?: number;
  /** A step that takes longer hangs, and its lease is no longer renewed; usually 120. */
  readonly longestStepSeconds?: number;
  /**
   * Does the work in steps that are bounded and may be repeated, because a run is cut off between any two. It
   * calls `renew()` before each.
   *
   * @param cutOff aborts when the process stops and cannot wait for the step under way
   * @returns counts by name, which are stored
   */
  carryOut(run: LeasedRun, cutOff: AbortSignal): Promise<object>;
}

/**
 * A run that this replica carries out. The row in `job_runs` is its lease; the id of the run fences it: a run
 * that has lost its lease changes nothing of a later one, even of the same replica. The lease is renewed
 * until the run ends, so that it outlasts every step but one that hangs.
 */
export class LeasedRun {
  private readonly logger = new Logger('Work');
  private readonly renewing: NodeJS.Timeout;
  private soFar: object = {};
  private loggedAtMs = performance.now();
  private stepBeganMs = performance.now();

  private constructor(
    private readonly dataSource: DataSource,
    private readonly run: Run,
    private readonly id: string,
    private readonly isStopping: () => boolean,
    private readonly progressEveryMs: number,
  ) {
    const { leaseSeconds = LEASE_SECONDS, longestStepSeconds = LONGEST_STEP_SECONDS } = run;
    this.renewing = setInterval(
      () => {
        if (performance.now() - this.stepBeganMs > longestStepSeconds * 1000) return;
        // Whether it was lost is found before the next step.
        this.extend().catch(() => undefined);
      },
      (leaseSeconds * 1000) / RENEWALS_OF_A_LEASE,
    );
  }

  /**
   * Begins a run.
   *
   * @param dueForSeconds how long ago the one before must have begun
   * @returns null when it is not due, or another replica has its lease
   */
  static async begin(
    dataSource: DataSource,
    run: Run,
    dueForSeconds: number,
    isStopping: () => boolean,
    progressEveryMs = PROGRESS_EVERY_MS,
  ): Promise<LeasedRun | null> {
    const [begun] = await queryRows<{ id: string }>(
      dataSource,
      `INSERT INTO job_runs AS run (name, holder, started_at, lease_seconds, leased_until, interval_seconds)
       VALUES ($1, $2, now(), $4, now() + make_interval(secs => $4), $5)
       ON CONFLICT (name) DO UPDATE
          SET run_id = excluded.run_id, holder = excluded.holder, started_at = now(), finished_at = NULL,
              report = NULL, lease_seconds = excluded.lease_seconds, leased_until = excluded.leased_until,
              interval_seconds = excluded.interval_seconds
        WHERE CASE WHEN run.finished_at IS NULL THEN run.leased_until
                   ELSE run.started_at + make_interval(secs => $3) END <= now()
           -- The database's clock was set back. A statement that waited for another sees its start ahead.
           OR run.started_at > now() + interval '1 minute'
       RETURNING run_id AS id`,
      [run.name, REPLICA_ID, dueForSeconds, run.leaseSeconds ?? LEASE_SECONDS, run.everySeconds],
    );
    return begun ? new LeasedRun(dataSource, run, begun.id, isStopping, progressEveryMs) : null;
  }

  /**
   * Repeats a step to the end, and renews the lease before each. What the steps have done is added up in the
   * progress.
   *
   * @param step is given what the step before gave as `next`, at first null; gives null with the last one
   */
  async repeat<Place>(
    soFar: Record<string, number>,
    name: string,
    step: (place: Place | null) => Promise<{ readonly done: number; readonly next: Place | null }>,
  ): Promise<void> {
    let place: Place | null = null;
    do {
      await this.renew(soFar);
      const { done, next }: { done: number; next: Place | null } = await step(place);
      soFar[name] = (soFar[name] ?? 0) + done;
      place = next;
    } while (place !== null);
  }

  /**
   * Renews the lease and stores the progress. A run calls this before each of its steps; a long run is logged
   * now and then.
   *
   * @throws LeaseLost, and RunInterrupted when the process stops
   */
  async renew(soFar: object): Promise<void> {
    this.soFar = soFar;
    if (this.isStopping()) throw new RunInterrupted(`${this.run.name}: the process stops`);
    if (!(await this.extend())) throw new LeaseLost(`the lease of ${this.run.name} ran out`);
    this.stepBeganMs = performance.now();
    if (performance.now() - this.loggedAtMs < this.progressEveryMs) return;
    this.loggedAtMs = performance.now();
    const counts = Object.entries(soFar).map(([what, count]) => `${count} ${what}`);
    this.logger.log(`${this.run.name} is still running: ${counts.join(', ')} so far`);
  }

  /** Carries the run out, and stores its result unless another run has taken over. */
  async carryOut(cutOff: AbortSignal): Promise<object> {
    try {
      const report = await this.run.carryOut(this, cutOff);
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

  /** @returns whether the run still has its lease */
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

  /** Another replica may begin at once. */
  private async handOver(): Promise<void> {
    await queryRows(
      this.dataSource,
      'UPDATE job_runs SET leased_until = now() WHERE name = $1 AND run_id = $2 AND finished_at IS NULL',
      [this.run.name, this.id],
    );
  }
}
