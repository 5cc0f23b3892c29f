export abstract class Clock {
  abstract now(): Date;

  abstract monotonicMs(): number;

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
 * Measures elapsed time with two clocks and returns the greater result: the wall clock can be set back, and
 * the monotonic clock stops while the system is suspended.
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

  elapsedMs(): number {
    return Math.max(this.clock.monotonicMs() - this.monotonicMs, this.clock.now().getTime() - this.wallMs);
  }
}
