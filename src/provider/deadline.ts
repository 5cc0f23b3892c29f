/**
 * A moment on the monotonic clock. It passes while the process is stopped, and no change of the wall clock moves it.
 */
export class Deadline {
  static readonly never = new Deadline(Infinity);

  private constructor(private readonly atMs: number) {}

  static after(durationMs: number): Deadline {
    return new Deadline(performance.now() + durationMs);
  }

  /** Never negative. */
  remainingMs(): number {
    return Math.max(0, this.atMs - performance.now());
  }

  hasPassed(): boolean {
    return performance.now() >= this.atMs;
  }
}
