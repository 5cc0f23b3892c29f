import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { FailureLog, isOverWithin, messageOf, stackOf } from '../common';
import { queryRow } from '../database';
import { Metrics } from '../metrics';
import { DueRows, type DueWork, type DueConditionSql, type BacklogSql } from './due-work';
import { LeasedRun, type LeasedJob } from './leased-run';
import { StepLoop } from './step-loop';

const STOP_MS = 5000;
/** Pause after a failure, for jobs that would otherwise poll several times a second. */
export const PAUSE_AFTER_FAILURE_MS = 2000;
const POLLS_PER_INTERVAL = 10;
const LONGEST_POLL_PAUSE_MS = 60_000;

export interface Job {
  readonly name: string;
  /** Whether one replica runs the job on behalf of all. */
  readonly isRun: boolean;
  readonly waiting?: BacklogSql | undefined;
  intervalMs: number;
  /** Time of the last success in this process, in Unix milliseconds. */
  lastSuccessMs: number | undefined;
}

interface OwnJob extends Job {
  readonly loop: StepLoop;
  readonly isDue: DueConditionSql | undefined;
  lookedAtMs: number;
  notBeforeMs: number;
}

/** Runs all jobs. The command line never calls `start()`, so no job runs there. */
@Injectable()
export class Jobs {
  private readonly logger = new Logger(Jobs.name);
  private readonly failures = new FailureLog(this.logger);
  private readonly jobs: OwnJob[] = [];
  private readonly runs = new Map<string, LeasedJob>();
  private readonly dueRows: Pick<DueRows<unknown>, 'untilIdle'>[] = [];
  private readonly beginnings: (() => unknown)[] = [];
  private readonly timers: NodeJS.Timeout[] = [];
  private readonly cutOff = new AbortController();
  private isStarted = false;
  private isStopping = false;

  constructor(
    private readonly dataSource: DataSource,
    private readonly metrics: Metrics,
  ) {}

  list(): readonly Readonly<Job>[] {
    return this.isStarted ? this.jobs : [];
  }

  /** Adds a startup step that completes before the process serves requests. */
  first(beginning: () => unknown): void {
    this.beginnings.push(beginning);
  }

  /**
   * Adds a job that each replica runs at an interval. Its runs never overlap on a replica.
   * @param execute returns true if the next run should follow immediately
   * @returns a function that starts a run now, or right after the current run
   */
  every(
    name: string,
    intervalMs: number,
    execute: () => Promise<unknown>,
    options: { waiting?: BacklogSql; isDue?: DueConditionSql; pauseAfterFailureMs?: number } = {},
  ): () => void {
    const step = async (): Promise<boolean> => (await this.measure(name, execute)) === true;
    const loop = this.add({ name, intervalMs, isRun: false, ...options }, step, options.pauseAfterFailureMs);
    return () => loop.wake();
  }

  /** Adds a job that one replica runs on behalf of all, under a lease. */
  run(run: LeasedJob): void {
    const { name, everySeconds, waiting } = run;
    this.runs.set(name, run);
    const usualMs = Math.min((everySeconds * 1000) / POLLS_PER_INTERVAL, LONGEST_POLL_PAUSE_MS);
    const intervalMs = run.pollEveryMs ?? usualMs;
    const isDue = run.dueForSeconds ? undefined : () => LeasedRun.isDue(run);
    this.add({ name, intervalMs, isRun: true, waiting, isDue }, async () => {
      await this.runWhenDue(name);
      return false;
    });
  }

  due<Row>(work: DueWork<Row>): DueRows<Row> {
    const { name, lookEveryMs: intervalMs, waiting, isDue } = work;
    const claim = async (): Promise<boolean> => {
      const { claimed, isMore } = await rows.claim();
      this.metrics.count('job_claimed_total', { name }, claimed);
      return isMore;
    };
    const job = { name, intervalMs, isRun: false, waiting, isDue };
    const loop = this.add(job, claim, PAUSE_AFTER_FAILURE_MS);
    const wake = (): void => loop.wake();
    const rows = new DueRows(work, wake, async (row) => {
      try {
        await this.measure(name, () => work.execute(row, this.cutOff.signal));
      } catch (error) {
        if (this.countFailure(name, error)) this.logger.error(`${name}: a run failed`, stackOf(error));
      }
    });
    this.dueRows.push(rows);
    this.first(() => work.listen?.(wake));
    return rows;
  }

  /**
   * Runs a leased job now, even if it has nothing to do. Returns null if another replica is already running
   * it.
   */
  runNow(name: string, cutOff = this.cutOff.signal): Promise<object | null> {
    return this.execute({ ...this.runOf(name), hasWork: undefined }, 0, cutOff);
  }

  /**
   * Runs a leased job if it is due. Returns its report; null if the job is not due, has nothing to do, or is
   * already running on another replica.
   */
  async runWhenDue(name: string): Promise<object | null> {
    const run = this.runOf(name);
    return this.execute(run, (await run.dueForSeconds?.()) ?? run.everySeconds, this.cutOff.signal);
  }

