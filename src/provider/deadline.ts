/**
 * A moment on the monotonic clock: changes of the wall clock do not move it, and unlike a timer it passes
 * while the process is suspended.
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
