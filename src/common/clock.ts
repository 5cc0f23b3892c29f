/** The service's clock. Tests replace it with a clock that they set. */
export abstract class Clock {
  abstract now(): Date;

  /** Returns milliseconds that changes of the wall clock do not affect. Only differences are meaningful. */
  abstract monotonicMs(): number;

  /**
   * Returns a moment from which time can be measured.
   *
   * @param agoMs how many milliseconds ago the moment was
   */
  moment(agoMs = 0): Moment {
    return new Moment(this, agoMs);
  }
}

export class SystemClock extends Clock {
  now(): Date {
    return new Date();
  }

  monotonicMs(): number {
    return performance.now();
  }
}

/**
 * A moment on both clocks of the machine, to measure elapsed time. The elapsed time is the greater of the
 * two, because the wall clock can be set and Linux stops the monotonic clock while the machine is suspended.
 */
export class Moment {
  private readonly monotonicMs: number;
  private readonly wallMs: number;

  constructor(
    private readonly clock: Clock,
    agoMs: number,
  ) {
    this.monotonicMs = clock.monotonicMs() - agoMs;
    this.wallMs = clock.now().getTime() - agoMs;
  }

  /** Returns the milliseconds since the moment. */
  elapsedMs(): number {
    return Math.max(this.clock.monotonicMs() - this.monotonicMs, this.clock.now().getTime() - this.wallMs);
  }
}
