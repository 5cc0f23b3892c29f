import { type Clock, type Moment, SystemClock } from '../common';

const system = new SystemClock();

/** Keeps running while the process is suspended, and ignores changes to the wall clock. */
export class Deadline {
  static readonly never = Deadline.after(Infinity);

  private constructor(
    private readonly start: Moment,
    private readonly durationMs: number,
  ) {}

  static after(durationMs: number, clock: Clock = system): Deadline {
    return new Deadline(clock.moment(), durationMs);
  }

  remainingMs(): number {
    return Math.max(0, this.durationMs - this.start.elapsedMs());
  }

  hasPassed(): boolean {
    return this.remainingMs() === 0;
  }
}
