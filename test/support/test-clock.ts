import { Clock } from '../../src/common';

/** The machine's time, until a test moves it. */
export class TestClock extends Clock {
  private offsetMs = 0;

  now(): Date {
    return new Date(Date.now() + this.offsetMs);
  }

  advanceDays(days: number): void {
    this.offsetMs += days * 24 * 3_600_000;
  }
}
