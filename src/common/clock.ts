/** The time of the service. Tests use a clock that they set. */
export abstract class Clock {
  abstract now(): Date;

  /** Milliseconds, unaffected by changes of the wall clock. Only differences are meaningful. */
  abstract monotonicMs(): number;

  /** @param agoMs how long ago the moment was */
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
 * A moment on both clocks of the machine. On Linux the monotonic clock stops while the machine is suspended,
 * and the wall clock can be set: the elapsed time is the greater of the two.
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

  /** Milliseconds since the moment. */
  elapsedMs(): number {
    return Math.max(this.clock.monotonicMs() - this.monotonicMs, this.clock.now().getTime() - this.wallMs);
  }
}
