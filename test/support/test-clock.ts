import { Clock } from '../../src/common';

/** Shows the machine's time plus what a test has advanced it by. */
export class TestClock extends Clock {
  private offsetMs = 0;

  now(): Date {
    return new Date(Date.now() + this.offsetMs);
  }

  advanceSeconds(seconds: number): void {
    this.offsetMs += seconds * 1000;
  }

  advanceDays(days: number): void {
    this.advanceSeconds(days * 24 * 3600);
  }
}
