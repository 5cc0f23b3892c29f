/** The time of the service. Tests use a clock that they set. */
export abstract class Clock {
  abstract now(): Date;

  /** Milliseconds that no change of the wall clock moves. Only differences mean something. */
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
 * A moment on both clocks of the machine. On Linux the monotonic clock stands still while the machine is
 * suspended, and the wall clock can be set: what has passed is what either of them shows, whichever is more.
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
