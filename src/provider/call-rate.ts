import { setTimeout as sleep } from 'node:timers/promises';
import { Deadline } from './deadline';
import { ProviderUnavailable } from './provider-errors';

/** Between two calls of this process and their arrival at the provider the distance may shrink by this much. */
const JITTER_MS = 100;

/**
 * At most so many calls in any window of time, in order of arrival.
 * Counts the calls of this process only.
 */
export class CallRate {
  private readonly starts: number[] = [];
  private queue: Promise<void> = Promise.resolve();

  constructor(
    private readonly calls: number,
    private readonly windowMs: number,
  ) {}

  /** @throws ProviderUnavailable when no place comes free in time */
  waitForTurn(maxWaitMs: number): Promise<void> {
    const deadline = Deadline.after(maxWaitMs);
    const turn = this.queue.then(() => this.takePlace(deadline));
    this.queue = turn.catch(() => undefined);
    return turn;
  }

  private async takePlace(deadline: Deadline): Promise<void> {
    const oldest = this.starts.at(-this.calls);
    const waitMs = oldest === undefined ? 0 : oldest + this.windowMs + JITTER_MS - performance.now();
    if (waitMs > deadline.remainingMs() || (waitMs > 0 && deadline.hasPassed())) {
      throw new ProviderUnavailable('no place in the rate of calls came free in time');
    }
    if (waitMs > 0) await sleep(waitMs);
    this.starts.push(performance.now());
    if (this.starts.length > this.calls) this.starts.shift();
  }
}
