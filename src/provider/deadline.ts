import { type Clock, type Moment, SystemClock } from '../common';

const system = new SystemClock();

/**
 * A time limit that starts now. Unlike a timer, it also passes while the process or the machine is suspended.
 * Changes of the wall clock cannot postpone it, because it passes when either clock shows that the time is
 * over.
 */
export class Deadline {
  static readonly never = Deadline.after(Infinity);

  private constructor(
    private readonly start: Moment,
    private readonly durationMs: number,
  ) {}

  static after(durationMs: number, clock: Clock = system): Deadline {
    return new Deadline(clock.moment(), durationMs);
  }

  /** Returns the remaining milliseconds, at least 0. */
  remainingMs(): number {
    return Math.max(0, this.durationMs - this.start.elapsedMs());
  }

  hasPassed(): boolean {
    return this.remainingMs() === 0;
  }
}
