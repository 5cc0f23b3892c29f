import { type Clock, type Moment, SystemClock } from '../common';

const system = new SystemClock();

/**
 * A time limit from now on. Unlike a timer, it also passes while the process or the machine is suspended, and
 * no change of the wall clock postpones it: it has passed when either clock shows so.
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

  /** Never negative. */
  remainingMs(): number {
    return Math.max(0, this.durationMs - this.start.elapsedMs());
  }

  hasPassed(): boolean {
    return this.remainingMs() === 0;
  }
}
