/** The service's clock, which tests replace. */
export abstract class Clock {
  abstract now(): Date;

  /** Returns milliseconds, unaffected by changes to the wall clock. Only differences are meaningful. */
  abstract monotonicMs(): number;

  /** Returns the moment `agoMs` milliseconds ago, for measuring elapsed time. */
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

/** A moment on the wall clock, which can be set, and on the monotonic clock, which stops during a suspend. */
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
