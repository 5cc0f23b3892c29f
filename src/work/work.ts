import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { isOverWithin, messageOf, stackOf } from '../common';
import { Metrics } from '../metrics';
import { DueRows, type DueWork, type WaitingSql } from './due-work';
import { LeasedRun, type Run } from './leased-run';
import { StepLoop } from './step-loop';

/** How long a process that stops waits for what is under way, and then for what it has cut off. */
const STOP_MS = 5000;
/** While the database is away, what is looked at several times a second is not logged as often. */
export const PAUSE_AFTER_FAILURE_MS = 2000;
/** How many times in an interval each replica asks whether a run is due, and how often at least. */
const ASKED_IN_AN_INTERVAL = 10;
const LONGEST_PAUSE_OF_ASKING_MS = 60_000;

/** What this process does again and again, without being asked for it. */
export interface Job {
  readonly name: string;
  /** Whether one replica does it for all: `job_runs` tells then when it did. */
  readonly isRun: boolean;
  readonly waiting?: WaitingSql | undefined;
  intervalMs: number;
  /** Milliseconds since 1970. */
  lastSuccessMs: number | undefined;
}

/** A job, and how this process does it. */
interface OwnJob extends Job {
  readonly loop: StepLoop;
  /** Ticks before it do nothing, by the monotonic clock. */
  notBeforeMs: number;
}

/**
 * All that is done without being asked for: what each replica does for itself, what one of them does for all,
 * and rows that come due. Modules add theirs when they are created. It begins with `start()`, which the
 * command line never calls.
 */
@Injectable()
export class Work {
  private readonly logger = new Logger(Work.name);
  private readonly jobs: OwnJob[] = [];
  private readonly runs = new Map<string, Run>();
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

  /** What this process does, by its names in metrics and `job_runs`. */
  list(): readonly Readonly<Job>[] {
    return this.isStarted ? this.jobs : [];
  }

  /** Has something done, and waited for, before the process serves requests. */
  first(beginning: () => unknown): void {
    this.beginnings.push(beginning);
  }

  /**
   * Has each replica do something for itself at an interval; what lasts longer is not begun anew meanwhile.
   *
   * @param round gives true when there is more to be done at once
   * @param options.waiting for the metrics, where rows wait for it
   * @param options.pauseAfterFailureMs after which it is tried again
   */
  every(
    name: string,
    intervalMs: number,
    round: () => Promise<unknown>,
    { waiting, pauseAfterFailureMs }: { waiting?: WaitingSql; pauseAfterFailureMs?: number } = {},
  ): void {
    const step = async (): Promise<boolean> => (await this.measure(name, round)) === true;
    this.add({ name, intervalMs, isRun: false, waiting }, step, pauseAfterFailureMs);
  }

  /** Has one replica at a time do something for all. */
  run(run: Run): void {
    const { name, everySeconds, waiting } = run;
    this.runs.set(name, run);
    const usualMs = Math.min((everySeconds * 1000) / ASKED_IN_AN_INTERVAL, LONGEST_PAUSE_OF_ASKING_MS);
    this.add({ name, intervalMs: run.askEveryMs ?? usualMs, isRun: true, waiting }, async () => {
      await this.runWhenDue(name);
      return false;
    });
  }

  /** Has rows claimed and carried out when they are due, by all replicas. */
  due<Row>(work: DueWork<Row>): DueRows<Row> {
    const { name, lookEveryMs: intervalMs, waiting } = work;
    const claim = async (): Promise<boolean> => {
      const { claimed, isMore } = await rows.claim();
      this.metrics.count('job_claimed_total', { name }, claimed);
      return isMore;
    };
    const loop = this.add({ name, intervalMs, isRun: false, waiting }, claim, PAUSE_AFTER_FAILURE_MS);
    const wake = (): void => loop.wake();
    const rows = new DueRows(work, wake, async (row) => {
      try {
        await this.measure(name, () => work.carryOut(row, this.cutOff.signal));
      } catch (error) {
        this.noteFailure(name, error);
      }
    });
    this.dueRows.push(rows);
    this.first(() => work.listen?.(wake));
    return rows;
  }

  /** Carries a run out now, unless another replica does. @returns its report; null when another one does */
  runNow(name: string, cutOff = this.cutOff.signal): Promise<object | null> {
    return this.carryOut(this.runOf(name), 0, cutOff);
  }

  /** Carries a run out if it is due and no other replica does. @returns its report; null otherwise */
  async runWhenDue(name: string): Promise<object | null> {
    const run = this.runOf(name);
    return this.carryOut(run, (await run.dueForSeconds?.()) ?? run.everySeconds, this.cutOff.signal);
  }

  /**
   * Begins with everything.
   *
   * @param intervalOf how often something is done, in milliseconds, where that is not the usual interval:
   * tests neither wait for it nor want it in between
   */
  async start(intervalOf = (_name: string, usualMs: number): number => usualMs): Promise<void> {
    this.isStarted = true;
    for (const begin of this.beginnings) await begin();
    for (const job of this.jobs) {
      job.intervalMs = intervalOf(job.name, job.intervalMs);
      const tick = (): void => {
        if (performance.now() >= job.notBeforeMs) job.loop.tick();
      };
      this.timers.push(setInterval(tick, job.intervalMs));
    }
  }

  /**
   * Claims nothing more and takes no further step of a run, waits some seconds for what is under way, cuts
   * off what lasts longer, and waits for that. Another replica does the rest, or the next process.
   */
  async stop(waitMs = STOP_MS): Promise<void> {
    this.isStopping = true;
    for (const timer of this.timers) clearInterval(timer);
    if (await isOverWithin(waitMs, this.untilIdle())) return;
    this.cutOff.abort();
    if (await isOverWithin(waitMs, this.untilIdle())) return;
    const left = this.jobs.filter(({ loop }) => loop.isRunning).map(({ name }) => name);
    this.logger.warn(`left behind: ${left.join(', ')}`);
  }

  private add(
    job: Omit<Job, 'lastSuccessMs'>,
    step: () => Promise<boolean>,
    pauseAfterFailureMs = 0,
  ): StepLoop {
    const loop = new StepLoop(async () => {
      if (!this.isStarted || this.isStopping) return false;
      try {
        const isMore = await step();
        own.lastSuccessMs = Date.now();
        return isMore;
      } catch (error) {
        own.notBeforeMs = performance.now() + pauseAfterFailureMs;
        this.noteFailure(job.name, error);
        return false;
      }
    });
    const own: OwnJob = { ...job, loop, lastSuccessMs: undefined, notBeforeMs: -Infinity };
    this.jobs.push(own);
    return loop;
  }

  private async carryOut(run: Run, dueForSeconds: number, cutOff: AbortSignal): Promise<object | null> {
    const { name } = run;
    const begun = await LeasedRun.begin(this.dataSource, run, dueForSeconds, () => this.isStopping);
    if (!begun) return null;
    this.metrics.count('job_claimed_total', { name });
    return this.measure(name, () => begun.carryOut(cutOff));
  }

  private runOf(name: string): Run {
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

  private noteFailure(name: string, error: unknown): void {
    if (this.isStopping) {
      this.logger.debug(`${name}: cut off: ${messageOf(error)}`);
      return;
    }
    this.metrics.count('job_failures_total', { name });
    this.logger.error(`${name}: a round failed`, stackOf(error));
  }

  private async untilIdle(): Promise<void> {
    await Promise.all(this.jobs.map(({ loop }) => loop.untilIdle()));
    await Promise.all(this.dueRows.map((rows) => rows.untilIdle()));
  }
}
