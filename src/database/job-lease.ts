import { Logger } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { REPLICA_ID } from '../common';
import { queryRows } from './sql';

/** A run did not renew its lease in time, so another replica may have taken over the job. */
export class LeaseLost extends Error {}

const PROGRESS_EVERY_MS = 10_000;

interface JobTimes {
  readonly intervalSeconds: number;
  /** The lease is renewed more often than this. */
  readonly leaseSeconds: number;
  /** For a job that runs at a time of the day: how long ago that was. The run before it was earlier. */
  readonly dueForSeconds?: number;
}

const asked = new Set<string>();

/** The jobs that this process takes part in. One that is switched off may have a row from before. */
export const leasedJobs = (): ReadonlySet<string> => asked;

/**
 * A job that runs on one replica at a time, whichever it is, and at most once in an interval. A run that
 * does not renew its lease counts as dead. Its report, counts by name, is stored in `job_runs`: first the
 * progress, then the result.
 */
export class JobLease {
  constructor(
    private readonly dataSource: DataSource,
    private readonly name: string,
    private readonly progressEveryMs = PROGRESS_EVERY_MS,
  ) {}

  /**
   * Does the work if it is due and no other replica does it; gives null otherwise. A failed run is due again
   * when its lease ends.
   */
  async runWhenDue<Report extends object>(
    times: JobTimes,
    work: (run: JobRun) => Promise<Report>,
  ): Promise<Report | null> {
    asked.add(this.name);
    const id = await this.take(times);
    if (id === null) return null;
    const run = new JobRun(this.dataSource, this.name, id, this.progressEveryMs);
    const report = await work(run);
    await run.finish(report);
    return report;
  }

  /** @returns the id of the run; null when it is not due, or another replica does it */
  private async take({
    intervalSeconds,
    leaseSeconds,
    dueForSeconds = intervalSeconds,
  }: JobTimes): Promise<string | null> {
    const [taken] = await queryRows<{ id: string }>(
      this.dataSource,
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
      [this.name, REPLICA_ID, dueForSeconds, leaseSeconds, intervalSeconds],
    );
    return taken?.id ?? null;
  }
}

/**
 * One run of a job. The id of the run fences it: a run that has lost its lease changes nothing of a later
 * one, even of the same replica.
 */
export class JobRun {
  private readonly logger = new Logger(JobLease.name);
  private loggedAt = performance.now();

  constructor(
    private readonly dataSource: DataSource,
    private readonly name: string,
    private readonly id: string,
    private readonly progressEveryMs: number,
  ) {}

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
   * @throws LeaseLost
   */
  async renew(soFar: object): Promise<void> {
    const renewed = await queryRows(
      this.dataSource,
      `UPDATE job_runs SET leased_until = now() + make_interval(secs => lease_seconds), report = $3
        WHERE name = $1 AND run_id = $2 AND finished_at IS NULL AND leased_until > now()
       RETURNING name`,
      [this.name, this.id, soFar],
    );
    if (renewed.length === 0) throw new LeaseLost(`the lease of ${this.name} ran out`);
    if (performance.now() - this.loggedAt < this.progressEveryMs) return;
    this.loggedAt = performance.now();
    const counts = Object.entries(soFar).map(([what, count]) => `${count} ${what}`);
    this.logger.log(`${this.name} is still running: ${counts.join(', ')} so far`);
  }

  /** Stores the result, unless another run has taken over. */
  async finish(report: object): Promise<void> {
    await queryRows(
      this.dataSource,
      `UPDATE job_runs SET finished_at = now(), succeeded_at = now(), report = $3
        WHERE name = $1 AND run_id = $2`,
      [this.name, this.id, report],
    );
  }
}
