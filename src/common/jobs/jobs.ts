import { setTimeout as pause } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { Metrics } from '../../metrics';
import { messageOf, stackOf } from '../error-text';

/** Whatever a round does may be cut off: the next one, or another replica, does it again. */
const LONGEST_WAIT_FOR_ROUNDS_MS = 5000;

/** How often a job runs, and when it last did so without a failure: milliseconds since 1970. */
export interface JobTimes {
  readonly intervalMs: number;
  lastSuccessMs: number | undefined;
}

/**
 * Runs work at regular intervals. While a round is running, further ones are skipped. A failed round is
 * logged and does not stop the next one.
 */
@Injectable()
export class Jobs {
  private readonly logger = new Logger(Jobs.name);
  private readonly running = new Map<string, Promise<void>>();
  private readonly stopping = new AbortController();
  private readonly known = new Map<string, JobTimes>();

  constructor(
    private readonly scheduler: SchedulerRegistry,
    private readonly metrics: Metrics,
  ) {}

  /** The jobs of this process, by name. */
  times(): ReadonlyMap<string, JobTimes> {
    return this.known;
  }

  /** @param work is given a signal by which a long round ends itself when the service stops */
  every(name: string, intervalMs: number, work: (signal: AbortSignal) => Promise<unknown>): void {
    this.known.set(name, { intervalMs, lastSuccessMs: undefined });
    const round = () => {
      if (this.running.has(name)) return;
      this.running.set(
        name,
        this.round(name, work).finally(() => this.running.delete(name)),
      );
    };
    this.scheduler.addInterval(name, setInterval(round, intervalMs));
  }

  /** Starts no more rounds, and waits a few seconds for those that are running. */
  async stop(): Promise<void> {
    this.stopping.abort();
    for (const name of this.scheduler.getIntervals()) this.scheduler.deleteInterval(name);
    const waiting = new AbortController();
    const { signal } = waiting;
    const tooLong = pause(LONGEST_WAIT_FOR_ROUNDS_MS, 'too long' as const, { signal }).catch(() => undefined);
    const outcome = await Promise.race([Promise.all(this.running.values()), tooLong]);
    waiting.abort();
    if (outcome === 'too long') this.logger.warn(`cut off: ${[...this.running.keys()].join(', ')}`);
  }

  private async round(name: string, work: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    try {
      await work(this.stopping.signal);
      const times = this.known.get(name);
      if (times) times.lastSuccessMs = Date.now();
    } catch (error) {
      const isStopping = this.stopping.signal.aborted;
      if (!isStopping) this.metrics.count('job_failures_total', { name });
      if (isStopping) this.logger.debug(`${name}: a round was cut off: ${messageOf(error)}`);
      else this.logger.error(`${name}: a round failed`, stackOf(error));
    }
  }
}
