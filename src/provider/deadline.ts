import { type Clock, type Moment, SystemClock } from '../common';

const system = new SystemClock();

/**
 * A limit of time from now on. It passes while the process or the machine is suspended, unlike a timer, and
 * no change of the wall clock puts it off: whichever clock shows that it has passed is believed.
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