  /** Tests replace the usual intervals with `intervalOf`. */
  async start(intervalOf = (_name: string, usualMs: number): number => usualMs): Promise<void> {
    this.isStarted = true;
    for (const begin of this.beginnings) await begin();
    for (const job of this.jobs) {
      job.intervalMs = intervalOf(job.name, job.intervalMs);
      job.lookedAtMs = performance.now();
      if (job.isDue) continue;
      const tick = (): void => {
        if (performance.now() >= job.notBeforeMs) job.loop.tick();
      };
      this.timers.push(setInterval(tick, job.intervalMs));
    }
    const conditional = this.jobs.filter(({ isDue }) => isDue);
    if (conditional.length === 0) return;
    const everyMs = Math.min(...conditional.map(({ intervalMs }) => intervalMs));
    const looking = new StepLoop(() => this.look(conditional, everyMs));
    this.timers.push(setInterval(() => looking.tick(), everyMs));
  }

  /** Waits a few seconds for current work, then aborts it and waits again. */
  async stop(waitMs = STOP_MS): Promise<void> {
    this.isStopping = true;
    for (const timer of this.timers) clearInterval(timer);
    if (await isOverWithin(waitMs, this.untilIdle())) return;
    this.cutOff.abort();
    if (await isOverWithin(waitMs, this.untilIdle())) return;
    const left = this.jobs.filter(({ loop }) => loop.isRunning).map(({ name }) => name);
    this.logger.warn(`did not stop in time: ${left.join(', ')}`);
  }

  private add(
    job: Omit<Job, 'lastSuccessMs'> & { readonly isDue?: DueConditionSql | undefined },
    step: () => Promise<boolean>,
    pauseAfterFailureMs = 0,
  ): StepLoop {
    const loop = new StepLoop(async () => {
      if (!this.isStarted || this.isStopping) return false;
      try {
        const isMore = await step();
        this.recordSuccess(own);
        return isMore;
      } catch (error) {
        own.notBeforeMs = performance.now() + pauseAfterFailureMs;
        if (this.countFailure(job.name, error)) this.failures.failed(job.name, 'a run failed', error);
        return false;
      }
    });
    const own: OwnJob = {
      isDue: undefined,
      ...job,
      loop,
      lastSuccessMs: undefined,
      notBeforeMs: -Infinity,
      lookedAtMs: -Infinity,
    };
    this.jobs.push(own);
    return loop;
  }

  /** Checks all jobs with one statement, so that an idle replica sends few statements. */
  private async look(jobs: readonly OwnJob[], everyMs: number): Promise<boolean> {
    const nowMs = performance.now();
    const asked = jobs.filter(
      ({ loop, intervalMs, lookedAtMs, notBeforeMs }) =>
        !loop.isRunning && nowMs >= notBeforeMs && nowMs - lookedAtMs > intervalMs - everyMs / 2,
    );
    if (asked.length === 0) return false;
    const conditions = asked.map(({ isDue }) => `(${isDue?.()})`);
    const statement = `SELECT ARRAY[${conditions.join(', ')}] AS due`;
    const { due } = await queryRow<{ due: readonly boolean[] | null }>(this.dataSource, statement)
      // If the query fails, start all jobs, because each will then fail and report the error.
      .catch(() => ({ due: null }));
    for (const [n, job] of asked.entries()) {
      job.lookedAtMs = nowMs;
      if (due === null || due[n]) job.loop.tick();
      else this.recordSuccess(job);
    }
    return false;
  }

  private recordSuccess(job: OwnJob): void {
    job.lastSuccessMs = Date.now();
    this.failures.succeeded(job.name);
  }

  private async execute(run: LeasedJob, dueForSeconds: number, cutOff: AbortSignal): Promise<object | null> {
    const { name } = run;
    const begun = await LeasedRun.begin(this.dataSource, run, dueForSeconds, () => this.isStopping);
    if (!begun) return null;
    this.metrics.count('job_claimed_total', { name });
    return this.measure(name, () => begun.execute(cutOff));
  }

  private runOf(name: string): LeasedJob {
    const run = this.runs.get(name);
    if (!run) throw new Error(`no run is called ${name}`);
    return run;
  }

  private async measure<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const beganMs = performance.now();
    try {
      return await work();
    } finally {
      this.metrics.observe('job_seconds', { name }, (performance.now() - beganMs) / 1000);
    }
  }

  /** Counts a failure, except during shutdown, which aborts runs. Returns whether it was counted. */
  private countFailure(name: string, error: unknown): boolean {
    if (this.isStopping) this.logger.debug(`${name}: interrupted: ${messageOf(error)}`);
    else this.metrics.count('job_failures_total', { name });
    return !this.isStopping;
  }

  private async untilIdle(): Promise<void> {
    await Promise.all(this.jobs.map(({ loop }) => loop.untilIdle()));
    await Promise.all(this.dueRows.map((rows) => rows.untilIdle()));
  }
}
