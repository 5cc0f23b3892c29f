import { Clock } from '../../src/common';

export class TestClock extends Clock {
  private offsetMs = 0;
  private wallOffsetMs = 0;

  now(): Date {
    return new Date(Date.now() + this.offsetMs + this.wallOffsetMs);
  }

  monotonicMs(): number {
    return performance.now() + this.offsetMs;
  }

  advanceSeconds(seconds: number): void {
    this.offsetMs += seconds * 1000;
  }

  advanceDays(days: number): void {
    this.advanceSeconds(days * 24 * 3600);
  }

  /** Forward as after a suspension of the machine, back as when somebody sets the clock. */
  setWallClock(bySeconds: number): void {
    this.wallOffsetMs += bySeconds * 1000;
  }
}
